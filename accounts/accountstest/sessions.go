package accountstest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"filmroom/accounts"
)

var sessionScenarios = []scenario{
	{"a session comes back whole until it expires", func(t *testing.T, s accounts.Store) {
		want := Session("hash", "ada", After(time.Hour))
		must(t, s.PutSession(t.Context(), want))
		got, err := s.Session(t.Context(), "hash", After(time.Hour-time.Millisecond))
		must(t, err)
		same(t, "session", got, want)
		_, err = s.Session(t.Context(), "hash", After(time.Hour))
		refused(t, "expired", err, accounts.ErrNotFound)
		_, err = s.Session(t.Context(), "other", Epoch)
		refused(t, "unknown", err, accounts.ErrNotFound)
	}},
	{"putting it again replaces all of it", func(t *testing.T, s accounts.Store) {
		must(t, s.PutSession(t.Context(), Session("hash", "", After(time.Hour))))
		want := accounts.Session{Hash: "hash", UserID: "ada", Data: []byte{1, 0, 2}, ExpiresAt: After(2 * time.Hour)}
		must(t, s.PutSession(t.Context(), want))
		got, err := s.Session(t.Context(), "hash", After(time.Hour))
		must(t, err)
		same(t, "session", got, want)
	}},
	{"deleting one that is gone already is no error", func(t *testing.T, s accounts.Store) {
		must(t, s.PutSession(t.Context(), Session("hash", "ada", After(time.Hour))))
		must(t, s.DeleteSession(t.Context(), "hash"))
		must(t, s.DeleteSession(t.Context(), "hash"))
		same(t, "left", left(t, s, "hash"), []string{})
	}},
	{"all sessions of a user end, or all but one", func(t *testing.T, s accounts.Store) {
		for _, hash := range []string{"one", "two", "three"} {
			must(t, s.PutSession(t.Context(), Session(hash, "ada", After(time.Hour))))
		}
		must(t, s.PutSession(t.Context(), Session("bob's", "bob", After(time.Hour))))
		must(t, s.PutSession(t.Context(), Session("nobody's", "", After(time.Hour))))
		must(t, s.DeleteSessions(t.Context(), "ada", "two"))
		same(t, "left", left(t, s, "one", "two", "three", "bob's", "nobody's"), []string{"two", "bob's", "nobody's"})
		must(t, s.DeleteSessions(t.Context(), "ada", ""))
		same(t, "left", left(t, s, "two", "bob's", "nobody's"), []string{"bob's", "nobody's"})
	}},
	{"the exception must be the user's own session", func(t *testing.T, s accounts.Store) {
		must(t, s.PutSession(t.Context(), Session("ada's", "ada", After(time.Hour))))
		must(t, s.PutSession(t.Context(), Session("bob's", "bob", After(time.Hour))))
		must(t, s.DeleteSessions(t.Context(), "ada", "bob's"))
		same(t, "left", left(t, s, "ada's", "bob's"), []string{"bob's"})
	}},
	{"expired ones are removed, the others stay", deletesExpired},
	{"nothing is written once the caller has gone", func(t *testing.T, s accounts.Store) {
		err := s.PutSession(cancelled(t), Session("hash", "ada", After(time.Hour)))
		refused(t, "put", err, context.Canceled)
		same(t, "left", left(t, s, "hash"), []string{})
	}},
}

func deletesExpired(t *testing.T, s accounts.Store) {
	for i := range 5 {
		must(t, s.PutSession(t.Context(), Session(fmt.Sprint("old", i), "ada", After(time.Duration(i)*time.Minute))))
	}
	must(t, s.PutSession(t.Context(), Session("young", "ada", After(time.Hour))))
	removed := 0
	for range 6 { // a bounded number at a time
		n, err := s.DeleteExpiredSessions(t.Context(), After(3*time.Minute))
		must(t, err)
		if removed += n; n == 0 {
			break
		}
	}
	same(t, "removed", removed, 4)
	same(t, "left", left(t, s, "old0", "old1", "old2", "old3", "old4", "young"), []string{"old4", "young"})
}

// left returns those of the sessions that were valid at the beginning of time and are still there.
func left(t testing.TB, s accounts.Store, hashes ...string) []string {
	t.Helper()
	var found []string
	for _, hash := range hashes {
		if _, err := s.Session(t.Context(), hash, time.UnixMilli(0)); err == nil {
			found = append(found, hash)
		}
	}
	return found
}
