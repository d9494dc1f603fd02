package tasks

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
)

const (
	storeTimeout  = 10 * time.Second // for a write that no request waits for
	sweepInterval = time.Hour        // between two looks for result files that have expired
	maxAbandoned  = 3                // so many runners that do not stop, and the process claims nothing more
)

// Config is what a [Manager] needs. Zero durations take the defaults named.
type Config struct {
	Store   Store
	Results *ResultDir
	Kinds   *Kinds
	Lanes   map[string]int // capacities of lanes that are not stored yet; stored settings win

	ProgressInterval time.Duration // 300 ms: least time between two updates of one task
	Heartbeat        time.Duration // 10 s: how often leases are renewed
	LeaseTTL         time.Duration // 60 s: how long a lease lasts without renewal
	RescueInterval   time.Duration // 10 s: how often expired leases are looked for
	AttemptGrace     time.Duration // 10 s: for a runner whose context has ended
	ShutdownGrace    time.Duration // 30 s: for running attempts at Stop, before their contexts end
	ResultTTL        time.Duration // 168 h: until a download expires
	ExternalTTL      time.Duration // 60 s: how long a task that another program reports may be silent

	// Retention is how long final tasks are kept after their end, by status; at least a day. A status that
	// is missing, or negative, is kept for good.
	Retention map[Status]time.Duration
	// Follow, if set, is asked before a task ends what should follow it, or nil for nothing; see [Successor].
	Follow func(ctx context.Context, ending Task) *Successor

	// SoleOwner says that the caller can prove all other owners of leases dead, because it holds the
	// lock of the data directory. Start then rescues everything that another owner left.
	SoleOwner bool
	// Healthy, if set, is asked before each claim; while it returns an error nothing is claimed, and
	// [Manager.Health] tells of it.
	Healthy func() error
	// Now is a shared store's clock, unless Clock is set, which the engine keeps. Neither: a Clock of its own.
	Now      func() time.Time
	Clock    *Clock
	Logger   *slog.Logger // slog.Default()
	Observer Observer     // nobody
}

// An Observer is told what a metrics system wants to know. Its methods must not block.
type Observer interface {
	AttemptStarted(kind, lane string, waited time.Duration)
	AttemptEnded(kind, lane string, how Event, took time.Duration)
}

// A Person is who asks. The zero Person sees nothing.
type Person struct {
	UserID, Email string
	Admin         bool

	through string // the task that asks for them, "" when they do so themselves
}

// Manager is the engine: it runs what is submitted, holds live progress, and tells those who watch. One
// process has one; many processes may share a store.
type Manager struct {
	cfg    Config
	log    *slog.Logger
	boot   ulid.ULID // this process, as owner of leases and in event ids
	broker *broker
	lanes  map[string]*lane

	mu       sync.Mutex
	runs     map[string]*Run // attempts under a lease here, by task id
	stopping bool            // nothing enters any more
	leasing  int             // writes under way that lease tasks to attempts not yet in runs
	early    map[string]Task // what was told of those meanwhile, by token; empty while leasing is 0

	logging stripe // of external tasks: a line's number is read before it is written

	abandoned   atomic.Int32 // runners that outlived their grace and have not returned
	renewFailed atomic.Bool  // the last renewal did not reach the store

	stopFetch, stopLoops context.CancelFunc
	fetching, loops      sync.WaitGroup // lanes; heartbeat, rescue, sweep, watch
	running              sync.WaitGroup // attempts whose end is not stored yet
	stop                 sync.Once
	stopErr              error
}

// NewManager checks the configuration. Nothing runs before Start.
func NewManager(cfg Config) (*Manager, error) {
	cfg.defaults()
	m := &Manager{cfg: cfg, log: cfg.Logger, boot: ulid.Make(), runs: map[string]*Run{}, early: map[string]Task{}, lanes: map[string]*lane{}}
	m.logging.seed = maphash.MakeSeed()
	m.broker = newBroker(m.boot, m.now, m.overlay)
	m.stopFetch, m.stopLoops = func() {}, func() {}
	var mistakes []error
	if cfg.LeaseTTL < 2*cfg.Heartbeat {
		mistakes = append(mistakes, fmt.Errorf("a lease of %s needs a heartbeat of at most %s, not %s", cfg.LeaseTTL, cfg.LeaseTTL/2, cfg.Heartbeat))
	}
	for name, capacity := range cfg.Lanes {
		if capacity < 0 {
			mistakes = append(mistakes, fmt.Errorf("lane %q has capacity %d: it must be 0 or more", name, capacity))
		}
		m.lanes[name] = newLane(Lane{Name: name, Capacity: capacity})
	}
	for _, name := range cfg.Kinds.Names() {
		if k, _ := cfg.Kinds.get(name); m.lanes[k.Lane] == nil {
			mistakes = append(mistakes, fmt.Errorf("kind %q waits in lane %q, which has no capacity", name, k.Lane))
		}
	}
	return m, errors.Join(mistakes...)
}

func (c *Config) defaults() {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.ProgressInterval, 300 * time.Millisecond}, {&c.Heartbeat, 10 * time.Second}, {&c.LeaseTTL, time.Minute},
		{&c.RescueInterval, 10 * time.Second}, {&c.AttemptGrace, 10 * time.Second}, {&c.ExternalTTL, time.Minute},
		{&c.ShutdownGrace, 30 * time.Second}, {&c.ResultTTL, 168 * time.Hour},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if c.Now == nil && c.Clock == nil {
		c.Clock = NewClock(time.Now)
	}
	if c.Clock != nil {
		c.Now = c.Clock.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
}

type nobody struct{}

func (nobody) AttemptStarted(string, string, time.Duration)      {}
func (nobody) AttemptEnded(string, string, Event, time.Duration) {}

func (m *Manager) now() time.Time { return m.cfg.Now() }

// Boot is the ULID under which this process owns leases.
func (m *Manager) Boot() string { return m.boot.String() }

// Start rescues what other processes left behind and begins to run tasks. It returns when it runs; ctx
// bounds the rescue alone.
func (m *Manager) Start(ctx context.Context) error {
	owner := ""
	if m.cfg.SoleOwner {
		owner = m.Boot()
	}
	for _, step := range []func(context.Context) error{
		m.storeLanes, func(ctx context.Context) error { return m.rescue(ctx, owner) }, m.recall,
	} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("start tasks: %w", err)
		}
	}
	if err := m.catchUp(ctx); err != nil { // no reason not to serve
		m.log.Error("submit successors; they are tried again", "err", err)
	}
	fetch, stopFetch := context.WithCancel(context.WithoutCancel(ctx))
	loops, stopLoops := context.WithCancel(context.WithoutCancel(ctx))
	m.stopFetch, m.stopLoops = stopFetch, stopLoops
	for _, l := range m.lanes {
		m.fetching.Go(func() { m.serve(fetch, l) })
	}
	m.loops.Go(func() { every(loops, m.cfg.Heartbeat, m.beat) })
	m.loops.Go(func() { every(loops, m.cfg.RescueInterval, m.look) })
	m.loops.Go(func() {
		m.tidy(loops)
		every(loops, sweepInterval, m.tidy)
	})
	if w, ok := m.cfg.Store.(Watcher); ok {
		m.loops.Go(func() { m.watch(loops, w) })
	}
	return nil
}

// Stop ends the engine: nothing more is claimed, streams are told to come back, running attempts get their
// grace, then their contexts end and what may run again goes back to its lane without costing an attempt.
// Everything that ended is stored before it returns, unless ctx ends first. Further calls wait for the first.
func (m *Manager) Stop(ctx context.Context) error {
	m.stop.Do(func() { m.stopErr = m.shutdown(ctx) })
	return m.stopErr
}

func (m *Manager) shutdown(ctx context.Context) error {
	m.stopFetch()
	m.broker.close()
	m.fetching.Wait()
	m.mu.Lock()
	m.stopping = true
	m.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		m.running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	case <-time.After(m.cfg.ShutdownGrace):
	}
	for _, r := range m.live() {
		r.cancel(ErrShutdown)
	}
	// Bounded without ctx: a runner has AttemptGrace, its end storeTimeout.
	<-idle
	m.stopLoops()
	m.loops.Wait()
	return ctx.Err()
}

// every calls f once an interval until ctx ends.
func every(ctx context.Context, interval time.Duration, f func(context.Context)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f(ctx)
		}
	}
}

// tidy removes what is no longer kept.
func (m *Manager) tidy(ctx context.Context) {
	m.prune(ctx)
	m.sweep(ctx)
}

// live returns the attempts under a lease here.
func (m *Manager) live() []*Run {
	m.mu.Lock()
	defer m.mu.Unlock()
	runs := make([]*Run, 0, len(m.runs))
	for _, r := range m.runs {
		runs = append(runs, r)
	}
	return runs
}

func (m *Manager) runOf(taskID string) *Run {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runs[taskID]
}

// overlay lays the live progress of a task that runs here over its record: memory adds progress, never life.
func (m *Manager) overlay(t *Task) {
	r := m.runOf(t.ID)
	if r == nil || t.Status != StatusProcessing || t.Lease == nil || t.Lease.Token != r.token {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Progress = r.progress
}

// moved follows a stored move through the house: viewers are told, a lane that has work is woken, and what
// belongs to an end is done. It comes after the store, always.
func (m *Manager) moved(ctx context.Context, t Task) {
	if m.heard(t) {
		return
	}
	m.broker.publish(t)
	if t.LockKey != "" && t.Status != StatusProcessing {
		m.wakeLanes() // whoever waits for the lock, in whatever lane
	} else if l := m.lanes[t.Lane]; l != nil && t.Status == StatusQueued {
		l.wake()
	}
	if t.Next != nil {
		if err := m.followed(ctx, t); err != nil {
			m.log.Error("submit a successor; it is tried again", "task", t.ID, "err", err)
		}
	}
	if k, ok := m.cfg.Kinds.get(t.Kind); ok && t.Status.Final() && k.Ended != nil {
		k.Ended(ctx, t)
	}
}
