package accountstest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"filmroom/accounts"
)

// Epoch is the moment at which tests begin.
var Epoch = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

// After is the moment d after [Epoch].
func After(d time.Duration) time.Time { return Epoch.Add(d) }

var ids atomic.Int64

// ID returns a new id that looks like a ULID. Ids rise in the order in which they are made.
func ID() string { return fmt.Sprintf("01KDYG%020d", ids.Add(1)) }

// User returns an account with an address, changed by edits. It is not stored.
func User(email string, edits ...func(*accounts.User)) accounts.User {
	u := accounts.User{
		ID: ID(), Email: email, Name: "Ada O'Brien <é>", PasswordHash: "$argon2id$v=19$m=1,t=1,p=1$c2FsdA$aGFzaA", CreatedAt: Epoch,
	}
	for _, edit := range edits {
		edit(&u)
	}
	return u
}

// Added stores an account and returns it.
func Added(t testing.TB, s accounts.Store, email string) accounts.User {
	t.Helper()
	u := User(email)
	must(t, s.AddUser(t.Context(), u))
	return u
}

// Token returns a token of a user. It is not stored.
func Token(userID, name string) accounts.Token {
	id := ID()
	return accounts.Token{ID: id, UserID: userID, Name: name, Hash: "hash-" + id, CreatedAt: Epoch}
}

// Session returns a session of a user that expires at a moment. It is not stored.
func Session(hash, userID string, expires time.Time) accounts.Session {
	return accounts.Session{Hash: hash, UserID: userID, Data: []byte("data\x00\xff of " + hash), ExpiresAt: expires}
}

// same fails unless got is want, where no elements and nil are the same.
func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: want -, got +\n%s", what, diff)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused fails unless err is want.
func refused(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

// cancelled returns a context that has ended already.
func cancelled(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// atOnce runs f(0) to f(n-1) together and returns their errors, in order.
func atOnce(n int, f func(int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}
