package accounts

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/oklog/ulid/v2"
	"golang.org/x/time/rate"
)

// ServiceConfig says what a [Service] works with. Only Store must be set.
type ServiceConfig struct {
	Store  Store
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default; hears of what goes wrong behind a caller's back

	// Attempts to sign in to one account from one address: AttemptBurst at once (default 5), then one
	// each AttemptInterval (default 12 s).
	AttemptBurst    int
	AttemptInterval time.Duration

	// HashParams are the cost of a password hash; default [DefaultHashParams].
	HashParams *argon2id.Params
}

// A Service lets people in. Its methods may be called at once from many goroutines.
type Service struct {
	store    Store
	now      func() time.Time
	log      *slog.Logger
	hasher   *hasher
	attempts *attempts
	setup    setup
	sessions *SessionStore
	watch    *Watch
	updates  sync.Mutex // one read-change-write of an account at a time
}

// NewService returns a Service on a store.
func NewService(cfg ServiceConfig) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.AttemptBurst == 0 {
		cfg.AttemptBurst = 5
	}
	if cfg.AttemptInterval == 0 {
		cfg.AttemptInterval = 12 * time.Second
	}
	if cfg.HashParams == nil {
		cfg.HashParams = DefaultHashParams
	}
	s := &Service{
		store:    cfg.Store,
		now:      cfg.Now,
		log:      cfg.Logger,
		hasher:   newHasher(cfg.HashParams),
		attempts: newAttempts(rate.Every(cfg.AttemptInterval), cfg.AttemptBurst),
	}
	s.watch = newWatch(s)
	s.sessions = &SessionStore{service: s}
	return s
}

// Close ends every watched stream and waits for what the service does by itself. The store must still be
// open. Twice is fine.
func (s *Service) Close() { s.watch.close() }

// User returns the account with this id, or [ErrNotFound] when there is none that may be used.
func (s *Service) User(ctx context.Context, id string) (User, error) {
	u, err := s.store.User(ctx, id)
	if err != nil {
		return User{}, err
	}
	if u.Disabled() {
		return User{}, ErrNotFound
	}
	return u, nil
}

// UserByEmail finds an account by its address, also a disabled one, without regard to case.
func (s *Service) UserByEmail(ctx context.Context, email string) (User, error) {
	return s.store.UserByEmail(ctx, strings.TrimSpace(email))
}

// Users returns all accounts by e-mail, also disabled ones.
func (s *Service) Users(ctx context.Context) ([]User, error) { return s.store.Users(ctx) }

// AddUser makes an account. An [InvalidError] or [ErrEmailTaken] says what is wrong with what was given.
func (s *Service) AddUser(ctx context.Context, email, name, password string, admin bool) (User, error) {
	u, err := s.newUser(ctx, email, name, password, admin)
	if err != nil {
		return User{}, err
	}
	return u, s.store.AddUser(ctx, u)
}

func (s *Service) newUser(ctx context.Context, email, name, password string, admin bool) (User, error) {
	email, name = strings.TrimSpace(email), strings.TrimSpace(name)
	if err := checkUser(email, name, password); err != nil {
		return User{}, err
	}
	hash, err := s.hasher.hash(ctx, password)
	if err != nil {
		return User{}, err
	}
	now := millis(s.now())
	return User{
		ID:           ulid.MustNew(ulid.Timestamp(now), ulid.DefaultEntropy()).String(),
		Email:        email,
		Name:         name,
		Admin:        admin,
		PasswordHash: hash,
		CreatedAt:    now,
	}, nil
}

// A UserChange is what an administrator changes of an account; nil leaves what is.
type UserChange struct {
	Name     *string
	Admin    *bool
	Disabled *bool
}

// ChangeUser changes an account. [ErrLastAdmin] refuses what would leave the desk without an administrator who may use
// it. Disabling ends the account's sessions and their streams; its tasks and images stay. What is so already is no error.
func (s *Service) ChangeUser(ctx context.Context, userID string, c UserChange) error {
	if c.Name != nil {
		name := strings.TrimSpace(*c.Name)
		if err := checkName(name); err != nil {
			return err
		}
		c.Name = &name
	}
	if err := s.updateGuarded(ctx, userID, func(u *User) { c.apply(u, millis(s.now())) }); err != nil {
		return err
	}
	if c.Disabled != nil && *c.Disabled {
		return s.EndSessions(ctx, userID, "")
	}
	return nil
}

func (c UserChange) apply(u *User, now time.Time) {
	if c.Name != nil {
		u.Name = *c.Name
	}
	if c.Admin != nil {
		u.Admin = *c.Admin
	}
	switch {
	case c.Disabled == nil:
	case !*c.Disabled:
		u.DisabledAt = time.Time{}
	case !u.Disabled():
		u.DisabledAt = now
	}
}

// Disable ends an account's right to be used; see [Service.ChangeUser].
func (s *Service) Disable(ctx context.Context, userID string) error {
	yes := true
	return s.ChangeUser(ctx, userID, UserChange{Disabled: &yes})
}

// Enable lets a disabled account be used again.
func (s *Service) Enable(ctx context.Context, userID string) error {
	no := false
	return s.ChangeUser(ctx, userID, UserChange{Disabled: &no})
}

// ChangePassword replaces the password of somebody who knows the old one, and ends all their sessions but
// the one whose hash is keepSession. Wrong old passwords count as attempts to sign in.
func (s *Service) ChangePassword(ctx context.Context, userID, old, new, keepSession string) error {
	u, err := s.User(ctx, userID)
	if err != nil {
		return err
	}
	if err := checkPassword(u.Email, new); err != nil {
		return err
	}
	if err := s.prove(ctx, u, old, "password change"); err != nil {
		return err
	}
	hash, err := s.hasher.hash(ctx, new)
	if err != nil {
		return err
	}
	if err := s.update(ctx, userID, func(u *User) { u.PasswordHash = hash }); err != nil {
		return err
	}
	return s.EndSessions(ctx, userID, keepSession)
}

// update changes an account. The record is read anew, so that a change made meanwhile is not undone.
func (s *Service) update(ctx context.Context, userID string, change func(*User)) error {
	s.updates.Lock()
	defer s.updates.Unlock()
	u, err := s.store.User(ctx, userID)
	if err != nil {
		return err
	}
	change(&u)
	defer s.watch.look()
	return s.store.UpdateUser(ctx, u)
}

// updateGuarded changes an account unless that would leave no administrator. It looks before and, because another process
// may have done the same meanwhile, after the write, and takes it back then: of two at once at most one stays.
func (s *Service) updateGuarded(ctx context.Context, userID string, change func(*User)) error {
	s.updates.Lock()
	defer s.updates.Unlock()
	was, err := s.store.User(ctx, userID)
	if err != nil {
		return err
	}
	u := was
	change(&u)
	defer s.watch.look()
	if !inCharge(was) || inCharge(u) {
		return s.store.UpdateUser(ctx, u)
	}
	if err := s.anotherAdmin(ctx, userID); err != nil {
		return err
	}
	if err := s.store.UpdateUser(ctx, u); err != nil {
		return err
	}
	if err := s.anotherAdmin(ctx, userID); err != nil {
		return errors.Join(err, s.store.UpdateUser(context.WithoutCancel(ctx), was))
	}
	return nil
}

func inCharge(u User) bool { return u.Admin && !u.Disabled() }

// anotherAdmin is [ErrLastAdmin] when nobody but the user is in charge.
func (s *Service) anotherAdmin(ctx context.Context, userID string) error {
	all, err := s.store.Users(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(u User) bool { return u.ID != userID && inCharge(u) }) {
		return ErrLastAdmin
	}
	return nil
}

// EndSessions signs a user out everywhere, with the streams of those sessions, but for the session whose
// hash is except; "" keeps none.
func (s *Service) EndSessions(ctx context.Context, userID, except string) error {
	defer s.watch.look()
	return s.store.DeleteSessions(ctx, userID, except)
}

// Tokens returns a user's API tokens, oldest first.
func (s *Service) Tokens(ctx context.Context, userID string) ([]Token, error) {
	tokens, err := s.store.Tokens(ctx, userID)
	slices.SortFunc(tokens, func(a, b Token) int { return strings.Compare(a.ID, b.ID) })
	return tokens, err
}

// millis is how the stores keep times: UTC in whole milliseconds, so that both agree with ==.
func millis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
