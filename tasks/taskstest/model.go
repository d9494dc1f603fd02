package taskstest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"filmroom/tasks"
)

// modelLanes are the lanes that a play uses.
var modelLanes = []string{"import", "export"}

// Model plays random submits, claims, ends, cancels, crashes, clock jumps and restarts on a store and on
// [Memory], the model, side by side, and fails at the first answer in which they differ. The flags
// -rapid.checks and -rapid.steps say how often and how long.
func Model(t *testing.T, h Harness) {
	rapid.Check(t, func(rt *rapid.T) {
		p := &play{rt: rt, t: t, harness: h, store: h.New(t), model: NewMemory(), now: Epoch, latest: Epoch, tokens: map[string]string{}}
		for i, name := range modelLanes {
			p.lane(name, i+1)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"submit":     p.submit,
			"claim":      p.claim,
			"end":        p.end,
			"person":     p.person,
			"renew":      p.renew,
			"rescue":     p.rescue,
			"set a lane": p.setLane,
			"clock":      p.advance,
			"restart":    p.restart,
			"delete":     p.delete,
			"ask":        p.ask,
			"follow":     p.follow,
			"":           p.agree,
		})
	})
}

// A play is one random history on two stores.
type play struct {
	rt      *rapid.T
	t       *testing.T
	harness Harness
	store   tasks.Store // under test
	model   *Memory
	now     time.Time
	latest  time.Time // now was never later
	ids     []string
	tokens  map[string]string // the last lease token of each task
	claims  int
}

// both makes a call on the two stores and compares what comes back.
func both[A any](p *play, what string, call func(s tasks.Store) (A, error)) (A, error) {
	p.rt.Helper()
	want, wantErr := call(p.model)
	got, gotErr := call(p.store)
	if (wantErr == nil) != (gotErr == nil) || wantErr != nil && !alike(wantErr, gotErr) {
		p.rt.Fatalf("%s: error %v, the model says %v", what, gotErr, wantErr)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		p.rt.Fatalf("%s (-model +store):\n%s", what, diff)
	}
	return got, gotErr
}

func alike(a, b error) bool {
	for _, sentinel := range []error{tasks.ErrNotFound, tasks.ErrConflict, tasks.ErrLeaseLost, tasks.ErrDuplicate, tasks.ErrUnchanged} {
		if errors.Is(a, sentinel) || errors.Is(b, sentinel) {
			return errors.Is(a, sentinel) == errors.Is(b, sentinel)
		}
	}
	return false
}

type nothing struct{}

func (p *play) submit(rt *rapid.T) {
	t := Queued(In(rapid.SampledFrom(modelLanes).Draw(rt, "lane")), Of(rapid.SampledFrom([]string{"ada", "bob", "eve"}).Draw(rt, "user")),
		func(t *tasks.Task) {
			t.Priority = rapid.SampledFrom([]int{50, 100}).Draw(rt, "priority")
			t.LockKey = rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(rt, "lock")
			t.IdempotencyKey = rapid.SampledFrom([]string{"", "", "k"}).Draw(rt, "key")
			t.DedupeKey = rapid.SampledFrom([]string{"", "", "d"}).Draw(rt, "dedupe")
			t.AvailableAt = p.now.Add(time.Duration(rapid.IntRange(0, 90).Draw(rt, "delay")) * time.Second)
			t.MaxAttempts = rapid.IntRange(1, 3).Draw(rt, "attempts")
		})
	t.CreatedAt = p.now
	if _, err := both(p, "insert", func(s tasks.Store) (tasks.Task, error) { return s.Insert(p.t.Context(), t) }); err == nil {
		p.ids = append(p.ids, t.ID)
	}
}

func (p *play) claim(rt *rapid.T) {
	p.claims++
	c := tasks.Claim{
		Lane: rapid.SampledFrom(modelLanes).Draw(rt, "lane"), Limit: rapid.IntRange(1, 4).Draw(rt, "limit"), Now: p.now,
		Move: func(t *tasks.Task) error {
			return tasks.Claimed(Lease(fmt.Sprintf("token-%d-%s", p.claims, t.ID), p.now), p.now)(t)
		},
	}
	before := p.slots(c.Lane)
	got, _ := both(p, "claim", func(s tasks.Store) ([]tasks.Task, error) { return s.Claim(p.t.Context(), c) })
	for _, t := range got {
		p.tokens[t.ID] = t.Lease.Token
	}
	p.withinCapacity(c.Lane, before)
}

// one picks a task that was submitted; ok is false while there is none.
func (p *play) one(rt *rapid.T) (id string, ok bool) {
	if len(p.ids) == 0 {
		return "", false
	}
	return rapid.SampledFrom(p.ids).Draw(rt, "task"), true
}

// update makes a move on both stores, starting from what each last said.
func (p *play) update(id string, what string, m tasks.Move) {
	_, _ = both(p, what, func(s tasks.Store) (tasks.Task, error) {
		known, err := s.Get(p.t.Context(), id)
		if err != nil {
			return known, err
		}
		return s.Update(p.t.Context(), known, m)
	})
}

// end has an attempt come to one of its ends, perhaps under a lease that was lost long ago.
func (p *play) end(rt *rapid.T) {
	id, ok := p.one(rt)
	if !ok {
		return
	}
	token := p.tokens[id]
	failure := tasks.Failure{Cause: tasks.CauseError, Message: "no"}
	ends := map[string]tasks.Move{
		"finish": tasks.Finished(token, tasks.Outcome{Progress: tasks.Progress{Message: "done", Value: 3, Max: 3}}, p.now), "fail": tasks.Failed(token, failure, p.now),
		"retry": tasks.RetryScheduled(token, failure, p.now.Add(time.Second), p.now), "hand back": tasks.HandedBack(token, p.now),
		"cancel": tasks.Canceled(token, p.now), "phase": tasks.PhaseEntered(token, "storing", p.now),
	}
	what := rapid.SampledFrom([]string{"finish", "fail", "retry", "hand back", "cancel", "phase"}).Draw(rt, "end")
	p.update(id, what, followed(rt, ends[what]))
}

// person has somebody ask for something.
func (p *play) person(rt *rapid.T) {
	id, ok := p.one(rt)
	if !ok {
		return
	}
	asks := map[string]tasks.Move{
		"ask to cancel": tasks.CancelRequested("ada", p.now), "pause": tasks.PausedBy("ada", p.now), "resume": tasks.ResumedBy("ada", p.now),
		"prioritise": tasks.Reprioritised("ada", 7, p.now), "retry by hand": tasks.RetriedByPerson("ada", 2, p.now), "dismiss": tasks.DismissedBy("ada", true, p.now),
	}
	what := rapid.SampledFrom([]string{"ask to cancel", "pause", "resume", "prioritise", "retry by hand", "dismiss"}).Draw(rt, "ask")
	p.update(id, what, asks[what])
}

func (p *play) renew(rt *rapid.T) {
	id, ok := p.one(rt)
	if !ok {
		return
	}
	beats := []tasks.Beat{{TaskID: id, Token: p.tokens[id], Progress: tasks.Progress{Message: "Working", Value: 1, Max: 3}}}
	_, _ = both(p, "renew", func(s tasks.Store) ([]tasks.Renewal, error) {
		return s.Renew(p.t.Context(), beats, p.now.Add(time.Minute), p.now)
	})
}

// rescue is what a process does that finds, or is born to, tasks which nobody runs.
func (p *play) rescue(rt *rapid.T) {
	owner := rapid.SampledFrom([]string{"", "boot-1", "boot-2"}).Draw(rt, "owner")
	stale, _ := both(p, "stale", func(s tasks.Store) ([]tasks.Task, error) { return s.Stale(p.t.Context(), owner, p.now, 100) })
	for _, t := range stale {
		again := tasks.Abandoned{DeadOwner: owner != "", Rerunnable: rapid.Bool().Draw(rt, "rerunnable")}
		p.update(t.ID, "rescue", tasks.Rescued(again, p.now))
	}
}

func (p *play) lane(name string, capacity int) {
	_, _ = both(p, "put lane", func(s tasks.Store) (nothing, error) {
		lane(p.t, s, name, capacity)
		return nothing{}, nil
	})
}

func (p *play) setLane(rt *rapid.T) {
	name := rapid.SampledFrom(modelLanes).Draw(rt, "lane")
	capacity, paused := rapid.IntRange(0, 3).Draw(rt, "capacity"), rapid.IntRange(0, 3).Draw(rt, "paused") == 0
	_, _ = both(p, "put lane", func(s tasks.Store) (nothing, error) {
		lane(p.t, s, name, capacity, func(l *tasks.Lane) { l.Paused = paused })
		return nothing{}, nil
	})
}

// advance lets time pass: a moment, or long enough for leases to run out. It may jump, forward and back.
func (p *play) advance(rt *rapid.T) {
	p.now = p.now.Add(rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 20 * time.Second, 2 * time.Minute,
		-time.Second, -30 * time.Second, -time.Hour, 25 * time.Hour}).Draw(rt, "by"))
	if p.now.After(p.latest) {
		p.latest = p.now
	}
}

func (p *play) restart(*rapid.T) {
	if p.harness.Reopen != nil {
		p.store = p.harness.Reopen(p.t, p.store)
	}
}

func (p *play) delete(rt *rapid.T) {
	id, ok := p.one(rt)
	if !ok {
		return
	}
	_, _ = both(p, "delete", func(s tasks.Store) (nothing, error) {
		t, err := s.Get(p.t.Context(), id)
		if err != nil {
			return nothing{}, err
		}
		return nothing{}, s.Delete(p.t.Context(), t)
	})
}

// agree holds everything that can be seen of the two stores side by side.
func (p *play) agree(*rapid.T) {
	ctx := p.t.Context()
	for _, sort := range []tasks.Sort{tasks.NewestFirst, tasks.LastEndedFirst} {
		_, _ = both(p, "list", func(s tasks.Store) (tasks.Page, error) {
			page, err := s.List(ctx, tasks.Query{Sort: sort, Limit: 40})
			page.NextCursor = ""
			return page, err
		})
	}
	for _, user := range []string{"", "ada"} {
		_, _ = both(p, "counts", func(s tasks.Store) ([]tasks.Count, error) {
			counts, err := s.Counts(ctx, user)
			return sortedCounts(counts), err
		})
	}
	_, _ = both(p, "loads", func(s tasks.Store) ([]tasks.Load, error) { return s.Loads(ctx, p.now) })
	_, _ = both(p, "lanes", func(s tasks.Store) ([]tasks.Lane, error) { return s.Lanes(ctx) })
	p.bounds()
}

// bounds is what must hold whatever happened: no lock twice. A lease that ran out does not count again when the
// clock is set back.
func (p *play) bounds() {
	held := map[string]string{}
	for _, t := range p.model.where(func(t *tasks.Task) bool { return t.LockKey != "" && t.Leased(p.latest) }, nil) {
		if other, twice := held[t.LockKey]; twice {
			p.rt.Fatalf("lock %s is held by %s and %s", t.LockKey, other, t.ID)
		}
		held[t.LockKey] = t.ID
	}
}
