package accounts_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/alexedwards/argon2id"

	"filmroom/accounts"
)

// Threat: administrators who disable or demote each other at the same moment lock everybody out.
func TestTheDeskAlwaysHasAnAdministrator(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for name, change := range map[string]accounts.UserChange{"disabled": {Disabled: &yes}, "demoted": {Admin: &no}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newMemory()
			var processes []*accounts.Service // each with its own lock, as the server and the command line
			for range 4 {
				s := accounts.NewService(accounts.ServiceConfig{Store: store, HashParams: &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 16}})
				t.Cleanup(s.Close)
				processes = append(processes, s)
			}
			var admins []accounts.User
			for _, email := range []string{"a@example.org", "b@example.org", "c@example.org", "d@example.org"} {
				u, err := processes[0].AddUser(t.Context(), email, "", password, true)
				if err != nil {
					t.Fatal(err)
				}
				admins = append(admins, u)
			}
			var all sync.WaitGroup
			for i, u := range admins {
				all.Go(func() {
					if err := processes[i].ChangeUser(t.Context(), u.ID, change); err != nil && !errors.Is(err, accounts.ErrLastAdmin) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			left, err := processes[0].Users(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var last accounts.User
			for _, u := range left {
				if u.Admin && !u.Disabled() {
					last = u
				}
			}
			if last.ID == "" {
				t.Fatal("nobody is left in charge")
			}
			for _, u := range left {
				if u.ID != last.ID {
					_ = processes[0].ChangeUser(t.Context(), u.ID, change) // may be refused only for want of others
				}
			}
			if err := processes[0].ChangeUser(t.Context(), last.ID, change); !errors.Is(err, accounts.ErrLastAdmin) {
				t.Errorf("the last one: %v", err)
			}
		})
	}
}
