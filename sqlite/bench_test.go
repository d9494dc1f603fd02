package sqlite

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// cpu is the processor time this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// reportRate adds writes a second and processor time a write.
func reportRate(b *testing.B, n int, began time.Duration) {
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "writes/s")
	b.ReportMetric(float64((cpu()-began).Microseconds())/float64(n), "cpu-µs/write")
}

// parallel runs b.N steps in n goroutines.
func parallel(b *testing.B, n int, step func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	began := cpu()
	b.ResetTimer()
	for range n {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				step(int(i))
			}
		})
	}
	wg.Wait()
	reportRate(b, b.N, began)
}

func BenchmarkInsert(b *testing.B) {
	for _, callers := range []int{1, 8, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := open(b).Tasks()
			parallel(b, callers, func(int) {
				if _, err := s.Insert(b.Context(), taskstest.Queued()); err != nil {
					b.Error(err)
				}
			})
		})
	}
}

// BenchmarkLife takes tasks through their whole life: insert, claim, finish.
func BenchmarkLife(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := open(b).Tasks()
			wideLane(b, s)
			began := cpu()
			b.ResetTimer()
			parallel(b, callers, func(int) {
				if _, err := s.Insert(b.Context(), taskstest.Queued()); err != nil {
					b.Error(err)
				}
			})
			lives(b, s, callers)
			reportRate(b, b.N, began)
		})
	}
}

// wideLane stores the lane in which tasks of the factory wait.
func wideLane(b *testing.B, s tasks.Store) {
	if err := s.PutLane(b.Context(), tasks.Lane{Name: "import", Capacity: tasks.MaxCapacity, Rev: 1}); err != nil {
		b.Fatal(err)
	}
}

// lives claims and finishes everything that waits.
func lives(b *testing.B, s tasks.Store, callers int) {
	done := tasks.Finished(taskstest.Token, tasks.Outcome{Progress: tasks.Progress{Message: "done"}}, taskstest.Epoch)
	for {
		c := tasks.Claim{Lane: "import", Limit: callers, Now: taskstest.Epoch,
			Move: tasks.Claimed(taskstest.Lease(taskstest.Token, taskstest.Epoch), taskstest.Epoch)}
		claimed, err := s.Claim(b.Context(), c)
		if err != nil {
			b.Fatal(err)
		}
		if len(claimed) == 0 {
			return
		}
		var wg sync.WaitGroup
		for _, t := range claimed {
			wg.Go(func() {
				if _, err := s.Update(b.Context(), t, done); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
