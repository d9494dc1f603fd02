package accounts

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"sync"
)

// setup is the one-time right to make the first account. It lives in memory: a restart prints a new link.
type setup struct {
	mu    sync.Mutex
	token string
	done  bool // an account exists, and accounts are never deleted
}

// SetupToken returns the secret of the one-time set-up link while the desk has no account; needed is
// false from then on. The token stays the same for the life of the Service.
func (s *Service) SetupToken(ctx context.Context) (token string, needed bool, err error) {
	s.setup.mu.Lock()
	defer s.setup.mu.Unlock()
	if s.setup.done {
		return "", false, nil
	}
	has, err := s.store.HasUsers(ctx)
	if err != nil {
		return "", false, err
	}
	if has {
		s.setup.done, s.setup.token = true, ""
		return "", false, nil
	}
	if s.setup.token == "" {
		s.setup.token = rand.Text()
	}
	return s.setup.token, true, nil
}

// AddFirstUser makes the first account, an administrator's, for whoever holds the set-up link:
// [ErrSetupToken] when it is the wrong one, [ErrNotFirst] when somebody else was first.
func (s *Service) AddFirstUser(ctx context.Context, setupToken, email, name, password string) (User, error) {
	token, needed, err := s.SetupToken(ctx)
	if err != nil {
		return User{}, err
	}
	if !needed {
		return User{}, ErrNotFirst
	}
	if subtle.ConstantTimeCompare([]byte(setupToken), []byte(token)) != 1 {
		return User{}, ErrSetupToken
	}
	return s.addFirst(ctx, email, name, password)
}

// EnsureAdmin makes the first account, an administrator's, from the configuration; made is false when
// the desk has one already, which then stays as it is.
func (s *Service) EnsureAdmin(ctx context.Context, email, password string) (made bool, err error) {
	if _, needed, err := s.SetupToken(ctx); err != nil || !needed {
		return false, err
	}
	_, err = s.addFirst(ctx, email, "", password)
	if errors.Is(err, ErrNotFirst) {
		return false, nil
	}
	return err == nil, err
}

func (s *Service) addFirst(ctx context.Context, email, name, password string) (User, error) {
	u, err := s.newUser(ctx, email, name, password, true)
	if err != nil {
		return User{}, err
	}
	return u, s.store.AddFirstUser(ctx, u)
}
