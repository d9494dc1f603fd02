package accountstest

import (
	"context"
	"slices"
	"testing"
	"time"

	"filmroom/accounts"
)

var auditScenarios = []scenario{
	{"an entry comes back whole", func(t *testing.T, s accounts.Store) {
		want := accounts.AuditEntry{
			ID: ID(), At: Epoch, UserID: "ada", Email: "Ada.Müller@example.org", Action: accounts.ActLaneChanged, Target: "import",
			Note: "capacity 2 → 4: \"a 'busy' day\" \\ <é>", Address: "2001:db8::7",
		}
		must(t, s.AddAudit(t.Context(), want))
		bare := accounts.AuditEntry{ID: ID(), At: After(time.Millisecond), Action: accounts.ActSignInFailed}
		must(t, s.AddAudit(t.Context(), bare))
		same(t, "log", audited(t, s, accounts.AuditQuery{}), []accounts.AuditEntry{bare, want})
	}},
	{"the newest comes first, in whatever order they were written", func(t *testing.T, s accounts.Store) {
		var want []accounts.AuditEntry
		for i := range 5 {
			want = append(want, accounts.AuditEntry{ID: ID(), At: After(time.Duration(i) * time.Second), UserID: "ada", Action: accounts.ActSignIn})
		}
		for _, i := range []int{3, 0, 4, 1, 2} {
			must(t, s.AddAudit(t.Context(), want[i]))
		}
		slices.Reverse(want)
		same(t, "log", audited(t, s, accounts.AuditQuery{}), want)
	}},
	{"what the log holds is never replaced", func(t *testing.T, s accounts.Store) {
		want := noted(t, s, "ada", accounts.ActExported)
		other := want
		other.UserID, other.Note = "bob", "it was me"
		if err := s.AddAudit(t.Context(), other); err == nil {
			t.Error("an entry took the place of another")
		}
		same(t, "log", audited(t, s, accounts.AuditQuery{}), []accounts.AuditEntry{want})
	}},
	{"each filter holds, alone and with others", filtersAudit},
	{"pages follow each other without a gap while entries are added", pagesAudit},
	{"a page is bounded, whatever is asked for", func(t *testing.T, s accounts.Store) {
		for range accounts.MaxAuditPage + 1 {
			noted(t, s, "ada", accounts.ActSignIn)
		}
		for limit, want := range map[int]int{0: 100, -1: 100, 7: 7, accounts.MaxAuditPage: accounts.MaxAuditPage, 1 << 30: accounts.MaxAuditPage} {
			page, err := s.Audit(t.Context(), accounts.AuditQuery{Limit: limit})
			must(t, err)
			if len(page.Items) != want || page.NextCursor == "" {
				t.Errorf("limit %d gave %d items (next %q), want %d and more to come", limit, len(page.Items), page.NextCursor, want)
			}
		}
	}},
	{"a cursor that is none is refused", func(t *testing.T, s accounts.Store) {
		noted(t, s, "ada", accounts.ActSignIn)
		for _, cursor := range []string{"1", "nonsense", "' or 1=1 --", "01KDYG0000000000000000000!"} {
			_, err := s.Audit(t.Context(), accounts.AuditQuery{Cursor: cursor})
			refused(t, "cursor "+cursor, err, accounts.ErrCursor)
		}
	}},
	{"a change of the log leaves the version", func(t *testing.T, s accounts.Store) {
		before := version(t, s)
		noted(t, s, "ada", accounts.ActSignIn)
		same(t, "version", version(t, s), before)
	}},
	{"nothing is written once the caller has gone", func(t *testing.T, s accounts.Store) {
		err := s.AddAudit(cancelled(t), accounts.AuditEntry{ID: ID(), At: Epoch, Action: accounts.ActSignIn})
		refused(t, "add", err, context.Canceled)
		same(t, "log", audited(t, s, accounts.AuditQuery{}), []accounts.AuditEntry{})
	}},
}

func filtersAudit(t *testing.T, s accounts.Store) {
	add := func(user, action, target string, at time.Duration) accounts.AuditEntry {
		e := accounts.AuditEntry{ID: ID(), At: After(at), UserID: user, Action: action, Target: target}
		must(t, s.AddAudit(t.Context(), e))
		return e
	}
	a := add("ada", accounts.ActSignIn, "", 0)
	b := add("ada", accounts.ActExported, "task-1", time.Minute)
	c := add("bob", accounts.ActExported, "task-2", 2*time.Minute)
	d := add("bob", accounts.ActSeriesViewed, "task-1", 3*time.Minute)
	for name, c := range map[string]struct {
		q    accounts.AuditQuery
		want []accounts.AuditEntry
	}{
		"everything":        {accounts.AuditQuery{}, []accounts.AuditEntry{d, c, b, a}},
		"a user":            {accounts.AuditQuery{UserID: "ada"}, []accounts.AuditEntry{b, a}},
		"an action":         {accounts.AuditQuery{Action: accounts.ActExported}, []accounts.AuditEntry{c, b}},
		"a target":          {accounts.AuditQuery{Target: "task-1"}, []accounts.AuditEntry{d, b}},
		"from, inclusive":   {accounts.AuditQuery{From: After(2 * time.Minute)}, []accounts.AuditEntry{d, c}},
		"to, exclusive":     {accounts.AuditQuery{To: After(2 * time.Minute)}, []accounts.AuditEntry{b, a}},
		"between":           {accounts.AuditQuery{From: After(time.Minute), To: After(3 * time.Minute)}, []accounts.AuditEntry{c, b}},
		"user and action":   {accounts.AuditQuery{UserID: "bob", Action: accounts.ActExported}, []accounts.AuditEntry{c}},
		"user and target":   {accounts.AuditQuery{UserID: "bob", Target: "task-1"}, []accounts.AuditEntry{d}},
		"action and target": {accounts.AuditQuery{Action: accounts.ActExported, Target: "task-1"}, []accounts.AuditEntry{b}},
		"all of them": {accounts.AuditQuery{UserID: "bob", Action: accounts.ActExported, Target: "task-2", From: After(0), To: After(time.Hour)},
			[]accounts.AuditEntry{c}},
		"nobody": {accounts.AuditQuery{UserID: "eve"}, []accounts.AuditEntry{}},
	} {
		same(t, name, audited(t, s, c.q), c.want)
	}
}

func pagesAudit(t *testing.T, s accounts.Store) {
	var want []accounts.AuditEntry
	for i := range 12 {
		user := "ada"
		if i%3 == 0 {
			user = "bob"
		}
		if e := noted(t, s, user, accounts.ActDownloaded); user == "ada" {
			want = append(want, e)
		}
	}
	slices.Reverse(want)
	var got []accounts.AuditEntry
	q := accounts.AuditQuery{UserID: "ada", Limit: 3}
	for range 10 {
		page, err := s.Audit(t.Context(), q)
		must(t, err)
		got = append(got, page.Items...)
		noted(t, s, "ada", accounts.ActDownloaded)
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			break
		}
	}
	same(t, "all pages", got, want)
	same(t, "the end", q.Cursor, "")
}

// noted appends an entry and returns it.
func noted(t testing.TB, s accounts.Store, userID, action string) accounts.AuditEntry {
	t.Helper()
	e := accounts.AuditEntry{ID: ID(), At: Epoch, UserID: userID, Email: userID + "@example.org", Action: action, Target: "01TASK", Address: "192.0.2.7"}
	must(t, s.AddAudit(t.Context(), e))
	return e
}

// audited returns the first page of a query.
func audited(t testing.TB, s accounts.Store, q accounts.AuditQuery) []accounts.AuditEntry {
	t.Helper()
	page, err := s.Audit(t.Context(), q)
	must(t, err)
	return page.Items
}
