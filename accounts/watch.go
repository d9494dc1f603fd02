package accounts

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// watchEvery is how often the store is asked whether anything ended; only while streams are open.
const watchEvery = time.Second

// lookTimeout bounds one round of questions to the store.
const lookTimeout = 10 * time.Second

// A Credential is what a stream was opened with: a session or a token, and whom it speaks for.
type Credential struct {
	UserID      string
	SessionHash string // of [SessionHash]; "" for a token
	TokenID     string // "" for a session
}

// Watch returns the watch over credentials that open streams rest on.
func (s *Service) Watch() *Watch { return s.watch }

// A Watch tells open streams that the credential they were opened with has ended. While there is one
// it asks the store's version each second, and at once when this process ended something; the credentials
// themselves are looked up only when the version has risen.
type Watch struct {
	service *Service

	mu      sync.Mutex
	entries map[Credential]*watched
	running chan struct{} // closed when the goroutine has ended; nil while there is none
	closed  bool
	poke    chan struct{} // holds one when a look is due
	version int64         // of the store when all entries were last looked up
}

type watched struct {
	ended     chan struct{}
	streams   int
	looked    bool      // at least once since it was added
	expiresAt time.Time // of the session; zero for a token
}

func newWatch(s *Service) *Watch {
	return &Watch{service: s, entries: map[Credential]*watched{}, poke: make(chan struct{}, 1)}
}

// Add begins to watch a credential for one stream. ended is closed within a second after the credential
// ended, also when that was before Add. release must be called when the stream is over.
func (w *Watch) Add(c Credential) (ended <-chan struct{}, release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.entries[c]
	if e == nil {
		e = &watched{ended: make(chan struct{})}
		w.entries[c] = e
	}
	e.streams++
	if w.closed {
		w.end(c, e)
	} else if w.running == nil {
		w.running = make(chan struct{})
		go w.run(w.running)
	}
	return e.ended, sync.OnceFunc(func() { w.release(c, e) })
}

func (w *Watch) release(c Credential, e *watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.streams--; e.streams == 0 && w.entries[c] == e {
		delete(w.entries, c)
	}
	if len(w.entries) == 0 {
		w.look()
	}
}

// look asks for a look at once.
func (w *Watch) look() {
	select {
	case w.poke <- struct{}{}:
	default:
	}
}

// close ends all streams and waits for the goroutine.
func (w *Watch) close() {
	w.mu.Lock()
	w.closed = true
	for c, e := range w.entries {
		w.end(c, e)
	}
	running := w.running
	w.look()
	w.mu.Unlock()
	if running != nil {
		<-running
	}
}

// end tells the streams of one credential. The caller holds mu.
func (w *Watch) end(c Credential, e *watched) {
	delete(w.entries, c)
	close(e.ended)
}

// run looks until there is nothing left to watch.
func (w *Watch) run(ended chan struct{}) {
	defer close(ended)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for failing := false; ; {
		select {
		case <-tick.C:
		case <-w.poke:
		}
		w.mu.Lock()
		if len(w.entries) == 0 {
			w.running = nil
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
		err := w.round(ctx)
		if err != nil && !failing {
			w.service.log.WarnContext(ctx, "open streams could not be checked; trying again", "error", err)
		}
		failing = err != nil
		cancel()
	}
}

// round looks up what may have ended. The version is read first: what ends during the round is seen by
// the next one.
func (w *Watch) round(ctx context.Context) error {
	version, err := w.service.store.Version(ctx)
	if err != nil {
		return err
	}
	for _, c := range w.due(version) {
		expiresAt, err := w.service.valid(ctx, c)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		w.settle(c, expiresAt, err == nil)
	}
	w.mu.Lock()
	w.version = version
	w.mu.Unlock()
	return nil
}

// due returns the credentials to look up: all when the version has moved, else those that are new or
// have expired.
func (w *Watch) due(version int64) (due []Credential) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.service.now()
	for c, e := range w.entries {
		expired := !e.expiresAt.IsZero() && !now.Before(e.expiresAt)
		if version != w.version || !e.looked || expired {
			due = append(due, c)
		}
	}
	return due
}

func (w *Watch) settle(c Credential, expiresAt time.Time, valid bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.entries[c]
	switch {
	case e == nil: // released meanwhile
	case !valid:
		w.end(c, e)
	default:
		e.looked, e.expiresAt = true, expiresAt
	}
}

// valid returns when a credential expires (zero: never), or [ErrNotFound] when it has ended.
func (s *Service) valid(ctx context.Context, c Credential) (expiresAt time.Time, err error) {
	if _, err := s.User(ctx, c.UserID); err != nil {
		return time.Time{}, err
	}
	if c.TokenID == "" {
		session, err := s.store.Session(ctx, c.SessionHash, s.now())
		return session.ExpiresAt, err
	}
	tokens, err := s.store.Tokens(ctx, c.UserID)
	if err == nil && !slices.ContainsFunc(tokens, func(t Token) bool { return t.ID == c.TokenID }) {
		err = ErrNotFound
	}
	return time.Time{}, err
}
