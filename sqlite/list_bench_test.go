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

// million inserts n tasks of one user, most of them finished, with names as people have them.
func million(b *testing.B, s tasks.Store, n int) {
	kinds := []string{"import", "export", "sample"}
	parallel := make(chan int, 256)
	done := make(chan struct{})
	for range 256 {
		go func() {
			for i := range parallel {
				r := rand.New(rand.NewPCG(1, uint64(i)))
				status := tasks.StatusFinished
				if r.IntN(20) == 0 {
					status = tasks.Statuses[r.IntN(len(tasks.Statuses))]
				}
				t := taskstest.InStatus(status, taskstest.Kind(kinds[min(r.IntN(10)/4, 2)]),
					taskstest.Named(fmt.Sprintf("Bring in %d files from ward %d", r.IntN(2000), r.IntN(40))))
				t.CreatedAt = taskstest.After(time.Duration(i) * time.Second)
				if !t.EndedAt.IsZero() {
					t.EndedAt, t.Dismissed = t.CreatedAt.Add(time.Duration(r.IntN(1000))*time.Second), r.IntN(3) == 0
				}
				if _, err := s.Insert(b.Context(), t); err != nil {
					b.Error(err)
				}
			}
			done <- struct{}{}
		}()
	}
	for i := range n {
		parallel <- i
	}
	close(parallel)
	for range 256 {
		<-done
	}
}

// BenchmarkList asks for pages of 50 out of a user's million tasks, from anywhere in the list, and for
// their total, under each kind of filter.
func BenchmarkList(b *testing.B) {
	const n = 1_000_000
	db := open(b)
	s := db.Tasks()
	wideLane(b, s)
	million(b, s, n)
	user := taskstest.Task().UserID
	at := func(i int) time.Time { return taskstest.After(time.Duration(i) * time.Second) }
	for _, c := range []struct {
		name string
		q    tasks.Query
	}{
		{"all", tasks.Query{}},
		{"shown", tasks.Query{Dismissed: new(bool)}},
		{"finished", tasks.Query{Statuses: []tasks.Status{tasks.StatusFinished}}},
		{"ended badly", tasks.Query{Statuses: []tasks.Status{tasks.StatusError, tasks.StatusInterrupted}, Kind: "export"}},
		{"kind", tasks.Query{Kind: "sample"}},
		{"oldest first", tasks.Query{Sort: tasks.OldestFirst}},
		{"last ended first", tasks.Query{Sort: tasks.LastEndedFirst}},
		{"a day", tasks.Query{From: at(n / 2), To: at(n/2 + 86400)}},
		{"a day, last ended first", tasks.Query{From: at(n / 2), To: at(n/2 + 86400), Sort: tasks.LastEndedFirst}},
		{"an hour, last ended first", tasks.Query{From: at(n / 2), To: at(n/2 + 3600), Sort: tasks.LastEndedFirst}},
		{"since the middle", tasks.Query{From: at(n / 2)}},
		{"a rare word", tasks.Query{Words: []string{"1234"}}},
		{"a rarer pair", tasks.Query{Words: []string{"1234", "ward", "17"}}},
		{"a middling word", tasks.Query{Words: []string{"17"}}},
		{"a common word", tasks.Query{Words: []string{"bring"}}},
		{"a common word, canceled", tasks.Query{Words: []string{"ward"}, Statuses: []tasks.Status{tasks.StatusCanceled}}},
		{"a common word, a day", tasks.Query{Words: []string{"files"}, From: at(n / 2), To: at(n/2 + 86400)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.q.UserID, c.q.Limit = user, 50
			var took []time.Duration
			for range 100 {
				q := c.q
				if len(took)%2 == 1 { // every other page is from somewhere in the middle
					sort := q.Sort
					if sort == "" {
						sort = tasks.NewestFirst
					}
					q.Cursor = cursor{string(sort), at(rand.IntN(n)).UnixMilli(), "0"}.String()
				}
				began := time.Now()
				if _, err := s.List(b.Context(), q); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
	b.Run("claim beside a million", func(b *testing.B) {
		claim := tasks.Claim{Lane: "import", Limit: 1, Now: taskstest.Epoch.AddDate(1, 0, 0),
			Move: tasks.Claimed(taskstest.Lease(taskstest.Token, taskstest.Epoch), taskstest.Epoch.AddDate(1, 0, 0))}
		for b.Loop() {
			if _, err := s.Claim(b.Context(), claim); err != nil {
				b.Fatal(err)
			}
		}
	})
}
