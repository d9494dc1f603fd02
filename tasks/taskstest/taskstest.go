// Package taskstest holds what every [tasks.Store] must pass, and small factories and a stub clock for
// tests that need tasks. It is imported from tests alone.
package taskstest

import (
	"cmp"
	"slices"
	"testing"

	"filmroom/tasks"
)

// A Harness tells [Test] how to make the store under test.
type Harness struct {
	// New makes an empty store of its own and closes it when the test ends. Required.
	New func(t testing.TB) tasks.Store

	// Reopen closes a store that New or Reopen made and opens the same data again, as after a restart.
	// Nil when the backend cannot.
	Reopen func(t testing.TB, old tasks.Store) tasks.Store

	// Beside opens the data of a store that New made once more, as another process does. Nil when the data
	// belong to one process; then several managers share the one store.
	Beside func(t testing.TB, s tasks.Store) tasks.Store

	// Contention says that the backend's conditional writes are atomic. Without it the cases in which
	// many goroutines fight over one record are skipped, and say so.
	Contention bool

	// Fight is how many tasks the claimers of one case fight for; 0 is 500. A backend that reads its whole
	// collection for each write needs fewer.
	Fight int
}

// A scenario is one promise of [tasks.Store], told by one caller.
type scenario struct {
	name string
	run  func(t *testing.T, s tasks.Store)
}

// Test runs the suite. Each scenario gets a store of its own; those of one caller run a second time on a
// store that is closed and opened again after every write.
func Test(t *testing.T, h Harness) {
	t.Run("one caller", func(t *testing.T) {
		t.Parallel()
		runAll(t, sequential(), h.New)
	})
	t.Run("reopened after every write", func(t *testing.T) {
		t.Parallel()
		if h.Reopen == nil {
			t.Skip("this backend cannot be closed and opened again in a test")
		}
		runAll(t, sequential(), func(t testing.TB) tasks.Store {
			return &reopening{t: t, harness: h, store: h.New(t)}
		})
	})
	t.Run("many callers", func(t *testing.T) {
		t.Parallel()
		if !h.Contention {
			t.Skip("this backend's conditional writes are not atomic, so races prove nothing here")
		}
		fight := cmp.Or(h.Fight, 500)
		runAll(t, slices.Concat(contended(fight), contendedLanes(fight, h.Beside)), h.New)
	})
}

func runAll(t *testing.T, all []scenario, open func(testing.TB) tasks.Store) {
	for _, sc := range all {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			for _, name := range []string{"import", "export", "sample"} {
				lane(t, s, name, tasks.MaxCapacity)
			}
			sc.run(t, s)
		})
	}
}

func sequential() []scenario {
	var all []scenario
	for _, part := range [][]scenario{
		recordScenarios, insertScenarios, updateScenarios, claimScenarios, leaseScenarios,
		listScenarios, countScenarios, logScenarios, contextScenarios, laneScenarios,
	} {
		all = append(all, part...)
	}
	return all
}
