package accounts_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"filmroom/accounts"
)

func TestAResetPasswordOpensTheDoorAndTheOldOneNoLonger(t *testing.T) {
	t.Parallel()
	b := setup(t)
	put(t, b, "one")
	given, err := b.ResetPassword(t.Context(), b.user.ID)
	if err != nil || len(given) < 20 {
		t.Fatalf("got %q, %v", given, err)
	}
	if _, err := b.SignIn(t.Context(), email, password, address); !errors.Is(err, accounts.ErrBadCredentials) {
		t.Errorf("the old password: %v", err)
	}
	if _, err := b.SignIn(t.Context(), email, given, address); err != nil {
		t.Errorf("the new password: %v", err)
	}
	if len(b.store.sessions) > 0 {
		t.Error("a session outlived the reset")
	}
	if again, err := b.ResetPassword(t.Context(), b.user.ID); err != nil || again == given {
		t.Errorf("the second reset gave %q again, %v", again, err)
	}
	if _, err := b.ResetPassword(t.Context(), "01NONE"); !errors.Is(err, accounts.ErrNotFound) {
		t.Errorf("of nobody: %v", err)
	}
}

func put(t *testing.T, b *bundle, hash string) {
	t.Helper()
	s := accounts.Session{Hash: hash, UserID: b.user.ID, ExpiresAt: time.Now().Add(time.Hour)}
	if err := b.store.PutSession(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func TestSignOutEverywhereEndsSessionsAndLeavesTokens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	put(t, b, "one")
	put(t, b, "two")
	_, text, err := b.CreateToken(t.Context(), b.user.ID, "laptop")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.SignOutEverywhere(t.Context(), b.user.ID); err != nil || len(b.store.sessions) > 0 {
		t.Errorf("%d sessions are left, %v", len(b.store.sessions), err)
	}
	if _, _, err := b.Authenticate(t.Context(), text); err != nil {
		t.Errorf("the token: %v", err)
	}
}

func TestAWebhookIsSetTakenAwayAndNeverTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const hook = "https://example.org/filmroom?key=42"
	first, err := b.SetWebhook(t.Context(), b.user.ID, " "+hook+"\n")
	if err != nil || !strings.HasPrefix(first, accounts.WebhookSecretPrefix) {
		t.Fatalf("secret %q, %v", first, err)
	}
	if url, secret, err := b.Webhook(t.Context(), b.user.ID); url != hook || secret != first || err != nil {
		t.Errorf("webhook is %q with %q, %v", url, secret, err)
	}
	user, err := b.User(t.Context(), b.user.ID)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := json.Marshal(user); strings.Contains(string(text), first) || strings.Contains(string(text), "key=42") {
		t.Errorf("the user's JSON tells: %s", text)
	}
	second, err := b.SetWebhook(t.Context(), b.user.ID, hook)
	if err != nil || second == first {
		t.Errorf("set again the secret is %q, %v; want another", second, err)
	}
	if err := b.Disable(t.Context(), b.user.ID); err != nil {
		t.Fatal(err)
	}
	if url, _, err := b.Webhook(t.Context(), b.user.ID); url != "" || err != nil {
		t.Errorf("of a disabled account: %q, %v", url, err)
	}
	if err := b.Enable(t.Context(), b.user.ID); err != nil {
		t.Fatal(err)
	}
	if secret, err := b.SetWebhook(t.Context(), b.user.ID, ""); secret != "" || err != nil {
		t.Errorf("taken away it has a secret %q, %v", secret, err)
	}
	if url, secret, err := b.Webhook(t.Context(), b.user.ID); url != "" || secret != "" || err != nil {
		t.Errorf("taken away it is %q with %q, %v", url, secret, err)
	}
}

func TestAddressesThatNoWebhookCanHave(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, wrong := range []string{
		"example.org", "/hook", "ftp://example.org", "file:///etc/passwd", "https://", "https:example.org", "https://ada:pw@example.org/",
		"https://example.org/#part", "https://example.org/\r\nHost: other", "https://exa mple.org", "https://[::1", "http://example.org:port/",
		"https://example.org/" + strings.Repeat("x", 2048),
	} {
		_, err := b.SetWebhook(t.Context(), b.user.ID, wrong)
		if invalid, ok := errors.AsType[*accounts.InvalidError](err); !ok || invalid.Field != "url" {
			t.Errorf("%q: %v, want it refused", wrong, err)
		}
	}
	if _, err := b.SetWebhook(t.Context(), "01NONE", "https://example.org"); !errors.Is(err, accounts.ErrNotFound) {
		t.Errorf("of nobody: %v", err)
	}
}

func TestWhatIsDoneIsNotedEvenWhenItsCallerHasGone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	b.Audit(gone, accounts.AuditEntry{UserID: "ada", Email: email, Action: accounts.ActExported, Target: "01TASK", Note: "two\nlines\x00", Address: address})
	b.Audit(t.Context(), accounts.AuditEntry{Email: "correct horse battery", Action: accounts.ActSignInFailed, Note: strings.Repeat("é", 1000)})
	page, err := b.AuditLog(t.Context(), accounts.AuditQuery{})
	if err != nil || len(page.Items) != 2 {
		t.Fatalf("%d entries, %v", len(page.Items), err)
	}
	failed, exported := page.Items[0], page.Items[1]
	if failed.ID <= exported.ID || failed.At.IsZero() || exported.At.IsZero() {
		t.Errorf("entries are not in order: %+v", page.Items)
	}
	if exported.Note != "two lines " || exported.Target != "01TASK" || exported.Address != address || exported.Email != email {
		t.Errorf("entry is %+v", exported)
	}
	if failed.Email != "" {
		t.Errorf("what is no address may be a password, yet the log holds %q", failed.Email)
	}
	if n := len([]rune(failed.Note)); n != 500 {
		t.Errorf("a long note has %d characters, want 500", n)
	}
}

func TestALogThatCannotBeWrittenFailsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.store.broken = errors.New("the disk is full")
	b.Audit(t.Context(), accounts.AuditEntry{UserID: "ada", Action: accounts.ActSignIn})
	b.store.broken = nil
	if page, err := b.AuditLog(t.Context(), accounts.AuditQuery{}); err != nil || len(page.Items) > 0 {
		t.Errorf("%d entries, %v", len(page.Items), err)
	}
	if _, err := b.AuditLog(t.Context(), accounts.AuditQuery{Cursor: "nonsense"}); !errors.Is(err, accounts.ErrCursor) {
		t.Errorf("a cursor that is none: %v", err)
	}
}
