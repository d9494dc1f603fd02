package taskstest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"filmroom/tasks"
)

const (
	slots       = 3 // of each lane
	patience    = 3 * time.Minute
	firstDeath  = 6  // the claim whose answer is lost with its process
	secondDeath = 18 // the attempt in the midst of which its process dies
)

// errKilled is what a killed process gets of its store. It counts as too late, so that the process's engine,
// which in a test cannot vanish, does not try again.
var errKilled = fmt.Errorf("killed: %w", tasks.ErrLeaseLost)

// several are four processes that run n tasks of four lanes, which makes sixteen claimers. Two processes
// are killed; what they held must come free and run again, and never may more leases be valid than the
// lanes allow.
type several struct {
	t     *testing.T
	store tasks.Store
	n     int
	pace  time.Duration // of heartbeats
	full  chan struct{} // closed when a lane was seen with all its slots taken; until then nothing ends

	mu     sync.Mutex
	claims int
	starts int
	deaths int
	inside map[string]int // attempts at work, by task and by lock
	filled bool
}

// A process is one of several. Killed, it says no goodbye: its store answers no more, and its runners are gone.
type process struct {
	tasks.Store
	*several
	dead   atomic.Bool
	killed chan struct{}
}

// A watchingProcess shares its store with processes elsewhere.
type watchingProcess struct {
	*process
	tasks.Watcher
}

func severalManagers(t *testing.T, s tasks.Store, beside func(testing.TB, tasks.Store) tasks.Store, n int, pace time.Duration) {
	c := &several{t: t, store: s, n: n, pace: pace, full: make(chan struct{}), inside: map[string]int{}}
	for i := range 4 {
		lane(t, s, laneName(i), slots)
	}
	c.submit()
	for range 4 {
		c.boot(beside)
	}
	c.wait()
	c.check()
}

func laneName(i int) string { return fmt.Sprintf("several-%d", i%4) }

// submit stores the tasks; each fifth needs a lock that the lanes share.
func (c *several) submit() {
	for i := range c.n {
		insert(c.t, c.store, Queued(Kind(laneName(i)), func(t *tasks.Task) {
			t.MaxAttempts, t.AvailableAt = 100, tasks.Millis(time.Now())
			if i%5 == 0 {
				t.LockKey = "key"
			}
		}))
	}
}

// boot starts one more process.
func (c *several) boot(beside func(testing.TB, tasks.Store) tasks.Store) {
	p := &process{Store: c.store, several: c, killed: make(chan struct{})}
	if beside != nil {
		p.Store = beside(c.t, c.store)
	}
	var shown tasks.Store = p
	if w, ok := p.Store.(tasks.Watcher); ok {
		shown = watchingProcess{p, w}
	}
	var kinds []tasks.Kind
	lanes := map[string]int{}
	for i := range 4 {
		kind := tasks.Kind{Name: laneName(i), Lane: laneName(i), Rerunnable: true, Retry: tasks.Retry{MaxAttempts: 100, Base: time.Millisecond}}
		kinds = append(kinds, tasks.Define(kind, func(ctx context.Context, _ map[string]any, r *tasks.Run) (tasks.Done, error) {
			return tasks.Done{}, p.work(ctx, r)
		}))
		lanes[kind.Lane] = slots
	}
	all, err := tasks.NewKinds(kinds...)
	if err != nil {
		c.t.Fatal(err)
	}
	m, err := tasks.NewManager(tasks.Config{Store: shown, Kinds: all, Lanes: lanes, Logger: slog.New(slog.DiscardHandler),
		LeaseTTL: 3 * c.pace, Heartbeat: c.pace, RescueInterval: c.pace / 5})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := m.Stop(context.Background()); err != nil {
			c.t.Error(err)
		}
	})
	if err := m.Start(c.t.Context()); err != nil && !p.dead.Load() {
		c.t.Fatal(err)
	}
}

// work is an attempt: it begins when the lanes are full, and writes once to the store.
func (p *process) work(ctx context.Context, r *tasks.Run) error {
	t := r.Task()
	leave := sync.OnceFunc(p.enter(t))
	defer leave()
	context.AfterFunc(ctx, leave) // told to stop, it has stopped, though the store may be slow to give it back
	select {
	case <-p.full:
	case <-p.killed:
		return errKilled
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.mu.Lock()
	if p.starts++; p.starts >= secondDeath && p.deaths == 1 {
		p.kill()
	}
	p.mu.Unlock()
	return r.Phase(ctx, "half way")
}

// enter counts an attempt in: one of a task, and one of a lock.
func (c *several) enter(t tasks.Task) (leave func()) {
	keys := []string{t.ID}
	if t.LockKey != "" {
		keys = append(keys, t.LockKey)
	}
	count := func(by int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, key := range keys {
			if c.inside[key] += by; c.inside[key] > 1 {
				c.t.Errorf("%s runs twice at once, the second time as attempt %d", key, t.Attempt)
			}
		}
	}
	count(1)
	return func() { count(-1) }
}

// kill ends a process that lives; the lock is held.
func (p *process) kill() {
	if !p.dead.Swap(true) {
		p.deaths++
		close(p.killed)
	}
}

// count holds the valid leases in the store against the slots there are. It reads twice, for a server may
// answer from more than one moment: what both answers tell of under one token was valid between them.
// The clock is read last, so whatever a claim has taken to be over is not counted.
func (c *several) count(claimed string) {
	first, second := c.leases(), c.leases()
	now := time.Now()
	held := map[string]int{}
	for token, t := range first {
		if _, still := second[token]; still && t.Leased(now) {
			held[t.Lane]++
			held[t.LockKey]++
		}
	}
	if held[claimed] > slots || held["key"] > 1 {
		c.t.Errorf("%d leases of %s are valid at once and %d of the lock, more than %d and 1", held[claimed], claimed, held["key"], slots)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if held[claimed] == slots && !c.filled {
		c.filled = true
		close(c.full)
	}
}

// leases are the tasks under a lease by their tokens.
func (c *several) leases() map[string]tasks.Task {
	page, err := c.store.List(context.Background(), tasks.Query{Statuses: []tasks.Status{tasks.StatusProcessing}, Limit: c.n, NoTotal: true})
	if err != nil {
		c.t.Error(err)
	}
	byToken := make(map[string]tasks.Task, len(page.Items))
	for _, t := range page.Items {
		byToken[t.Lease.Token] = t
	}
	return byToken
}

// wait returns when all tasks have ended.
func (c *several) wait() {
	c.t.Helper()
	tick, late := time.NewTicker(50*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for {
		page := list(c.t, c.store, tasks.Query{Statuses: []tasks.Status{tasks.StatusFinished}, Limit: c.n})
		if len(page.Items) == c.n {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			c.t.Fatalf("%d of %d tasks have finished; a lane was full: %v", len(page.Items), c.n, c.filled)
		}
	}
}

func (c *several) check() {
	page := list(c.t, c.store, tasks.Query{Limit: c.n})
	again := 0
	for _, t := range page.Items {
		ends := slices.DeleteFunc(get(c.t, c.store, t.ID).Journal, func(e tasks.Entry) bool { return e.Event != tasks.EventFinished })
		if len(ends) != 1 {
			c.t.Errorf("task %s finished %d times", t.ID, len(ends))
		}
		again += t.Attempt - 1
	}
	if c.deaths != 2 || again < 2 {
		c.t.Errorf("%d processes were killed, and %d attempts were made again: want 2, and at least one each", c.deaths, again)
	}
	if loads, err := c.store.Loads(c.t.Context(), time.Now()); err != nil || len(loads) != 0 {
		c.t.Errorf("everything has ended, and the lanes hold %+v, %v", loads, err)
	}
	if holder, err := c.store.Holder(c.t.Context(), "key", time.Now()); !errors.Is(err, tasks.ErrNotFound) {
		c.t.Errorf("everything has ended, and the lock is held by %s, %v", holder.ID, err)
	}
}
