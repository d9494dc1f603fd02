package tasks_test

import (
	"testing"
	"testing/synctest"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// Rule 1: a move names the lease it may leave. A shutdown must not end what another process holds by now.
func TestAShutdownDoesNotInterruptAnAttemptOfAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, taskstest.NewMemory(), nothing)
		b.cfg.ShutdownGrace = time.Second // before a heartbeat tells that the lease is lost
		b.reboot()
		b.start()
		h, err := b.Register(b.t.Context(), ada, tasks.Spec{Kind: "script"})
		if err != nil {
			t.Fatal(err)
		}
		stored, err := b.store.Get(b.t.Context(), h.TaskID())
		if err != nil {
			t.Fatal(err)
		}
		theirs := tasks.Lease{Owner: "another", Token: "theirs", ExpiresAt: time.Now().Add(time.Minute)}
		if _, err := b.store.Update(b.t.Context(), stored, func(t *tasks.Task) error {
			t.Lease = &theirs
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		b.stop()
		if got := b.get(h.TaskID()); got.Status != tasks.StatusProcessing || got.Lease.Token != "theirs" {
			t.Errorf("another process's attempt is %s now", got.Status)
		}
	})
}
