// Package accountstest holds what every [accounts.Store] must pass. It is imported from tests alone.
package accountstest

import (
	"testing"

	"filmroom/accounts"
)

// A Harness tells [Test] how to make the store under test.
type Harness struct {
	// New makes an empty store of its own and closes it when the test ends. Required.
	New func(t testing.TB) accounts.Store

	// Reopen closes a store that New or Reopen made and opens the same data again, as after a restart.
	// Nil when the backend cannot.
	Reopen func(t testing.TB, old accounts.Store) accounts.Store

	// Contention says that the backend's conditional writes are atomic. Without it the cases in which
	// many goroutines fight over one record are skipped, and say so.
	Contention bool
}

// A scenario is one promise of [accounts.Store], told by one caller.
type scenario struct {
	name string
	run  func(t *testing.T, s accounts.Store)
}

// Test runs the suite. Each scenario gets a store of its own.
func Test(t *testing.T, h Harness) {
	for name, scenarios := range map[string][]scenario{
		"users": userScenarios, "tokens": tokenScenarios, "sessions": sessionScenarios, "version": versionScenarios,
		"audit": auditScenarios,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runAll(t, scenarios, h.New)
		})
	}
	t.Run("after a restart everything is still there", func(t *testing.T) {
		t.Parallel()
		if h.Reopen == nil {
			t.Skip("this backend cannot be closed and opened again in a test")
		}
		testReopened(t, h)
	})
	t.Run("many callers", func(t *testing.T) {
		t.Parallel()
		if !h.Contention {
			t.Skip("this backend's conditional writes are not atomic, so races prove nothing here")
		}
		runAll(t, contended, h.New)
	})
}

func runAll(t *testing.T, all []scenario, open func(testing.TB) accounts.Store) {
	for _, sc := range all {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			sc.run(t, open(t))
		})
	}
}
