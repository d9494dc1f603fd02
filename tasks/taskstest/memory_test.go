package taskstest_test

import (
	"testing"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

func TestMemoryPassesTheSuite(t *testing.T) {
	t.Parallel()
	taskstest.Test(t, taskstest.Harness{
		New:        func(testing.TB) tasks.Store { return taskstest.NewMemory() },
		Reopen:     func(_ testing.TB, old tasks.Store) tasks.Store { return old },
		Contention: true,
	})
}

func TestMemoryAgreesWithItself(t *testing.T) {
	t.Parallel()
	taskstest.Model(t, taskstest.Harness{New: func(testing.TB) tasks.Store { return taskstest.NewMemory() }})
}
