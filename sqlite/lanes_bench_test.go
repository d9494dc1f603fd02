package sqlite

import (
	"fmt"
	"testing"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// BenchmarkClaimAmong starts and ends one task after the other in a lane of four in which many wait, in shapes
// that a careless claim would walk over.
func BenchmarkClaimAmong(b *testing.B) {
	const waiting = 5000
	for _, c := range []struct {
		name string
		edit func(i int, t *tasks.Task)
	}{
		{"one partition", func(int, *tasks.Task) {}},
		{"each its own partition", func(i int, t *tasks.Task) { t.PartitionKey = fmt.Sprint(i) }},
		{"one lock", func(_ int, t *tasks.Task) { t.LockKey = "key" }},
		{"each its own lock", func(i int, t *tasks.Task) { t.LockKey = fmt.Sprint(i) }},
		{"later", func(i int, t *tasks.Task) {
			if i%100 != 0 {
				t.AvailableAt = taskstest.After(time.Hour)
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := open(b).Tasks()
			lane := tasks.Lane{Name: "import", Capacity: 4, Rev: 1}
			if err := s.PutLane(b.Context(), lane); err != nil {
				b.Fatal(err)
			}
			add := func(i int) {
				if _, err := s.Insert(b.Context(), taskstest.Queued(func(t *tasks.Task) { c.edit(i, t) })); err != nil {
					b.Error(err)
				}
			}
			for i := range waiting {
				add(i)
			}
			began := cpu()
			b.ResetTimer()
			for i := range b.N {
				claimOne(b, s)
				add(waiting + i)
			}
			reportRate(b, b.N, began)
		})
	}
}

// claimOne claims what the lane has room for and ends it.
func claimOne(b *testing.B, s tasks.Store) {
	claimed, err := s.Claim(b.Context(), tasks.Claim{Lane: "import", Limit: 4, Now: taskstest.Epoch,
		Move: tasks.Claimed(taskstest.Lease(taskstest.Token, taskstest.Epoch), taskstest.Epoch)})
	for _, t := range claimed {
		if err == nil {
			_, err = s.Update(b.Context(), t, tasks.Finished(taskstest.Token, tasks.Outcome{}, taskstest.Epoch))
		}
	}
	if err != nil {
		b.Fatal(err)
	}
}
