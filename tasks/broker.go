package tasks

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// rememberedEnds is how many ended tasks a broker keeps in mind to refuse late news of them.
const rememberedEnds = 4096

// A broker hands news of tasks to those who watch. One lock orders everything: an update has its place in the
// sequence before anybody sees it, and a subscription joins at one position. Publishing costs a short
// write into each viewer's own small buffer and never waits for a viewer.
type broker struct {
	boot  ulid.ULID
	start time.Time // the boot ULID's moment; sequences count microseconds from it
	now   func() time.Time
	// overlay lays the live progress of a task that runs here over its record.
	overlay func(*Task)

	mu     sync.Mutex
	seq    uint64
	closed bool
	byUser map[string]map[*Subscription]struct{}
	byTask map[string]map[*Subscription]struct{}
	all    map[*Subscription]struct{}
	ended  map[string]int64 // of tasks that have ended once: the least revision that still is news
	ring   []string         // keys of ended, oldest at next
	next   int
}

func newBroker(boot ulid.ULID, now func() time.Time, overlay func(*Task)) *broker {
	return &broker{
		boot:    boot,
		start:   ulid.Time(boot.Time()),
		now:     now,
		overlay: overlay,
		byUser:  map[string]map[*Subscription]struct{}{},
		byTask:  map[string]map[*Subscription]struct{}{},
		all:     map[*Subscription]struct{}{},
		ended:   map[string]int64{},
		ring:    make([]string, rememberedEnds),
	}
}

// publish tells everybody concerned of a task's newest state. News older than an end that was told is dropped.
func (b *broker) publish(t Task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || !b.isNews(t) {
		return
	}
	var u *Update // made once there is somebody to hear it
	for _, subs := range []map[*Subscription]struct{}{b.byUser[t.UserID], b.byTask[t.ID], b.all} {
		for s := range subs {
			if u == nil {
				u = &Update{seq: b.count(), Kind: updateKind(t.Status), Task: t, At: Millis(b.now())}
				u.ID = b.id(u.seq)
			}
			s.put(u)
		}
	}
}

// isNews drops what is older than an end, and nothing else: live progress comes again and again under one
// revision, also in an attempt that a person's retry of an ended task has brought about.
func (b *broker) isNews(t Task) bool {
	least, ended := b.ended[t.ID]
	if ended && t.Rev < least {
		return false
	}
	if t.Status.Final() && !ended {
		delete(b.ended, b.ring[b.next])
		b.ring[b.next] = t.ID
		b.next = (b.next + 1) % len(b.ring)
	}
	switch {
	case t.Status.Final():
		b.ended[t.ID] = t.Rev + 1
	case ended:
		b.ended[t.ID] = t.Rev
	}
	return true
}

// count takes the next place in the sequence. It counts microseconds since the process began, so that
// an id tells its moment, also to a later process.
func (b *broker) count() uint64 {
	b.seq = max(b.seq+1, uint64(max(b.now().Sub(b.start).Microseconds(), 0)))
	return b.seq
}

func (b *broker) id(seq uint64) string { return fmt.Sprintf("%s-%d", b.boot, seq) }

// since is the moment an event id stands for.
func since(eventID string) (time.Time, bool) {
	boot, seq, _ := strings.Cut(eventID, "-")
	id, err := ulid.ParseStrict(boot)
	if err != nil {
		return time.Time{}, false
	}
	micros, err := strconv.ParseInt(seq, 10, 64)
	if err != nil || micros < 0 || micros > int64(100*365*24*time.Hour/time.Microsecond) {
		return time.Time{}, false
	}
	return ulid.Time(id.Time()).Add(time.Duration(micros) * time.Microsecond), true
}

func (b *broker) subscribe(p Person, scope Scope) *Subscription {
	s := &Subscription{broker: b, person: p, ready: make(chan struct{}, 1), done: make(chan struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case scope.TaskID != "":
		s.home, s.key = b.byTask, scope.TaskID
	case scope.Everybody:
		b.all[s] = struct{}{}
	default:
		s.home, s.key = b.byUser, p.UserID
	}
	if s.home != nil {
		if s.home[s.key] == nil {
			s.home[s.key] = map[*Subscription]struct{}{}
		}
		s.home[s.key][s] = struct{}{}
	}
	s.last = b.count()
	if b.closed {
		close(s.done)
	}
	return s
}

func (b *broker) unsubscribe(s *Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.all, s)
	if s.home != nil {
		delete(s.home[s.key], s)
		if len(s.home[s.key]) == 0 {
			delete(s.home, s.key)
		}
	}
}

// close tells every stream to end and publishes nothing more.
func (b *broker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.closed = true
	b.each(func(s *Subscription) { close(s.done) })
}

func (b *broker) each(f func(*Subscription)) {
	for s := range b.all {
		f(s)
	}
	for _, home := range []map[string]map[*Subscription]struct{}{b.byUser, b.byTask} {
		for _, subs := range home {
			for s := range subs {
				f(s)
			}
		}
	}
}

// viewers counts the open subscriptions.
func (b *broker) viewers() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.each(func(*Subscription) { n++ })
	return n
}
