package accounts_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"filmroom/accounts"
)

// memory is a Store for tests of the policy above it. broken, when set, is what every method answers.
type memory struct {
	mu       sync.Mutex
	users    map[string]accounts.User
	tokens   map[string]accounts.Token
	sessions map[string]accounts.Session
	audit    []accounts.AuditEntry // oldest first
	version  int64
	asked    atomic.Int64 // how often for the version
	broken   error
}

func newMemory() *memory {
	return &memory{users: map[string]accounts.User{}, tokens: map[string]accounts.Token{}, sessions: map[string]accounts.Session{}}
}

func (m *memory) do(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return m.broken
	}
	return f()
}

func (m *memory) AddUser(ctx context.Context, u accounts.User) error {
	return m.do(ctx, func() error {
		for _, other := range m.users {
			if strings.EqualFold(other.Email, u.Email) {
				return accounts.ErrEmailTaken
			}
		}
		m.users[u.ID] = u
		return nil
	})
}

func (m *memory) AddFirstUser(ctx context.Context, u accounts.User) error {
	return m.do(ctx, func() error {
		if len(m.users) > 0 {
			return accounts.ErrNotFirst
		}
		m.users[u.ID] = u
		return nil
	})
}

func (m *memory) HasUsers(ctx context.Context) (has bool, err error) {
	err = m.do(ctx, func() error { has = len(m.users) > 0; return nil })
	return has, err
}

func (m *memory) User(ctx context.Context, id string) (u accounts.User, err error) {
	err = m.do(ctx, func() error { return find(m.users, id, &u) })
	return u, err
}

func (m *memory) UserByEmail(ctx context.Context, email string) (u accounts.User, err error) {
	err = m.do(ctx, func() error {
		for id, other := range m.users {
			if strings.EqualFold(other.Email, email) {
				return find(m.users, id, &u)
			}
		}
		return accounts.ErrNotFound
	})
	return u, err
}

func (m *memory) Users(ctx context.Context) (all []accounts.User, err error) {
	err = m.do(ctx, func() error {
		for _, u := range m.users {
			all = append(all, u)
		}
		slices.SortFunc(all, func(a, b accounts.User) int {
			return strings.Compare(strings.ToLower(a.Email), strings.ToLower(b.Email))
		})
		return nil
	})
	return all, err
}

func (m *memory) UpdateUser(ctx context.Context, u accounts.User) error {
	return m.do(ctx, func() error {
		before, ok := m.users[u.ID]
		if !ok {
			return accounts.ErrNotFound
		}
		for id, other := range m.users {
			if id != u.ID && strings.EqualFold(other.Email, u.Email) {
				return accounts.ErrEmailTaken
			}
		}
		m.version++
		u.CreatedAt = before.CreatedAt
		m.users[u.ID] = u
		return nil
	})
}

func (m *memory) AddToken(ctx context.Context, t accounts.Token) error {
	return m.do(ctx, func() error { m.tokens[t.ID] = t; return nil })
}

func (m *memory) Tokens(ctx context.Context, userID string) (all []accounts.Token, err error) {
	err = m.do(ctx, func() error {
		for _, t := range m.tokens {
			if t.UserID == userID {
				all = append(all, t)
			}
		}
		return nil
	})
	return all, err
}

func (m *memory) TokenByHash(ctx context.Context, hash string) (found accounts.Token, err error) {
	err = m.do(ctx, func() error {
		for id, t := range m.tokens {
			if t.Hash == hash {
				return find(m.tokens, id, &found)
			}
		}
		return accounts.ErrNotFound
	})
	return found, err
}

func (m *memory) DeleteToken(ctx context.Context, userID, id string) error {
	return m.do(ctx, func() error {
		if t, ok := m.tokens[id]; !ok || t.UserID != userID {
			return accounts.ErrNotFound
		}
		m.version++
		delete(m.tokens, id)
		return nil
	})
}

func (m *memory) TokenUsed(ctx context.Context, id string, at time.Time) error {
	return m.do(ctx, func() error {
		t := m.tokens[id]
		t.LastUsedAt = at
		m.tokens[id] = t
		return nil
	})
}

func (m *memory) PutSession(ctx context.Context, s accounts.Session) error {
	return m.do(ctx, func() error { m.sessions[s.Hash] = s; return nil })
}

func (m *memory) Session(ctx context.Context, hash string, now time.Time) (s accounts.Session, err error) {
	err = m.do(ctx, func() error {
		if !now.Before(m.sessions[hash].ExpiresAt) {
			return accounts.ErrNotFound
		}
		return find(m.sessions, hash, &s)
	})
	return s, err
}

func (m *memory) DeleteSession(ctx context.Context, hash string) error {
	return m.do(ctx, func() error {
		m.version++
		delete(m.sessions, hash)
		return nil
	})
}

func (m *memory) DeleteSessions(ctx context.Context, userID, except string) error {
	return m.do(ctx, func() error {
		m.version++
		for hash, s := range m.sessions {
			if s.UserID == userID && hash != except {
				delete(m.sessions, hash)
			}
		}
		return nil
	})
}

func (m *memory) DeleteExpiredSessions(ctx context.Context, now time.Time) (n int, err error) {
	err = m.do(ctx, func() error {
		for hash, s := range m.sessions {
			if !now.Before(s.ExpiresAt) {
				delete(m.sessions, hash)
				n++
			}
		}
		return nil
	})
	return n, err
}

func (m *memory) AddAudit(ctx context.Context, e accounts.AuditEntry) error {
	return m.do(ctx, func() error {
		at, found := slices.BinarySearchFunc(m.audit, e.ID, func(e accounts.AuditEntry, id string) int { return strings.Compare(e.ID, id) })
		if found {
			return errors.New("the log holds this id already")
		}
		m.audit = slices.Insert(m.audit, at, e)
		return nil
	})
}

func (m *memory) Audit(ctx context.Context, q accounts.AuditQuery) (page accounts.AuditPage, err error) {
	if err := q.Check(); err != nil {
		return page, err
	}
	is := func(want, got string) bool { return want == "" || want == got }
	err = m.do(ctx, func() error {
		for _, e := range slices.Backward(m.audit) {
			if q.Cursor != "" && e.ID >= q.Cursor || !is(q.UserID, e.UserID) || !is(q.Action, e.Action) || !is(q.Target, e.Target) ||
				e.At.Before(q.From) || !q.To.IsZero() && !e.At.Before(q.To) {
				continue
			}
			if len(page.Items) == q.Size() {
				page.NextCursor = page.Items[len(page.Items)-1].ID
				return nil
			}
			page.Items = append(page.Items, e)
		}
		return nil
	})
	return page, err
}

func (m *memory) Version(ctx context.Context) (v int64, err error) {
	err = m.do(ctx, func() error { m.asked.Add(1); v = m.version; return nil })
	return v, err
}

func find[T any](in map[string]T, key string, out *T) error {
	found, ok := in[key]
	if !ok {
		return accounts.ErrNotFound
	}
	*out = found
	return nil
}

const (
	address  = "192.0.2.7"
	email    = "ada@example.org"
	password = "correct horse battery"
)

// cheap makes hashes that cost nothing, for tests that are about something else.
var cheap = &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}

type bundle struct {
	*accounts.Service
	store *memory
	user  accounts.User
}

// setup returns a service with one account.
func setup(t *testing.T) *bundle {
	t.Helper()
	b := empty(t)
	u, err := b.AddUser(t.Context(), email, "Ada", password, false)
	if err != nil {
		t.Fatal(err)
	}
	b.user = u
	return b
}

// empty returns a service that knows nobody.
func empty(t *testing.T) *bundle {
	t.Helper()
	store := newMemory()
	s := accounts.NewService(accounts.ServiceConfig{Store: store, HashParams: cheap, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(s.Close)
	return &bundle{Service: s, store: store}
}
