package sqlite

import (
	"testing"

	"filmroom/accounts"
	"filmroom/accounts/accountstest"
)

func TestAccounts(t *testing.T) {
	t.Parallel()
	accountstest.Test(t, accountstest.Harness{
		New: func(t testing.TB) accounts.Store { return open(t).Accounts() },
		Reopen: func(t testing.TB, old accounts.Store) accounts.Store {
			return reopen(t, old.(*accountStore).db).Accounts()
		},
		Contention: true,
	})
}
