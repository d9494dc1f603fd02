// Package mongo keeps tasks, images and accounts on MongoDB or a server that speaks its protocol, for one
// process or many.
//
// # What it asks of the server
//
// Only what MongoDB 6 and later, FerretDB 2 and DocumentDB share: atomic updates of one document and
// plain unique indexes. There are no transactions, no updates by pipeline and no partial or TTL indexes.
// Change streams are used where there are some, and only to hear of changes sooner.
//
// # What holds without transactions
//
// A task is one document, its journal included, and each move is one write that demands the revision the
// move was computed from. So a move happens whole or not at all, and of two at once one is tried again.
//
// What touches several documents is written in an order in which every prefix is a state that a rerun
// completes: an import's batch makes its series (unseen until they have an instance), then its
// instances, whose ids decide every race, then the counts, which are always computed afresh, then the
// receipt. Deleting a series first takes it out of its library, in one write; Open finishes what a crash
// left of it. The version of accounts rises after the change it tells of: a process that dies between the
// two has not answered its caller.
//
// A claim takes a slot, the lock if the task needs one, and then the task, each in one write. Slots and locks
// name the task, its token and the revision that the claim's last write demands; one is free when that task
// has no valid lease under that token and the revision has moved on. A claim that died is overruled by
// counting its task's revision on, so that a write of it which is still on its way is refused, however late.
// The settings of a lane hold for claims that begin after they were stored. Which partition was served last
// is noted after the claim; a crash in between makes one turn less fair and nothing else.
//
// Counts of tasks are grouped from an index that holds all that they need: exact, and linear in the number of
// tasks. Counters beside the tasks could not be exact here, for a crash can come between a move and
// its counter.
//
// # What is proven where
//
// With TEST_MONGODB_URI set, the tests run on that server and also read its query plans. Without it they run
// on an embedded FerretDB 1, whose updates are not atomic; there, one command at a time reaches a database,
// so that the tests of many callers show that our commands may come in any order. Only with
// TEST_MONGODB_URI is it shown that the server's own single writes are atomic, that its planner uses the
// indexes, and that its change streams are heard.
package mongo
