package accountstest

import (
	"testing"
	"time"

	"filmroom/accounts"
)

var tokenScenarios = []scenario{
	{"a token comes back whole, by its hash and in its user's list", func(t *testing.T, s accounts.Store) {
		want := Token("ada", "laptop é")
		must(t, s.AddToken(t.Context(), want))
		got, err := s.TokenByHash(t.Context(), want.Hash)
		must(t, err)
		same(t, "by hash", got, want)
		same(t, "list", tokens(t, s, "ada"), []accounts.Token{want})
		same(t, "somebody else's list", tokens(t, s, "bob"), []accounts.Token{})
	}},
	{"a user has as many tokens as wanted, under any names", func(t *testing.T, s accounts.Store) {
		first, second := Token("ada", "same"), Token("ada", "same")
		must(t, s.AddToken(t.Context(), first))
		must(t, s.AddToken(t.Context(), second))
		must(t, s.AddToken(t.Context(), Token("bob", "same")))
		same(t, "ada's tokens", len(tokens(t, s, "ada")), 2)
	}},
	{"an unknown hash is not found", func(t *testing.T, s accounts.Store) {
		must(t, s.AddToken(t.Context(), Token("ada", "laptop")))
		for _, hash := range []string{"", "hash", "nonsense"} {
			_, err := s.TokenByHash(t.Context(), hash)
			refused(t, "hash "+hash, err, accounts.ErrNotFound)
		}
	}},
	{"a token is deleted by its user alone, and once", func(t *testing.T, s accounts.Store) {
		token := Token("ada", "laptop")
		must(t, s.AddToken(t.Context(), token))
		refused(t, "by somebody else", s.DeleteToken(t.Context(), "bob", token.ID), accounts.ErrNotFound)
		same(t, "list", tokens(t, s, "ada"), []accounts.Token{token})
		must(t, s.DeleteToken(t.Context(), "ada", token.ID))
		_, err := s.TokenByHash(t.Context(), token.Hash)
		refused(t, "by its hash", err, accounts.ErrNotFound)
		refused(t, "again", s.DeleteToken(t.Context(), "ada", token.ID), accounts.ErrNotFound)
	}},
	{"its last use is noted", func(t *testing.T, s accounts.Store) {
		want := Token("ada", "laptop")
		must(t, s.AddToken(t.Context(), want))
		want.LastUsedAt = time.Date(2026, 1, 2, 9, 30, 0, 0, time.UTC)
		must(t, s.TokenUsed(t.Context(), want.ID, want.LastUsedAt))
		same(t, "list", tokens(t, s, "ada"), []accounts.Token{want})
	}},
}

func tokens(t testing.TB, s accounts.Store, userID string) []accounts.Token {
	t.Helper()
	all, err := s.Tokens(t.Context(), userID)
	must(t, err)
	return all
}

var versionScenarios = []scenario{
	{"each ending of a right raises the version", func(t *testing.T, s accounts.Store) {
		ada, token := Added(t, s, "ada@example.org"), Token("ada", "laptop")
		must(t, s.AddToken(t.Context(), token))
		must(t, s.PutSession(t.Context(), Session("one", ada.ID, After(time.Hour))))
		must(t, s.PutSession(t.Context(), Session("two", ada.ID, After(time.Hour))))
		for _, c := range []struct {
			what string
			end  func() error
		}{
			{"a session that is deleted", func() error { return s.DeleteSession(t.Context(), "one") }},
			{"all sessions of a user", func() error { return s.DeleteSessions(t.Context(), ada.ID, "") }},
			{"a token that is deleted", func() error { return s.DeleteToken(t.Context(), "ada", token.ID) }},
			{"an account that changes", func() error {
				ada.DisabledAt = Epoch
				return s.UpdateUser(t.Context(), ada)
			}},
		} {
			before := version(t, s)
			must(t, c.end())
			if after := version(t, s); after <= before {
				t.Errorf("%s: version %d after, %d before", c.what, after, before)
			}
		}
	}},
	{"reading leaves the version", func(t *testing.T, s accounts.Store) {
		Added(t, s, "ada@example.org")
		before := version(t, s)
		emails(t, s)
		same(t, "version", version(t, s), before)
	}},
}

func version(t testing.TB, s accounts.Store) int64 {
	t.Helper()
	v, err := s.Version(t.Context())
	must(t, err)
	return v
}

func testReopened(t *testing.T, h Harness) {
	s := h.New(t)
	user := User("ada@example.org")
	must(t, s.AddFirstUser(t.Context(), user))
	token, session := Token(user.ID, "laptop"), Session("hash", user.ID, After(time.Hour))
	must(t, s.AddToken(t.Context(), token))
	must(t, s.PutSession(t.Context(), session))
	user.WebhookURL, user.WebhookSecret = "https://example.org/told", "frs_secret"
	must(t, s.UpdateUser(t.Context(), user))
	entry := noted(t, s, "ada", accounts.ActSignIn)
	before := version(t, s)

	s = h.Reopen(t, s)
	got, err := s.UserByEmail(t.Context(), user.Email)
	must(t, err)
	same(t, "user", got, user)
	same(t, "tokens", tokens(t, s, user.ID), []accounts.Token{token})
	held, err := s.Session(t.Context(), "hash", Epoch)
	must(t, err)
	same(t, "session", held, session)
	same(t, "audit log", audited(t, s, accounts.AuditQuery{}), []accounts.AuditEntry{entry})
	if after := version(t, s); after < before {
		t.Errorf("the version fell from %d to %d", before, after)
	}
	refused(t, "a second first", s.AddFirstUser(t.Context(), User("bob@example.org")), accounts.ErrNotFirst)
}
