package tasks_test

import (
	"context"
	"errors"
	"io"
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

// A severed is a store whose answers get lost while it is cut off, though it does what it is told.
type severed struct {
	*taskstest.Memory
	cut  bool
	then func(claimed []tasks.Task) // called when a claim is stored and not yet answered
}

func (s *severed) Update(ctx context.Context, known tasks.Task, m tasks.Move) (tasks.Task, error) {
	t, err := s.Memory.Update(ctx, known, m)
	if err == nil && s.cut {
		s.cut = false
		return known, errors.New("connection lost")
	}
	return t, err
}

func (s *severed) Claim(ctx context.Context, c tasks.Claim) ([]tasks.Task, error) {
	claimed, err := s.Memory.Claim(ctx, c)
	if len(claimed) > 0 && s.then != nil {
		s.then(claimed)
	}
	return claimed, err
}

func runSevered(t *testing.T, w work, play func(b *bench, s *severed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &severed{Memory: taskstest.NewMemory()}
		b := prepare(t, s.Memory, w)
		b.cfg.Store = s
		b.reboot()
		b.start()
		defer b.stop()
		play(b, s)
	})
}

// A failover loses answers. The next try is refused then, because the task has ended: as it should have.
func TestAnEndWhoseAnswerWasLostIsAnEnd(t *testing.T) {
	t.Parallel()
	var store *severed
	runSevered(t, func(ctx context.Context, r *tasks.Run) (tasks.Done, error) {
		f, err := r.CreateFile("a.txt")
		if err == nil {
			_, err = io.WriteString(f, "hello")
		}
		store.cut = true
		return tasks.Done{}, err
	}, func(b *bench, s *severed) {
		store = s
		sub := b.Subscribe(ada, tasks.Scope{})
		defer sub.Close()
		id := b.submit().ID
		time.Sleep(time.Minute)
		b.is(b.settled(id), tasks.StatusFinished, 1)
		if told := heard(sub); len(told) != 1 || told[0].Kind != tasks.UpdateFinish {
			t.Errorf("viewers were told %d things, want the end", len(told))
		}
		_, f, err := b.OpenFile(b.t.Context(), ada, id)
		if err != nil {
			t.Fatalf("its download: %v", err)
		}
		f.Close()
	})
}

func TestEveryEndIsRecognisedThoughItsAnswerWasLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer error
		want   tasks.Status
	}{"success": {nil, tasks.StatusFinished}, "failure": {tasks.Permanent(errors.New("no")), tasks.StatusError}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runSevered(t, nothing, func(b *bench, s *severed) {
				h, err := b.Register(b.t.Context(), ada, tasks.Spec{Kind: "script"})
				if err != nil {
					t.Fatal(err)
				}
				s.cut = true
				if c.answer == nil {
					err = h.Finish(b.t.Context(), tasks.Done{})
				} else {
					err = h.Fail(b.t.Context(), c.answer)
				}
				if err != nil {
					t.Errorf("the caller is told %v", err)
				}
				b.is(b.get(h.TaskID()), c.want, 1)
			})
		})
	}
}

func TestACancelThatComesBetweenClaimAndStartStopsTheAttemptAtOnce(t *testing.T) {
	t.Parallel()
	runSevered(t, blocks, func(b *bench, s *severed) {
		s.then = func(claimed []tasks.Task) {
			if _, err := b.Cancel(b.t.Context(), ada, claimed[0].ID); err != nil {
				t.Error(err)
			}
		}
		b.is(b.settled(b.submit().ID), tasks.StatusCanceled, 1) // without any heartbeat
	})
}
