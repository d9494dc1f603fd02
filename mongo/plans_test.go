package mongo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"filmroom/accounts"
	"filmroom/accounts/accountstest"
	"filmroom/imaging"
	"filmroom/imaging/imagingtest"
	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// A question is what a command asks a collection.
type question struct {
	command    string
	collection string
	filter     bson.Raw
	sort       bson.Raw
}

func (q question) String() string {
	return fmt.Sprintf("%s %s %s sorted by %s", q.command, q.collection, q.filter, q.sort)
}

// TestEveryQueryHasAnIndex makes every call of the three stores and looks at what was sent: each question
// must name the first field of an index, and each order must be one in which an index can be read. It holds on
// every server.
func TestEveryQueryHasAnIndex(t *testing.T) {
	t.Parallel()
	db, asked := everyQuestion(t)
	indexes := indexesOf(t, db)
	for _, q := range asked {
		bound, equal := constrained(q.filter)
		has := func(use func(keys []string) bool) bool { return slices.ContainsFunc(indexes[q.collection], use) }
		if !has(func(keys []string) bool { return slices.Contains(bound, keys[0]) }) {
			t.Errorf("no index begins with a field that is asked for:\n%s\nindexes: %v", q, indexes[q.collection])
		}
		if !has(func(keys []string) bool { return ordered(keys, equal, q.order()) }) {
			t.Errorf("no index can be read in this order:\n%s\nindexes: %v", q, indexes[q.collection])
		}
	}
	if len(asked) < 100 {
		t.Errorf("only %d questions were asked: the calls do not reach the server", len(asked))
	}
}

// ordered reports whether an index, where the equal fields are fixed, is in an order of fields.
func ordered(keys, equal, order []string) bool {
	for len(keys) > 0 && slices.Contains(equal, keys[0]) && (len(order) == 0 || keys[0] != order[0]) {
		keys = keys[1:]
	}
	return len(keys) >= len(order) && slices.Equal(keys[:len(order)], order)
}

// TestNoPlanReadsAWholeCollection asks the server itself how it would answer.
func TestNoPlanReadsAWholeCollection(t *testing.T) {
	t.Parallel()
	needsWhole(t, "what the query planner chooses")
	db, asked := everyQuestion(t)
	for _, q := range asked {
		find := bson.D{is("find", q.collection), is("filter", q.filter)}
		if q.sort != nil {
			find = append(find, is("sort", q.sort))
		}
		plan, err := db.tasks.Database().RunCommand(t.Context(),
			bson.D{is("explain", find), is("verbosity", "queryPlanner")}).Raw()
		if err != nil {
			t.Fatalf("explain %s: %v", q, err)
		}
		winning, err := plan.LookupErr("queryPlanner", "winningPlan")
		if err != nil {
			t.Skipf("this server explains in another way than MongoDB: %s", plan)
		}
		if stages := winning.String(); strings.Contains(stages, `"COLLSCAN"`) {
			t.Errorf("%s reads the whole collection:\n%s", q, stages)
		}
	}
}

// everyQuestion makes every call of the stores and returns each question that came of it.
func everyQuestion(t *testing.T) (*DB, []question) {
	t.Helper()
	db := setup(t)
	var mu sync.Mutex
	var asked []question
	listening := open(t, db.name, func(o *Options) {
		o.configure = func(c *options.ClientOptions) {
			c.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, questions(e.Command)...)
			}})
		}
	})
	everyTaskCall(t, listening.Tasks())
	everyImagingCall(t, listening.Imaging())
	everyAccountsCall(t, listening.Accounts())
	mu.Lock()
	defer mu.Unlock()
	return db, slices.Clone(asked)
}

// questions takes a command apart. What only writes, or speaks of no collection, asks nothing.
func questions(command bson.Raw) []question {
	elements, err := command.Elements()
	if err != nil {
		return nil
	}
	q := question{command: elements[0].Key()}
	q.collection, _ = elements[0].Value().StringValueOK()
	if q.collection == "meta" { // two documents, read by their ids
		return nil
	}
	switch q.command {
	case "find":
		q.filter, q.sort = part(command, "filter"), part(command, "sort")
		return []question{q}
	case "distinct":
		q.filter = part(command, "query")
		return []question{q}
	case "aggregate":
		q.filter = command.Lookup("pipeline", "0", "$match").Document()
		return []question{q}
	case "update", "delete":
		writes, _ := command.Lookup(q.command + "s").Array().Values()
		var each []question
		for _, w := range writes {
			q.filter = w.Document().Lookup("q").Document()
			each = append(each, q)
		}
		return each
	}
	return nil
}

func part(command bson.Raw, name string) bson.Raw {
	v, err := command.LookupErr(name)
	if err != nil {
		return nil
	}
	return v.Document()
}

// order lists the fields that the answer is sorted by.
func (q question) order() []string {
	var fields []string
	elements, _ := q.sort.Elements()
	for _, e := range elements {
		fields = append(fields, e.Key())
	}
	return fields
}

// constrained lists the fields that every match of a filter is bound by, and those of them that can only have
// one of a few values.
func constrained(filter bson.Raw) (bound, equal []string) {
	elements, _ := filter.Elements()
	for _, e := range elements {
		switch e.Key() {
		case "$or":
		case "$and":
			each, _ := e.Value().Array().Values()
			for _, f := range each {
				b, eq := constrained(f.Document())
				bound, equal = append(bound, b...), append(equal, eq...)
			}
		default:
			bound = append(bound, e.Key())
			operators, isDocument := e.Value().DocumentOK()
			if _, err := operators.LookupErr("$in"); !isDocument || err == nil {
				equal = append(equal, e.Key())
			}
		}
	}
	return bound, equal
}

// indexesOf lists the fields of each collection's indexes.
func indexesOf(t *testing.T, db *DB) map[string][][]string {
	t.Helper()
	indexes := map[string][][]string{}
	names, err := db.tasks.Database().ListCollectionNames(t.Context(), bson.D{})
	did(t, err)
	for _, name := range names {
		specs, err := db.tasks.Database().Collection(name).Indexes().ListSpecifications(t.Context())
		did(t, err)
		for _, spec := range specs {
			indexes[name] = append(indexes[name], question{sort: spec.KeysDocument}.order())
		}
	}
	return indexes
}

func everyTaskCall(t *testing.T, s *Tasks) {
	t.Helper()
	ctx, now := t.Context(), taskstest.Epoch
	did(t, s.PutLane(ctx, tasks.Lane{Name: "import", Capacity: 9, Rev: 1}))
	task, err := s.Insert(ctx, taskstest.Queued())
	did(t, err)
	_, err = s.Insert(ctx, taskstest.Queued(func(u *tasks.Task) { u.IdempotencyKey = task.ID }))
	if err == nil {
		t.Error("a second task with the key was inserted")
	}
	_, err = s.Update(ctx, tasks.Task{ID: task.ID}, tasks.Reprioritised("", 7, now))
	did(t, err)
	lease := tasks.Claimed(taskstest.Lease(taskstest.Token, now), now)
	_, err = s.Claim(ctx, tasks.Claim{Lane: task.Lane, Limit: 2, Now: now, Move: lease})
	did(t, err)
	everyLaneCall(t, s)
	_, _, err = s.NextAvailable(ctx, task.Lane)
	did(t, err)
	_, err = s.Renew(ctx, []tasks.Beat{{TaskID: task.ID, Token: taskstest.Token}}, now.Add(time.Minute), now)
	did(t, err)
	for _, owner := range []string{"", "boot-2"} {
		_, err = s.Stale(ctx, owner, now, 9)
		did(t, err)
	}
	for _, user := range []string{"", task.UserID} {
		_, err = s.Counts(ctx, user)
		did(t, err)
		everyList(t, s, user)
	}
	did(t, s.AppendLog(ctx, []tasks.LogLine{{TaskID: task.ID, Seq: 1}}))
	_, err = s.Log(ctx, task.ID, 0, 9)
	did(t, err)
	f := follower{store: s, owner: "boot-1", clock: must2(s.db.Clock(ctx)), news: tasks.News{Task: func(tasks.Task) {}, Lanes: func() {}}, seen: map[string]sighting{}}
	did(t, f.look(ctx))
	did(t, f.tell(ctx, f.clock.Now()))
	did(t, f.tellLanes(ctx, f.clock.Now()))
	s.leave(ctx, "boot-1")
}

// everyLaneCall claims so that all that a claim can ask is asked: more tasks of one partition than are read
// at once, locks that are free, held and left behind, slots that are free again.
func everyLaneCall(t *testing.T, s *Tasks) {
	t.Helper()
	ctx, now := t.Context(), taskstest.Epoch
	did(t, s.PutLane(ctx, tasks.Lane{Name: "export", Capacity: 1, Rev: 1}))
	did(t, s.PutLane(ctx, tasks.Lane{Name: "export", Capacity: 2, Rev: 2}))
	for i := range lineBatch + 2 {
		_, err := s.Insert(ctx, taskstest.Queued(taskstest.In("export"), func(t *tasks.Task) { t.LockKey, t.Priority = "key", 1+i/(lineBatch+1) }))
		did(t, err)
	}
	for range 2 {
		got, err := s.Claim(ctx, tasks.Claim{Lane: "export", Limit: 2, Now: now, Move: tasks.Claimed(taskstest.Lease(tasks.NewID(), now), now)})
		did(t, err)
		if len(got) != 1 {
			t.Fatalf("%d tasks were claimed, want 1", len(got))
		}
		_, err = s.Holder(ctx, "key", now)
		did(t, err)
		_, err = s.Ahead(ctx, got[0], now)
		did(t, err)
		late := taskstest.Queued(taskstest.In("export"), taskstest.Of("bob"), func(t *tasks.Task) { t.Priority, t.PartitionKey = 1, "bob" })
		_, err = s.Ahead(ctx, late, now)
		did(t, err)
		end, err := s.Update(ctx, got[0], tasks.Finished(got[0].Lease.Token, tasks.Outcome{}, now))
		did(t, err)
		did(t, s.Delete(ctx, end))
	}
	_, err := s.Lanes(ctx)
	did(t, err)
	_, err = s.Loads(ctx, now)
	did(t, err)
	_, err = s.Unfollowed(ctx, "", 9)
	did(t, err)
	_, err = s.Processes(ctx)
	did(t, err)
}

func everyList(t *testing.T, s *Tasks, user string) {
	t.Helper()
	dismissed := false
	for _, sort := range []tasks.Sort{tasks.NewestFirst, tasks.OldestFirst, tasks.LastEndedFirst, tasks.FirstEndedFirst} {
		for _, q := range []tasks.Query{
			{}, {Statuses: tasks.Statuses[:2]}, {Kind: "import"}, {Lane: "import"}, {Words: []string{"imp"}},
			{From: taskstest.Epoch}, {To: taskstest.Epoch}, {Dismissed: &dismissed},
			{Cursor: s.db.seal.cursor(string(sort), place{"0", "01A"})},
		} {
			q.UserID, q.Sort, q.Limit = user, sort, 5
			_, err := s.List(t.Context(), q)
			did(t, err)
		}
	}
}

func everyImagingCall(t *testing.T, s *Imaging) {
	t.Helper()
	ctx := t.Context()
	l := imagingtest.Library(t, s)
	arrivals := []imaging.Arrival{imagingtest.Arrival(0, "1.1", "1.1.1"), imagingtest.Arrival(1, "1.1", "1.1.1")}
	imagingtest.Arrive(t, s, l, "task-1", arrivals...)
	imagingtest.Arrive(t, s, l, "task-1", arrivals...)
	for _, sort := range []imaging.SeriesSort{imaging.NewestImported, imaging.OldestStudied, imaging.ByPatientName} {
		for _, q := range []imaging.SeriesQuery{
			{}, {IDs: []string{"01A"}}, {Modality: "CT"}, {From: "20260101", To: "20261231"}, {TaskID: "task-1"}, {Words: []string{"ax"}},
			{PatientID: "P"}, {PatientName: "Love"}, {StudyUID: "1"}, {SeriesUID: "1.1"}, {Cursor: s.db.seal.cursor(string(sort), place{"0", "01A"})},
		} {
			q.LibraryID, q.Sort, q.Limit = l, sort, 5
			_, err := s.ListSeries(ctx, q)
			did(t, err)
		}
	}
	for _, q := range []imaging.ReceiptQuery{{}, {Search: "x"}, {Outcomes: []imaging.Outcome{imaging.Imported}}} {
		q.TaskID, q.Limit = "task-1", 5
		_, err := s.Receipts(ctx, q)
		did(t, err)
	}
	_, err := s.Outcomes(ctx, "task-1")
	did(t, err)
	_, err = s.Referred(ctx, []string{"a"})
	did(t, err)
	page, err := s.ListSeries(ctx, imaging.SeriesQuery{LibraryID: l, Limit: 1})
	did(t, err)
	id := page.Items[0].ID
	_, err = s.Series(ctx, l, id)
	did(t, err)
	for _, after := range []*imaging.Instance{nil, {InstanceNumber: 1}} {
		_, err = s.Instances(ctx, l, id, after, 5)
		did(t, err)
	}
	did(t, s.DeleteSeries(ctx, l, id))
}

func everyAccountsCall(t *testing.T, s *Accounts) {
	t.Helper()
	ctx, now := t.Context(), accountstest.Epoch
	u := accountstest.User("ada@example.org")
	did(t, s.AddFirstUser(ctx, u))
	_, err := s.User(ctx, u.ID)
	did(t, err)
	_, err = s.UserByEmail(ctx, u.Email)
	did(t, err)
	_, err = s.Users(ctx)
	did(t, err)
	did(t, s.UpdateUser(ctx, u))
	token := accountstest.Token(u.ID, "laptop")
	did(t, s.AddToken(ctx, token))
	_, err = s.Tokens(ctx, u.ID)
	did(t, err)
	_, err = s.TokenByHash(ctx, token.Hash)
	did(t, err)
	did(t, s.TokenUsed(ctx, token.ID, now))
	did(t, s.DeleteToken(ctx, u.ID, token.ID))
	did(t, s.PutSession(ctx, accountstest.Session("one", u.ID, now)))
	_, err = s.DeleteExpiredSessions(ctx, now.Add(time.Hour))
	did(t, err)
	did(t, s.PutSession(ctx, accountstest.Session("two", u.ID, now.Add(time.Hour))))
	_, err = s.Session(ctx, "two", now)
	did(t, err)
	did(t, s.AddAudit(ctx, accounts.AuditEntry{ID: tasks.NewID(), At: now, Action: accounts.ActSignIn}))
	for _, q := range []accounts.AuditQuery{
		{}, {UserID: u.ID}, {Action: accounts.ActSignIn}, {Target: "import"}, {From: now}, {To: now}, {UserID: u.ID, From: now}, {Cursor: tasks.NewID()},
	} {
		_, err := s.Audit(ctx, q)
		did(t, err)
	}
	did(t, s.DeleteSession(ctx, "two"))
	did(t, s.DeleteSessions(ctx, u.ID, "two"))
}

func did(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must2[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
