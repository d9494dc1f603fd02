package accounts_test

import (
	"testing"

	"filmroom/accounts"
	"filmroom/accounts/accountstest"
)

// The fake of these tests keeps the promises that the policy rests on.
func TestTheFakeIsAStore(t *testing.T) {
	t.Parallel()
	accountstest.Test(t, accountstest.Harness{Contention: true, New: func(testing.TB) accounts.Store { return newMemory() }})
}
