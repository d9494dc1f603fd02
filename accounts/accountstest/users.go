package accountstest

import (
	"context"
	"testing"
	"time"

	"filmroom/accounts"
)

var userScenarios = []scenario{
	{"an account comes back whole, by its id and by its address in any case", func(t *testing.T, s accounts.Store) {
		want := User("Ada.Müller@Example.org", func(u *accounts.User) {
			u.Admin, u.DisabledAt = true, After(time.Hour)
			u.WebhookURL, u.WebhookSecret = "https://example.org/told", "frs_secret"
		})
		must(t, s.AddUser(t.Context(), want))
		got, err := s.User(t.Context(), want.ID)
		must(t, err)
		same(t, "by id", got, want)
		for _, email := range []string{want.Email, "ada.müller@example.org", "ADA.MÜLLER@EXAMPLE.ORG"} {
			got, err := s.UserByEmail(t.Context(), email)
			must(t, err)
			same(t, "by "+email, got, want)
		}
	}},
	{"an address belongs to one account, in any case", func(t *testing.T, s accounts.Store) {
		Added(t, s, "ada@example.org")
		refused(t, "the same address", s.AddUser(t.Context(), User("ada@example.org")), accounts.ErrEmailTaken)
		refused(t, "in capitals", s.AddUser(t.Context(), User("ADA@example.org")), accounts.ErrEmailTaken)
		same(t, "accounts", emails(t, s), []string{"ada@example.org"})
	}},
	{"unknown accounts are not found", func(t *testing.T, s accounts.Store) {
		Added(t, s, "ada@example.org")
		for _, unknown := range []string{"", "01NONE", ".*", "ada@example.or", "da@example.org", "%"} {
			_, err := s.User(t.Context(), unknown)
			refused(t, "id "+unknown, err, accounts.ErrNotFound)
			_, err = s.UserByEmail(t.Context(), unknown)
			refused(t, "address "+unknown, err, accounts.ErrNotFound)
		}
		refused(t, "update", s.UpdateUser(t.Context(), User("bob@example.org")), accounts.ErrNotFound)
		same(t, "accounts", emails(t, s), []string{"ada@example.org"})
	}},
	{"accounts are listed by address", func(t *testing.T, s accounts.Store) {
		same(t, "none", emails(t, s), []string{})
		for _, email := range []string{"carol@example.org", "Bob@example.org", "ada@example.org"} {
			Added(t, s, email)
		}
		same(t, "accounts", emails(t, s), []string{"ada@example.org", "Bob@example.org", "carol@example.org"})
	}},
	{"the first account is made only while there is none", func(t *testing.T, s accounts.Store) {
		hasUsers(t, s, false)
		first := User("ada@example.org")
		must(t, s.AddFirstUser(t.Context(), first))
		hasUsers(t, s, true)
		refused(t, "a second first", s.AddFirstUser(t.Context(), User("bob@example.org")), accounts.ErrNotFirst)
		refused(t, "the same again", s.AddFirstUser(t.Context(), first), accounts.ErrNotFirst)
		Added(t, s, "carol@example.org")
		same(t, "accounts", emails(t, s), []string{"ada@example.org", "carol@example.org"})
	}},
	{"an account that was added stands in the way of a first one, even when disabled", func(t *testing.T, s accounts.Store) {
		must(t, s.AddUser(t.Context(), User("ada@example.org", func(u *accounts.User) { u.DisabledAt = Epoch })))
		hasUsers(t, s, true)
		refused(t, "first", s.AddFirstUser(t.Context(), User("bob@example.org")), accounts.ErrNotFirst)
	}},
	{"an update replaces what may change and nothing else", updatesUser},
	{"an update cannot take somebody else's address, but may respell one's own", func(t *testing.T, s accounts.Store) {
		Added(t, s, "ada@example.org")
		bob := Added(t, s, "bob@example.org")
		bob.Email = "ADA@example.org"
		refused(t, "ada's address", s.UpdateUser(t.Context(), bob), accounts.ErrEmailTaken)
		bob.Email = "BOB@example.org"
		must(t, s.UpdateUser(t.Context(), bob))
		same(t, "accounts", emails(t, s), []string{"ada@example.org", "BOB@example.org"})
	}},
	{"an address that was given up is free again", func(t *testing.T, s accounts.Store) {
		ada := Added(t, s, "ada@example.org")
		ada.Email = "countess@example.org"
		must(t, s.UpdateUser(t.Context(), ada))
		Added(t, s, "ada@example.org")
	}},
	{"nothing is written once the caller has gone", func(t *testing.T, s accounts.Store) {
		refused(t, "add", s.AddUser(cancelled(t), User("ada@example.org")), context.Canceled)
		hasUsers(t, s, false)
	}},
}

func updatesUser(t *testing.T, s accounts.Store) {
	stored := Added(t, s, "ada@example.org")
	other := Added(t, s, "bob@example.org")
	changed := accounts.User{
		ID: stored.ID, Email: "countess@example.org", Name: "Countess", Admin: true, PasswordHash: "$argon2id$new",
		DisabledAt: After(time.Minute), CreatedAt: After(time.Hour),
		WebhookURL: "https://example.org/told?of=é", WebhookSecret: "frs_secret",
	}
	must(t, s.UpdateUser(t.Context(), changed))
	want := changed
	want.CreatedAt = stored.CreatedAt
	got, err := s.User(t.Context(), stored.ID)
	must(t, err)
	same(t, "changed account", got, want)

	want.Admin, want.DisabledAt, want.Name, want.WebhookURL, want.WebhookSecret = false, time.Time{}, "", "", ""
	must(t, s.UpdateUser(t.Context(), want))
	got, err = s.UserByEmail(t.Context(), "COUNTESS@example.org")
	must(t, err)
	same(t, "changed back", got, want)
	got, err = s.User(t.Context(), other.ID)
	must(t, err)
	same(t, "the other account", got, other)
}

var contended = []scenario{
	{"of many first accounts at once one succeeds", func(t *testing.T, s accounts.Store) {
		errs := atOnce(16, func(int) error { return s.AddFirstUser(t.Context(), User(ID()+"@example.org")) })
		one(t, errs, accounts.ErrNotFirst)
		same(t, "accounts", len(emails(t, s)), 1)
	}},
	{"of many accounts with one address at once one succeeds", func(t *testing.T, s accounts.Store) {
		errs := atOnce(16, func(int) error { return s.AddUser(t.Context(), User("ada@example.org")) })
		one(t, errs, accounts.ErrEmailTaken)
		same(t, "accounts", len(emails(t, s)), 1)
	}},
	{"every one of many changes at once raises the version", func(t *testing.T, s accounts.Store) {
		ada := Added(t, s, "ada@example.org")
		before := version(t, s)
		for _, err := range atOnce(16, func(int) error { return s.UpdateUser(t.Context(), ada) }) {
			must(t, err)
		}
		if after := version(t, s); after <= before {
			t.Errorf("version %d after, %d before", after, before)
		}
	}},
}

// one fails unless exactly one of errs is nil and the others are other.
func one(t *testing.T, errs []error, other error) {
	t.Helper()
	n := 0
	for _, err := range errs {
		if err == nil {
			n++
			continue
		}
		refused(t, "a loser", err, other)
	}
	same(t, "winners", n, 1)
}

func hasUsers(t *testing.T, s accounts.Store, want bool) {
	t.Helper()
	got, err := s.HasUsers(t.Context())
	must(t, err)
	same(t, "has users", got, want)
}

func emails(t *testing.T, s accounts.Store) []string {
	t.Helper()
	all, err := s.Users(t.Context())
	must(t, err)
	var list []string
	for _, u := range all {
		list = append(list, u.Email)
	}
	return list
}
