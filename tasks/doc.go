// Package tasks is a durable task engine: what is submitted runs in the background, tells how far it is
// while it runs, survives a crash, and leaves a result. It stands alone: a [Store] keeps the records, a
// [Manager] runs them, [Kind]s say what they do.
//
// # A task's life
//
//	             Submit                                     Register (work runs in the caller)
//	               |                                              |
//	  pause        v       claim (lease)                          v
//	paused <---> queued ---------------> processing <-------------+
//	               ^   retry, rescue,       |  |  |  \
//	               |   hand-back            |  |  |   \ lease ran out and it cannot be run again
//	               +------------------------+  |  |    \
//	               ^                           v  v     v
//	               |         canceled     finished  error  interrupted        (final)
//	               +-- a person's retry --+-- (not from finished) --+
//
// Every arrow is one function in transition.go, a [Move]. A move is pure: it changes a copy of the record,
// journal row included, or refuses. A store makes it one conditional write, on the record's revision. So
// whoever loses a race has changed nothing, and learns it.
//
// # What is promised
//
// At least once: an attempt is counted when it is claimed, and a task whose process died runs again while
// its kind allows, so runners are idempotent. What a person sees is stored: an end is first written, then told
// to those who watch, then forgotten in memory. A cancel that was asked for beats a success that comes
// later, for the same write checks for it. Results belong to one attempt and become the task's by the
// end's one write.
//
// # Leases
//
// Alive means a valid lease, and nothing else. A claim takes a lease for Config.LeaseTTL; every
// Config.Heartbeat all leases of a process are renewed in one write, which also takes live progress
// into the records. An attempt that was not renewed for LeaseTTL less a heartbeat cancels itself, so it has
// stopped one heartbeat before anybody may rescue its task. A lease that has expired cannot be renewed nor
// written under. Expired leases are looked for every Config.RescueInterval, and before each list, get
// and download, so nobody is shown a task as running that nobody runs.
//
// # Live progress
//
// Progress lives in the memory of the process that runs the task. It is told at most once each
// Config.ProgressInterval per task, the first and the last value always; phases and ends at once, and nothing
// after an end. Each [Update] is encoded once however many watch. A viewer that is slow keeps the newest update of
// each task; one that has fallen behind is told to begin again with a snapshot ([Subscription]).
//
// # Lanes, locks, fair share
//
// A task waits in its kind's [Lane]. How many of a lane may run at once, whether it is paused and how many
// may start a second is stored, shared by all processes, and changed while it runs ([Manager.SetLane]). A
// task holds a slot of its lane, and its lock if it names one, while its lease is valid: nothing is given back
// that could be forgotten, and what a crash held comes free with its lease. The store decides inside a claim,
// so capacity and locks bound valid leases over all processes together. Within a lane, priority goes first,
// then the partition that has had least, then age. [Manager.Waiting] explains to a person what a task waits
// for, and guesses when it will start.
//
// # Work done elsewhere
//
// [Manager.RegisterExternal] takes down a task that another program works on and reports. Its lease is
// renewed by each report, so silence ends it; it outlives a restart of this process.
//
// # Shutdown and crash
//
// Stop claims nothing more, tells streams to come back, gives attempts Config.ShutdownGrace, cancels the rest
// with [ErrShutdown] as the cause, and hands back what can be run again without costing an attempt. A runner
// that does not stop within Config.AttemptGrace of any cancel is abandoned: its writes are refused, its slot is
// free, it is counted, and from the third on the process claims nothing more.
//
// After a kill -9 the next process that opens a store of its own (Config.SoleOwner) rescues everything
// before it serves; on a shared store the others do when the leases expire.
package tasks
