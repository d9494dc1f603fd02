package sqlite

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// million is how many tasks the user of the lists has; a tenth as many belong to others.
const million = 1_000_000

// fillMillion inserts tasks a second apart, most of them finished, with names as people have them.
func fillMillion(b *testing.B, db *DB) {
	const batch = 4000
	for from := 0; from < million*11/10; from += batch {
		err := db.write(b.Context(), func(tx *tx) error {
			for i := from; i < from+batch; i++ {
				t := oneOfMillion(i)
				if err := insert(tx, &t); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func oneOfMillion(i int) tasks.Task {
	r := rand.New(rand.NewPCG(1, uint64(i)))
	status := tasks.StatusFinished
	if r.IntN(20) == 0 {
		status = tasks.Statuses[r.IntN(len(tasks.Statuses))]
	}
	t := taskstest.InStatus(status, taskstest.Kind([]string{"import", "export", "sample"}[min(r.IntN(10)/4, 2)]),
		taskstest.Named(fmt.Sprintf("Bring in %d files from ward %d", r.IntN(2000), r.IntN(40))))
	if i%11 == 10 {
		t.UserID = fmt.Sprint("user ", i%500)
	}
	t.CreatedAt = taskstest.After(time.Duration(i) * time.Second)
	if !t.EndedAt.IsZero() {
		t.EndedAt, t.Dismissed = t.CreatedAt.Add(time.Duration(r.IntN(1000))*time.Second), r.IntN(3) == 0
		if r.IntN(1000) == 0 { // somebody tried it again long after
			t.EndedAt = t.CreatedAt.Add(100 * time.Hour)
		}
	}
	return t
}

// A listFilter narrows a query, around a moment where it is about time.
type listFilter struct {
	name string
	edit func(q *tasks.Query, at time.Time)
}

func listFilters() []listFilter {
	within := func(d time.Duration) func(*tasks.Query, time.Time) {
		return func(q *tasks.Query, at time.Time) { q.From, q.To = at, at.Add(d) }
	}
	words := func(words ...string) func(*tasks.Query, time.Time) {
		return func(q *tasks.Query, _ time.Time) { q.Words = append(q.Words, words...) }
	}
	statuses := func(s ...tasks.Status) func(*tasks.Query, time.Time) {
		return func(q *tasks.Query, _ time.Time) { q.Statuses = s }
	}
	return []listFilter{
		{"finished", statuses(tasks.StatusFinished)},
		{"canceled", statuses(tasks.StatusCanceled)},
		{"three statuses", statuses(tasks.StatusError, tasks.StatusInterrupted, tasks.StatusCanceled)},
		{"waiting", statuses(tasks.StatusQueued, tasks.StatusPaused)},
		{"a kind", func(q *tasks.Query, _ time.Time) { q.Kind = "export" }},
		{"a lane", func(q *tasks.Query, _ time.Time) { q.Lane = "import" }},
		{"dismissed", func(q *tasks.Query, _ time.Time) { yes := true; q.Dismissed = &yes }},
		{"an hour", within(time.Hour)},
		{"a day", within(24 * time.Hour)},
		{"a week", within(7 * 24 * time.Hour)},
		{"since then", func(q *tasks.Query, at time.Time) { q.From = at }},
		{"a rare word", words("1234")},
		{"a middling word", words("17")},
		{"a common word", words("bring")},
		{"a short beginning", words("1")},
		{"a long beginning", words("impor")},
		{"a common and a middling word", words("ward", "17")},
		{"two middling words", words("17", "3")},
	}
}

// BenchmarkList asks for pages of 50 out of a user's million tasks, and out of everybody's, under each filter
// alone and each two together, by creation and by end, from the beginning and from anywhere; and for counts.
//
//	go test ./sqlite -run xxx -bench 'BenchmarkList$' -benchtime 100x
func BenchmarkList(b *testing.B) {
	db := open(b)
	wideLane(b, db.Tasks())
	fillMillion(b, db)
	worst, user, filters := time.Duration(0), taskstest.Task().UserID, listFilters()
	run := func(name string, q tasks.Query, edits ...listFilter) {
		b.Run(name, func(b *testing.B) { worst = max(worst, benchList(b, db.Tasks(), q, edits)) })
	}
	for _, sort := range []tasks.Sort{tasks.NewestFirst, tasks.OldestFirst, tasks.LastEndedFirst, tasks.FirstEndedFirst} {
		q := tasks.Query{UserID: user, Sort: sort, Limit: 50}
		run("all, "+string(sort), q)
		everybody := q
		everybody.UserID = ""
		run("everybody's, "+string(sort), everybody)
		for i, f := range filters {
			run(f.name+", "+string(sort), q, f)
			run("everybody's, "+f.name+", "+string(sort), everybody, f)
			for _, g := range filters[i+1:] {
				if sort == tasks.NewestFirst || sort == tasks.LastEndedFirst {
					run(f.name+" and "+g.name+", "+string(sort), q, f, g)
				}
			}
		}
	}
	for _, f := range filters {
		run(f.name+", count alone", tasks.Query{UserID: user}, f)
	}
	b.Logf("worst p99 %.1f ms", millis(worst))
	b.Run("claim beside a million", func(b *testing.B) { benchClaim(b, db.Tasks()) })
}

// benchList asks and returns the 99th percentile.
func benchList(b *testing.B, s tasks.Store, q tasks.Query, edits []listFilter) time.Duration {
	anywhen := func() time.Time { return taskstest.After(time.Duration(rand.IntN(million*11/10)) * time.Second) }
	var took []time.Duration
	for b.Loop() {
		asked := q
		for _, f := range edits {
			f.edit(&asked, anywhen())
		}
		if len(took)%2 == 1 && q.Limit > 0 {
			asked.Cursor = cursor{string(q.Sort), anywhen().UnixMilli(), "0"}.String()
		}
		began := time.Now()
		if _, err := s.List(b.Context(), asked); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	b.ReportMetric(millis(took[len(took)/2]), "p50-ms")
	b.ReportMetric(millis(p99), "p99-ms")
	return p99
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func benchClaim(b *testing.B, s tasks.Store) {
	now := taskstest.Epoch.AddDate(1, 0, 0)
	claim := tasks.Claim{Lane: "import", Limit: 1, Now: now, Move: tasks.Claimed(taskstest.Lease(taskstest.Token, taskstest.Epoch), now)}
	for b.Loop() {
		if _, err := s.Claim(b.Context(), claim); err != nil {
			b.Fatal(err)
		}
	}
}
