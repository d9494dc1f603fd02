package accounts_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"filmroom/accounts"
)

func TestAddUserSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, c := range map[string]struct{ email, name, password, field string }{
		"no address":                     {"", "", password, "email"},
		"an address without a host":      {"bob", "", password, "email"},
		"an address with a display name": {"Bob <bob@example.org>", "", password, "email"},
		"an address of two lines":        {"bob@example.org\r\nBcc: eve@example.org", "", password, "email"},
		"a very long address":            {strings.Repeat("b", 250) + "@example.org", "", password, "email"},
		"a very long name":               {"bob@example.org", strings.Repeat("b", 201), password, "name"},
		"a name that is no text":         {"bob@example.org", "\xff", password, "name"},
		"a short password":               {"bob@example.org", "", "123456789", "password"},
		"a password of one letter":       {"bob@example.org", "", "aaaaaaaaaaaaaaaa", "password"},
		"the address as password":        {"bob@example.org", "", "BOB@example.org", "password"},
		"a password without an end":      {"bob@example.org", "", strings.Repeat("abcd", 257), "password"},
		"a password that is no text":     {"bob@example.org", "", "correct horse \xff", "password"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := b.AddUser(t.Context(), c.email, c.name, c.password, false)
			invalid, ok := errors.AsType[*accounts.InvalidError](err)
			if !ok || invalid.Field != c.field {
				t.Errorf("got %v, want an InvalidError for %s", err, c.field)
			}
		})
	}
	if _, err := b.AddUser(t.Context(), strings.ToUpper(email), "", password, false); !errors.Is(err, accounts.ErrEmailTaken) {
		t.Errorf("a taken address gave %v, want ErrEmailTaken", err)
	}
}

func TestAUserIsKeptAsGivenAndWithoutThePassword(t *testing.T) {
	t.Parallel()
	b := empty(t)
	made, err := b.AddUser(t.Context(), " Grace@Example.org ", "Grace Hopper", password, true)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := b.User(t.Context(), made.ID)
	if err != nil || kept != made {
		t.Fatalf("got %+v, %v, want %+v", kept, err, made)
	}
	if kept.Email != "Grace@Example.org" || kept.Name != "Grace Hopper" || !kept.Admin || kept.CreatedAt.IsZero() {
		t.Errorf("got %+v", kept)
	}
	if !strings.HasPrefix(kept.PasswordHash, "$argon2id$v=19$") {
		t.Errorf("the password is kept as %q", kept.PasswordHash)
	}
}

func TestTheFirstUserNeedsTheLinkAndIsAdministrator(t *testing.T) {
	t.Parallel()
	b := empty(t)
	ctx := t.Context()
	token, needed, err := b.SetupToken(ctx)
	if err != nil || !needed || len(token) < 20 {
		t.Fatalf("got %q, %v, %v", token, needed, err)
	}
	if again, _, _ := b.SetupToken(ctx); again != token {
		t.Error("the link changes while it is shown")
	}
	for _, wrong := range []string{"", "x", token + "x", token[1:]} {
		if _, err := b.AddFirstUser(ctx, wrong, email, "", password); !errors.Is(err, accounts.ErrSetupToken) {
			t.Errorf("token %q gave %v, want ErrSetupToken", wrong, err)
		}
	}
	if _, err := b.AddFirstUser(ctx, token, email, "", "short"); err == nil {
		t.Error("a short password was taken")
	}
	u, err := b.AddFirstUser(ctx, token, email, "Ada", password)
	if err != nil || !u.Admin {
		t.Fatalf("got %+v, %v", u, err)
	}
	if _, err := b.AddFirstUser(ctx, token, "eve@example.org", "", password); !errors.Is(err, accounts.ErrNotFirst) {
		t.Errorf("the link was used twice: %v", err)
	}
	if token, needed, err := b.SetupToken(ctx); token != "" || needed || err != nil {
		t.Errorf("with an account there is still a link: %q, %v, %v", token, needed, err)
	}
}

func TestOfTwoFirstUsersOneWins(t *testing.T) {
	t.Parallel()
	b := empty(t)
	token, _, err := b.SetupToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { _, errs[i] = b.AddFirstUser(t.Context(), token, email, "", password) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, accounts.ErrNotFirst) {
			t.Errorf("a loser got %v, want ErrNotFirst", err)
		}
	}
	if won != 1 {
		t.Errorf("%d were first", won)
	}
}

func TestEnsureAdminMakesOnlyTheFirstAccount(t *testing.T) {
	t.Parallel()
	b := empty(t)
	for i, want := range []bool{true, false} {
		made, err := b.EnsureAdmin(t.Context(), email, password)
		if err != nil || made != want {
			t.Fatalf("start %d: got %v, %v, want %v", i+1, made, err, want)
		}
	}
	if u, err := b.SignIn(t.Context(), email, password, address); err != nil || !u.Admin {
		t.Errorf("got %+v, %v", u, err)
	}
	if _, err := empty(t).EnsureAdmin(t.Context(), email, "short"); err == nil {
		t.Error("a short password was taken")
	}
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	const changed = "a quite different phrase"
	if err := b.ChangePassword(ctx, b.user.ID, "wrong", changed, ""); !errors.Is(err, accounts.ErrBadCredentials) {
		t.Fatalf("a wrong old password gave %v, want ErrBadCredentials", err)
	}
	if err := b.ChangePassword(ctx, b.user.ID, password, "short", ""); err == nil {
		t.Fatal("a short password was taken")
	}
	here, there := signedIn(t, b, "here"), signedIn(t, b, "there")
	if err := b.ChangePassword(ctx, b.user.ID, password, changed, accounts.SessionHash(here)); err != nil {
		t.Fatal(err)
	}
	if _, found, _ := b.SessionStore().FindCtx(ctx, here); !found {
		t.Error("the session that changed it ended too")
	}
	if _, found, _ := b.SessionStore().FindCtx(ctx, there); found {
		t.Error("another session goes on with the old password")
	}
	if _, err := b.SignIn(ctx, email, password, address); !errors.Is(err, accounts.ErrBadCredentials) {
		t.Errorf("the old password gave %v, want ErrBadCredentials", err)
	}
	if _, err := b.SignIn(ctx, email, changed, address); err != nil {
		t.Errorf("the new password: %v", err)
	}
}

// Threat: who finds an unlocked browser guesses the old password there.
func TestGuessingTheOldPasswordIsLimited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 5 {
		b.ChangePassword(t.Context(), b.user.ID, "wrong", "a quite different phrase", "")
	}
	err := b.ChangePassword(t.Context(), b.user.ID, password, "a quite different phrase", "")
	if _, ok := errors.AsType[*accounts.RateLimitedError](err); !ok {
		t.Errorf("got %v, want a RateLimitedError", err)
	}
}
