package accounts

import (
	"container/list"
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxPairs bounds how many pairs of account and address are remembered. Who wants a pair forgotten
// early must try that many others, each at the price of a password hash, which takes longer than waiting.
const maxPairs = 10_000

// SignIn returns the account that this password opens. addr is the address the attempt comes from;
// IPv6 addresses of one /64 count as one. [ErrBadCredentials] and [RateLimitedError] refuse.
func (s *Service) SignIn(ctx context.Context, email, password, addr string) (User, error) {
	email = strings.TrimSpace(email)
	u, err := s.store.UserByEmail(ctx, email)
	if errors.Is(err, ErrNotFound) {
		u, err = User{Email: email}, nil
	}
	if err != nil {
		return User{}, err
	}
	if err := s.prove(ctx, u, password, addr); err != nil {
		return User{}, err
	}
	if u.Disabled() {
		return User{}, ErrBadCredentials
	}
	return u, nil
}

// prove checks a password under the limit of the pair. A user without a hash is one that does not exist:
// the same work is done, and no password is right.
func (s *Service) prove(ctx context.Context, u User, password, addr string) error {
	key := pair(u.Email, addr)
	if wait := s.attempts.take(key, s.now()); wait > 0 {
		return &RateLimitedError{RetryAfter: wait}
	}
	ok, stale, err := s.hasher.check(ctx, password, u.PasswordHash)
	if err != nil {
		return err
	}
	if !ok || u.PasswordHash == "" {
		return ErrBadCredentials
	}
	s.attempts.forget(key)
	if stale {
		s.rehash(ctx, u, password)
	}
	return nil
}

// rehash replaces a hash that was made at another cost, while the password is at hand.
func (s *Service) rehash(ctx context.Context, u User, password string) {
	hash, err := s.hasher.hash(ctx, password)
	if err == nil {
		err = s.update(ctx, u.ID, func(now *User) {
			if now.PasswordHash == u.PasswordHash {
				now.PasswordHash = hash
			}
		})
	}
	if err != nil {
		s.log.WarnContext(ctx, "a password keeps its old hash", "userId", u.ID, "error", err)
	}
}

// pair is what attempts are counted by. The address is shortened to what one household or host has.
func pair(email, addr string) string {
	if ip, err := netip.ParseAddr(addr); err == nil {
		ip = ip.Unmap()
		addr = ip.String()
		if ip.Is6() {
			prefix, _ := ip.Prefix(64) // 64 bits fit every IPv6 address
			addr = prefix.String()
		}
	}
	if len(email) > maxEmail {
		email = email[:maxEmail] // no account is that long; what is remembered stays bounded
	}
	return strings.ToLower(email) + "\x00" + addr
}

// attempts counts attempts by key, the least recently tried forgotten first.
type attempts struct {
	limit rate.Limit
	burst int

	mu    sync.Mutex
	byKey map[string]*list.Element
	order *list.List // of *attempt, most recently tried first
}

type attempt struct {
	key     string
	limiter *rate.Limiter
}

func newAttempts(limit rate.Limit, burst int) *attempts {
	return &attempts{limit: limit, burst: burst, byKey: map[string]*list.Element{}, order: list.New()}
}

// take counts one attempt, or says how long to wait before it may be made.
func (a *attempts) take(key string, now time.Time) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.limiter(key).ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

func (a *attempts) limiter(key string) *rate.Limiter {
	if e, ok := a.byKey[key]; ok {
		a.order.MoveToFront(e)
		return e.Value.(*attempt).limiter
	}
	if a.order.Len() >= maxPairs {
		a.drop(a.order.Back())
	}
	l := rate.NewLimiter(a.limit, a.burst)
	a.byKey[key] = a.order.PushFront(&attempt{key, l})
	return l
}

// forget gives back all attempts of a key, as after one that succeeded.
func (a *attempts) forget(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e, ok := a.byKey[key]; ok {
		a.drop(e)
	}
}

func (a *attempts) drop(e *list.Element) {
	delete(a.byKey, e.Value.(*attempt).key)
	a.order.Remove(e)
}
