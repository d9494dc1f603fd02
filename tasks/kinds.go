package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// A Kind is what a task does, and by which rules. Kinds are made by [Define] and registered in one
// place, by hand.
type Kind struct {
	Name string // stands in records: never change it while tasks of it may exist
	Lane string // the queue its tasks wait in

	// Timeout bounds one attempt; 0: none. A runner that outlives it, and then Config.AttemptGrace, is abandoned.
	Timeout time.Duration
	Retry   Retry
	// Rerunnable kinds may be run again after a crash, so their runners are idempotent.
	Rerunnable bool
	// Downloadable is the MIME type of the file a finished task leaves, "" for none.
	Downloadable string
	// Direct kinds are what people may submit themselves, with arguments of their own making. All others have a
	// way in that checks and prepares more than arguments.
	Direct bool

	// Input, if set, returns [ErrInputGone] when a retry of the task would have nothing to work on.
	Input func(ctx context.Context, t Task) error
	// Ended, if set, is called once a final status is stored, by the process that stored it. A crash
	// may swallow the call, so it only hurries what a sweep would do as well.
	Ended func(ctx context.Context, t Task)
	// Pruned, if set, is called once the record of a task was removed by retention, under the same rule.
	Pruned func(ctx context.Context, t Task)

	run   func(ctx context.Context, r *Run) (Done, error)
	check func(args json.RawMessage) error
}

// Done is what a runner says at a good end.
type Done struct {
	Message string // one line for people: "480 of 500 exported, 20 refused"
	Result  any    // for programs; becomes JSON in Task.Result
}

// Retry says how often and when attempts follow failed ones. The n-th delay is Base times Factor to the n-1, at
// most Cap, of which up to Jitter is taken away at random so that many failures do not come back together.
type Retry struct {
	MaxAttempts int           // at least 1
	Base, Cap   time.Duration // defaults 1 s and 5 min
	Factor      float64       // at least 1; 0: 2
	Jitter      float64       // a share, at most 1; 0: one half; negative: none
}

// Delay is how long to wait after the given attempt failed.
func (r Retry) Delay(attempt int) time.Duration {
	factor, jitter := cmp.Or(r.Factor, 2), max(cmp.Or(r.Jitter, 0.5), 0)
	d := min(float64(r.Base)*math.Pow(factor, float64(attempt-1)), float64(r.Cap))
	return time.Duration(d - rand.Float64()*jitter*d)
}

// Define completes a kind with its runner. The arguments are decoded strictly: a field that A does not
// know is an error, at submit already.
func Define[A any](k Kind, run func(ctx context.Context, args A, r *Run) (Done, error)) Kind {
	k.check = func(raw json.RawMessage) error {
		_, err := decode[A](raw)
		return err
	}
	k.run = func(ctx context.Context, r *Run) (Done, error) {
		args, err := decode[A](r.Task().Args)
		if err != nil {
			return Done{}, &argumentsError{err}
		}
		return run(ctx, args, r)
	}
	return k
}

// Kinds are the kinds a process knows.
type Kinds struct{ byName map[string]*Kind }

// NewKinds checks and collects kinds; all mistakes are reported together, so that a program with a wrong
// registration stops before it listens.
func NewKinds(kinds ...Kind) (*Kinds, error) {
	all := &Kinds{byName: make(map[string]*Kind, len(kinds))}
	var mistakes []error
	for _, k := range kinds {
		if err := k.complete(); err != nil {
			mistakes = append(mistakes, err)
		}
		if all.byName[k.Name] != nil {
			mistakes = append(mistakes, fmt.Errorf("kind %q is registered twice", k.Name))
		}
		all.byName[k.Name] = &k
	}
	return all, errors.Join(mistakes...)
}

// Names returns the registered kinds' names, sorted.
func (k *Kinds) Names() []string { return slices.Sorted(maps.Keys(k.byName)) }

func (k *Kinds) get(name string) (*Kind, bool) {
	kind, ok := k.byName[name]
	return kind, ok
}

func (k *Kind) complete() error {
	switch {
	case k.Name == "":
		return errors.New("a kind has no name")
	case k.Lane == "":
		return fmt.Errorf("kind %q names no lane", k.Name)
	case k.run == nil:
		return fmt.Errorf("kind %q has no runner: make it with tasks.Define", k.Name)
	case k.Retry.MaxAttempts < 1:
		return fmt.Errorf("kind %q allows %d attempts: it needs at least 1", k.Name, k.Retry.MaxAttempts)
	}
	if f, j := k.Retry.Factor, k.Retry.Jitter; f != 0 && !(f >= 1) || !(j <= 1) {
		return fmt.Errorf("kind %q multiplies its delays by %g and takes a share of up to %g away: it must be at least 1, and at most 1", k.Name, f, j)
	}
	if k.Retry.Base <= 0 {
		k.Retry.Base = time.Second
	}
	if k.Retry.Cap <= 0 {
		k.Retry.Cap = 5 * time.Minute
	}
	return nil
}
