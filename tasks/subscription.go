package tasks

import (
	"slices"
	"sync"
)

// pendingLimit is how many different tasks may have news that a viewer has not taken; beyond it the
// viewer has lagged and begins again with a snapshot.
const pendingLimit = 256

// A Scope says which tasks a subscription follows. The zero Scope follows the person's own.
type Scope struct {
	TaskID    string // one task
	Everybody bool   // all tasks; for administrators
}

// A Subscription is one viewer's place at the [Manager]. It keeps no more than the newest news of each task
// until the viewer takes it, so a slow viewer costs little and the others nothing.
//
// A stream that begins with a snapshot joins it to the news without a seam like this: subscribe, read the
// snapshot from the Manager, pass it through Join, send it; from then on send what Take returns.
type Subscription struct {
	broker *broker
	person Person
	home   map[string]map[*Subscription]struct{} // where it is listed, nil when among all
	key    string
	ready  chan struct{}
	done   chan struct{}

	mu      sync.Mutex
	pending []*Update // the newest of each task, in order of arrival of its first
	lagged  bool
	last    uint64
}

// Ready receives when there is something to Take.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Done is closed when the desk stops: end the stream, the client will come back.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Close ends the subscription. It may be called more than once.
func (s *Subscription) Close() { s.broker.unsubscribe(s) }

// Take returns the newest update of each task that has news, in the order in which they were told. If
// the viewer has fallen behind, lagged is true, there are no updates, and it should begin again with a snapshot.
func (s *Subscription) Take() (updates []*Update, lagged bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	updates, lagged = s.pending, s.lagged
	s.pending, s.lagged = nil, false
	if len(updates) > 1 {
		slices.SortFunc(updates, func(a, b *Update) int { return int(int64(a.seq) - int64(b.seq)) })
	}
	if n := len(updates); n > 0 {
		s.last = updates[n-1].seq
	}
	return updates, lagged
}

// Join brings a snapshot that was read after the subscription began up to the news that arrived meanwhile,
// and drops that news: nothing is missed, and no bar goes back. News of tasks that are not in items stays.
func (s *Subscription) Join(items []Task) []Task {
	at := make(map[string]int, len(items))
	for i := range items {
		at[items[i].ID] = i
	}
	// Under the broker's lock no update is on its way: the position is one for all items.
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lagged = false
	s.last = s.broker.count()
	s.pending = slices.DeleteFunc(s.pending, func(u *Update) bool {
		i, shown := at[u.Task.ID]
		if shown && u.Task.Rev > items[i].Rev {
			items[i] = u.Task
		}
		return shown
	})
	for i := range items {
		s.broker.overlay(&items[i])
	}
	return items
}

// LastID is the event id of what was last joined or taken.
func (s *Subscription) LastID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broker.id(s.last)
}

// put is called under the broker's lock.
func (s *Subscription) put(u *Update) {
	if !s.person.sees(u.Task) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.pending, func(p *Update) bool { return p.Task.ID == u.Task.ID })
	switch {
	case s.lagged:
	case i >= 0:
		s.pending[i] = u
	case len(s.pending) == pendingLimit:
		s.pending, s.lagged = nil, true
	default:
		s.pending = append(s.pending, u)
	}
	select {
	case s.ready <- struct{}{}:
	default:
	}
}
