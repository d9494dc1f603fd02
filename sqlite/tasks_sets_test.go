package sqlite

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

func TestBitsetsComeBackAsTheyWereStored(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 63, 64, 65, 500, chunkSize - 1, chunkSize} {
		var want, got bitset
		for _, i := range rand.Perm(chunkSize)[:n] {
			want.add(int64(i))
		}
		data := want.encode()
		if got.orEncoded(data); got != want || got.len() != n || len(data) > bitsetBytes {
			t.Errorf("a set of %d came back from %d bytes with %d: %v, want %v", n, len(data), got.len(), got, want)
		}
		if listed := slices.Collect(want.all()); len(listed) != n || !slices.IsSorted(listed) {
			t.Errorf("a set of %d lists %v", n, listed)
		}
	}
}

// TestSetsAreThoseOfTheTasks plays moves and deletions, and new tasks in rows that became free, and
// compares the sets with what the tasks themselves say.
func TestSetsAreThoseOfTheTasks(t *testing.T) {
	t.Parallel()
	db := openAt(t, filepath.Join(t.TempDir(), "sets.db"), Options{tuning: tuning{few: 1, chunk: 4}})
	s, r := db.Tasks(), rand.New(rand.NewPCG(1, 2))
	var known []tasks.Task
	for i := range 400 {
		if i%100 < 30 || len(known) == 0 {
			task := taskstest.InStatus(tasks.Statuses[r.IntN(len(tasks.Statuses))], taskstest.Named(fmt.Sprint("Ward ", r.IntN(9))))
			task.Kind, task.UserID = fmt.Sprint("kind", r.IntN(3)), fmt.Sprint("user", r.IntN(3))
			insertOne(t, s, task)
			known = append(known, task)
		}
		at := r.IntN(len(known))
		if i%100 > 90 {
			at = len(known) - 1 // so that its row is given out again
		}
		known = changeOne(t, s, known, at, i)
		rightSets(t, db)
	}
}

// changeOne moves or deletes a task, whatever it allows.
func changeOne(t *testing.T, s tasks.Store, known []tasks.Task, at, i int) []tasks.Task {
	now := taskstest.After(time.Duration(i) * time.Minute)
	moves := []tasks.Move{tasks.PausedBy("", now), tasks.ResumedBy("", now), tasks.CancelRequested("", now),
		tasks.DismissedBy("", i%2 == 0, now), tasks.RetriedByPerson("", 1, now)}
	if i%3 == 0 && s.Delete(t.Context(), known[at]) == nil {
		return slices.Delete(known, at, at+1)
	}
	if next, err := s.Update(t.Context(), known[at], moves[i%len(moves)]); err == nil {
		known[at] = next
	}
	return known
}

func rightSets(t *testing.T, db *DB) {
	t.Helper()
	want, got := map[setKey]bitset{}, map[setKey]bitset{}
	must(t, db.read(t.Context(), func(c *lite.Conn) error {
		sealed, err := sealedChunks(c)
		must(t, err)
		rows := db.options.tuning.chunk
		s := c.Stmt(selectChunk).Int(0).Int(sealed * rows)
		for s.Next() {
			row, task := s.ReadInt(), readSetColumns(s)
			setsOf(&task, func(name string) {
				set := want[setKey{name, row / rows}]
				set.add(row % rows)
				want[setKey{name, row / rows}] = set
			})
		}
		must(t, s.Err())
		s = c.Stmt("SELECT name, chunk, bits FROM task_sets")
		for s.Next() {
			key, set := setKey{s.ReadText(), s.ReadInt()}, bitset{}
			set.orEncoded(s.ReadBytes())
			got[key] = set
		}
		return s.Err()
	}))
	for key := range want {
		if got[key] != want[key] {
			t.Fatalf("the set %q of chunk %d is %v, the tasks say %v", key.name, key.chunk, got[key], want[key])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("there are %d sets, the tasks say %d", len(got), len(want))
	}
}

// TestTasksOfAnOlderSchemaAreListed takes more tasks than a chunk has into a schema that knew no sets.
func TestTasksOfAnOlderSchemaAreListed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	c, err := lite.Open(path, 0, nil)
	must(t, err)
	for v := 1; v < setsVersion; v++ {
		must(t, upgrade(c, v))
	}
	must(t, c.Do("BEGIN"))
	const n = 2*chunkSize + 10
	old := columns[:len(columns)-1]
	for i := range n {
		task := taskstest.InStatus(tasks.StatusFinished, taskstest.Named(fmt.Sprint("Ward ", i%7)))
		task.CreatedAt = taskstest.After(time.Duration(i) * time.Second)
		must(t, old.bind(c.Stmt(old.insertInto("tasks")), &task).Run())
		must(t, groupOf(&task).bind(c.Stmt(addCount)).Int(1).Run())
	}
	must(t, c.Do("COMMIT"))
	must(t, c.Close())
	s := openAt(t, path, Options{}).Tasks()
	user := taskstest.Task().UserID
	for _, o := range []struct {
		q    tasks.Query
		want int
	}{
		{tasks.Query{UserID: user}, n},
		{tasks.Query{UserID: user, Words: []string{"war", "6"}}, n / 7},
		{tasks.Query{From: taskstest.After(100 * time.Second), To: taskstest.After(1200 * time.Second)}, 1100},
		{tasks.Query{Statuses: []tasks.Status{tasks.StatusError}}, 0},
	} {
		o.q.Limit = 3
		page, err := s.List(t.Context(), o.q)
		must(t, err)
		if page.Total != o.want || !page.TotalExact || len(page.Items) != min(3, o.want) {
			t.Errorf("%+v lists %d of %d, want %d", o.q, len(page.Items), page.Total, o.want)
		}
	}
}
