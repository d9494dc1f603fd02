// Command peers measures two other task engines at what the desk's own benchmarks measure, so that their
// figures stand side by side: River on SQLite, and asynq on Redis where redis-server is installed. It prints
// rows for the table of `make bench`, which finds their places there by what stands before the colon.
//
// All run tasks that do nothing and promise the same as the desk: what was submitted survives a power cut.
// asynq is measured a second time without that promise, as it is usually run.
// Both look for work every few milliseconds, far more often than they do by default, in their favour.
//
// It is a module of its own, so that its dependencies stay out of the desk's.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	singles = 4_000  // tasks submitted one by one
	bulks   = 10_000 // tasks submitted together, a thousand at a time
	batch   = 1_000
	callers = 8
	workers = 64                   // tasks that run at once
	poll    = 5 * time.Millisecond // how often a peer looks for work
	pickups = 500                  // tasks submitted at 100 a second
	tick    = 10 * time.Millisecond
)

// A peer is an engine under measurement. Each task carries a number, and running it only calls ran.
type peer interface {
	name() string
	submit(ctx context.Context, number int) error
	submitBulk(ctx context.Context, from, n int) error
	start(ctx context.Context, ran func(number int)) error
	unfinished(ctx context.Context) (int, error) // tasks whose end is not stored yet
	close() error
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run measures one peer after the other; each has the machine to itself.
func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "filmroom-peers-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, open := range []func(context.Context, string) (peer, error){openRiver, openAsynq("always"), openAsynq("everysec")} {
		p, err := open(ctx, dir)
		if missing, ok := errors.AsType[*missingError](err); ok {
			fmt.Fprintf(out, "| %s | left out: %v |\n", missing.peer, missing)
			continue
		}
		if err == nil {
			err = errors.Join(measure(ctx, out, p), p.close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// missingError says that a peer needs a program that is not installed.
type missingError struct{ peer, program string }

func (e *missingError) Error() string { return e.program + " is not installed" }

// runs notes when each task ran. Tasks run once more when an engine says so; the first time counts.
type runs struct {
	mu   sync.Mutex
	at   map[int]time.Time
	all  chan struct{} // closed when want tasks ran
	want int
}

func (r *runs) expect(n int) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.all, r.want = map[int]time.Time{}, make(chan struct{}), n
	return r.all
}

func (r *runs) ran(number int) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, again := r.at[number]; again {
		return
	}
	r.at[number] = now
	if len(r.at) == r.want {
		close(r.all)
	}
}

func measure(ctx context.Context, out io.Writer, p peer) error {
	row := func(what, format string, args ...any) {
		fmt.Fprintf(out, "| %s: %s | %s |\n", what, p.name(), fmt.Sprintf(format, args...))
	}
	perSecond := func(what string, n int, do func() error) error {
		began := time.Now()
		err := do()
		if err != nil {
			return fmt.Errorf("%s: %s: %w", p.name(), what, err)
		}
		row(what, "%.0f tasks/s", float64(n)/time.Since(began).Seconds())
		return nil
	}
	if err := perSecond(fmt.Sprintf("tasks submitted one by one from %d callers", callers), singles, func() error {
		return together(callers, singles, func(i int) error { return p.submit(ctx, i) })
	}); err != nil {
		return err
	}
	if err := perSecond(fmt.Sprintf("tasks submitted together, %d at a time or from 256 callers", batch), bulks, func() error {
		for from := singles; from < singles+bulks; from += batch {
			if err := p.submitBulk(ctx, from, batch); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	r := &runs{}
	if err := perSecond("tasks that do nothing, drained", singles+bulks, func() error {
		ended := r.expect(singles + bulks)
		if err := p.start(ctx, r.ran); err != nil {
			return err
		}
		return drained(ctx, p, ended)
	}); err != nil {
		return err
	}
	waits, err := pickup(ctx, p, r)
	if err != nil {
		return fmt.Errorf("%s: submit to start: %w", p.name(), err)
	}
	row("submit to start, p50", "%.3f ms", waits[len(waits)/2].Seconds()*1000)
	row("submit to start, p99", "%.3f ms", waits[len(waits)*99/100].Seconds()*1000)
	return nil
}

// together does n things from so many callers, each one after the other.
func together(callers, n int, do func(i int) error) error {
	var next atomic.Int64
	var group sync.WaitGroup
	failed := make(chan error, callers)
	for range callers {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := do(int(i)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(failed)
	return <-failed
}

// drained waits until all tasks ran and their ends are stored.
func drained(ctx context.Context, p peer, ended <-chan struct{}) error {
	select {
	case <-ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	again := time.NewTicker(tick)
	defer again.Stop()
	for {
		n, err := p.unfinished(ctx)
		if err != nil || n == 0 {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pickup submits 100 tasks a second to the idle engine and tells how long each took to start, sorted.
func pickup(ctx context.Context, p peer, r *runs) ([]time.Duration, error) {
	ended := r.expect(pickups)
	submitted := make([]time.Time, pickups)
	clock := time.NewTicker(tick)
	defer clock.Stop()
	for i := range pickups {
		<-clock.C
		submitted[i] = time.Now()
		if err := p.submit(ctx, i); err != nil {
			return nil, err
		}
	}
	if err := drained(ctx, p, ended); err != nil {
		return nil, err
	}
	var waits []time.Duration
	for i, at := range submitted {
		waits = append(waits, r.at[i].Sub(at))
	}
	slices.Sort(waits)
	return waits, nil
}
