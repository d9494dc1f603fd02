package accounts_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alexedwards/argon2id"

	"filmroom/accounts"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, c := range map[string]struct {
		email, password string
		want            error
	}{
		"the right password opens the account":        {email, password, nil},
		"the case of the address does not matter":     {"ADA@Example.org", password, nil},
		"spaces around the address do not matter":     {" " + email + " ", password, nil},
		"a wrong password is refused":                 {email, "wrong horse battery", accounts.ErrBadCredentials},
		"an unknown account is refused alike":         {"eve@example.org", password, accounts.ErrBadCredentials},
		"an empty password is refused":                {email, "", accounts.ErrBadCredentials},
		"an endless password is refused":              {email, strings.Repeat(password, 1000), accounts.ErrBadCredentials},
		"bytes that are no text are refused":          {email, "\xff\xfe", accounts.ErrBadCredentials},
		"an endless address is refused":               {strings.Repeat("a", 1<<20), password, accounts.ErrBadCredentials},
		"the zero account of the decoy has no secret": {"", "", accounts.ErrBadCredentials},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, err := b.SignIn(t.Context(), c.email, c.password, t.Name())
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err == nil && u.ID != b.user.ID {
				t.Errorf("signed in as %q, want %q", u.ID, b.user.ID)
			}
		})
	}
}

func TestSignInRefusesADisabledAccount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.Disable(t.Context(), b.user.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.SignIn(t.Context(), email, password, address); !errors.Is(err, accounts.ErrBadCredentials) {
		t.Errorf("got %v, want ErrBadCredentials", err)
	}
	if _, err := b.User(t.Context(), b.user.ID); !errors.Is(err, accounts.ErrNotFound) {
		t.Errorf("User gave %v, want ErrNotFound", err)
	}
	if err := b.Enable(t.Context(), b.user.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.SignIn(t.Context(), email, password, address); err != nil {
		t.Errorf("enabled again: %v", err)
	}
}

func TestSignInIsLimitedByPairOfAccountAndAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		try := func(email, password, addr string) error {
			_, err := b.SignIn(t.Context(), email, password, addr)
			return err
		}
		for range 5 {
			if err := try(email, "wrong", address); !errors.Is(err, accounts.ErrBadCredentials) {
				t.Fatalf("got %v, want ErrBadCredentials", err)
			}
		}
		err := try(strings.ToUpper(email), password, address)
		limited, ok := errors.AsType[*accounts.RateLimitedError](err)
		if !ok {
			t.Fatalf("the sixth attempt gave %v, want a RateLimitedError even for the right password", err)
		}
		if limited.RetryAfter <= 0 || limited.RetryAfter > 12*time.Second {
			t.Errorf("RetryAfter is %v, want up to 12 s", limited.RetryAfter)
		}
		if err := try(email, password, "192.0.2.8"); err != nil {
			t.Errorf("a colleague elsewhere is locked out: %v", err)
		}
		if err := try("bob@example.org", "wrong", address); !errors.Is(err, accounts.ErrBadCredentials) {
			t.Errorf("another account at the same address gave %v, want ErrBadCredentials", err)
		}
		time.Sleep(limited.RetryAfter) // of the bubble: passes at once
		if err := try(email, password, address); err != nil {
			t.Errorf("after RetryAfter: %v", err)
		}
	})
}

// A refused attempt must not push the next one further away, or waiting would never help.
func TestAttemptsThatAreRefusedCostNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		for range 100 {
			b.SignIn(t.Context(), email, "wrong", address)
		}
		time.Sleep(12 * time.Second)
		if _, err := b.SignIn(t.Context(), email, password, address); err != nil {
			t.Errorf("after the interval: %v", err)
		}
	})
}

func TestSigningInGivesTheAttemptsBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 20 {
		if _, err := b.SignIn(t.Context(), email, password, address); err != nil {
			t.Fatal(err)
		}
	}
}

// Threat: whoever has an IPv6 network has 2^64 addresses to guess from.
func TestAddressesOfOneIPv6NetworkCountAsOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 5 {
		b.SignIn(t.Context(), email, "wrong", fmt.Sprintf("2001:db8:0:1::%x", i))
	}
	_, err := b.SignIn(t.Context(), email, password, "2001:db8:0:1:ffff::")
	if _, ok := errors.AsType[*accounts.RateLimitedError](err); !ok {
		t.Errorf("got %v, want a RateLimitedError", err)
	}
	if _, err := b.SignIn(t.Context(), email, password, "2001:db8:0:2::1"); err != nil {
		t.Errorf("the next network: %v", err)
	}
}

func TestAPasswordIsTheSameHoweverItsAccentsAreTyped(t *testing.T) {
	t.Parallel()
	b := empty(t)
	if _, err := b.AddUser(t.Context(), email, "", "caf\u00e9 cr\u00e8me br\u00fbl\u00e9e", false); err != nil {
		t.Fatal(err)
	}
	if _, err := b.SignIn(t.Context(), email, "cafe\u0301 cre\u0300me bru\u0302le\u0301e", address); err != nil {
		t.Error(err)
	}
}

func TestSignInRenewsAHashOfAnotherCost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dearer := *cheap
	dearer.Memory *= 2
	s := accounts.NewService(accounts.ServiceConfig{Store: b.store, HashParams: &dearer})
	for range 2 {
		if _, err := s.SignIn(t.Context(), email, password, address); err != nil {
			t.Fatal(err)
		}
	}
	u, err := s.User(t.Context(), b.user.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, params, err := argon2id.CheckHash(password, u.PasswordHash); err != nil || *params != dearer {
		t.Errorf("the hash costs %+v (%v), want %+v", params, err, dearer)
	}
}

func TestAStoreThatFailsIsNotAWrongPassword(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.store.broken = errors.New("the disk is gone")
	if _, err := b.SignIn(t.Context(), email, password, address); !errors.Is(err, b.store.broken) {
		t.Errorf("got %v, want the store's error", err)
	}
}
