package accounts_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"filmroom/accounts"
)

func TestMain(m *testing.M) {
	// scs.New begins with a store in memory whose goroutine cannot be stopped without a race.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/alexedwards/scs/v2/memstore.(*MemStore).startCleanup"))
}

func ended(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// watching is a bundle with streams of one session, of another, and of a token.
type watching struct {
	*bundle
	token              accounts.Token
	here, there, byAPI <-chan struct{}
}

func watch(t *testing.T) *watching {
	t.Helper()
	b := setup(t)
	tok, _, err := b.CreateToken(t.Context(), b.user.ID, "nightly")
	if err != nil {
		t.Fatal(err)
	}
	add := func(c accounts.Credential) <-chan struct{} {
		ch, release := b.Watch().Add(c)
		t.Cleanup(release)
		return ch
	}
	w := &watching{bundle: b, token: tok}
	w.here = add(accounts.Credential{UserID: b.user.ID, SessionHash: accounts.SessionHash(signedIn(t, b, "here"))})
	w.there = add(accounts.Credential{UserID: b.user.ID, SessionHash: accounts.SessionHash(signedIn(t, b, "there"))})
	w.byAPI = add(accounts.Credential{UserID: b.user.ID, TokenID: tok.ID})
	time.Sleep(3 * time.Second) // of the bubble
	if ended(w.here) || ended(w.there) || ended(w.byAPI) {
		t.Fatal("a stream ended while its credential is valid")
	}
	return w
}

func TestStreamsEndWithTheirCredential(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do                 func(*testing.T, *watching) error
		here, there, byAPI bool
	}{
		"signing out ends the session's": {
			do:   func(t *testing.T, w *watching) error { return w.SessionStore().DeleteCtx(t.Context(), "here") },
			here: true,
		},
		"deleting a token ends the token's": {
			do:    func(t *testing.T, w *watching) error { return w.DeleteToken(t.Context(), w.user.ID, w.token.ID) },
			byAPI: true,
		},
		"disabling the account ends all": {
			do:   func(t *testing.T, w *watching) error { return w.Disable(t.Context(), w.user.ID) },
			here: true, there: true, byAPI: true,
		},
		"a new password ends the other sessions'": {
			do: func(t *testing.T, w *watching) error {
				return w.ChangePassword(t.Context(), w.user.ID, password, "a quite different phrase", accounts.SessionHash("here"))
			},
			there: true,
		},
		"another process signs out": {
			do: func(t *testing.T, w *watching) error {
				return w.store.DeleteSession(t.Context(), accounts.SessionHash("here"))
			},
			here: true,
		},
		"the session's time is over": {
			do:   func(*testing.T, *watching) error { time.Sleep(time.Hour); return nil },
			here: true, there: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := watch(t)
				if err := c.do(t, w); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if ended(w.here) != c.here || ended(w.there) != c.there || ended(w.byAPI) != c.byAPI {
					t.Errorf("ended: here %v, there %v, token %v; want %v, %v, %v",
						ended(w.here), ended(w.there), ended(w.byAPI), c.here, c.there, c.byAPI)
				}
			})
		})
	}
}

func TestWhatThisProcessEndsNeedsNoSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t)
		if err := w.SessionStore().DeleteCtx(t.Context(), "here"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !ended(w.here) {
			t.Error("the stream still waits for the next poll")
		}
	})
}

// A stream is opened after its credential was checked; what ended in between must not go unnoticed.
func TestAStreamOfACredentialThatHasEndedEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t)
		ch, release := w.Watch().Add(accounts.Credential{UserID: w.user.ID, SessionHash: accounts.SessionHash("gone")})
		defer release()
		time.Sleep(time.Second)
		synctest.Wait()
		if !ended(ch) {
			t.Error("it goes on")
		}
	})
}

func TestNobodyIsAskedWhileNoStreamIsOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		credential := accounts.Credential{UserID: b.user.ID, SessionHash: accounts.SessionHash(signedIn(t, b, "here"))}
		for range 2 {
			_, release := b.Watch().Add(credential)
			_, second := b.Watch().Add(credential)
			time.Sleep(2 * time.Second)
			release()
			release() // twice is once
			asked := b.store.asked.Load()
			time.Sleep(2 * time.Second)
			if b.store.asked.Load() == asked {
				t.Error("the second stream of the credential is not watched any more")
			}
			second()
			synctest.Wait()
			asked = b.store.asked.Load()
			time.Sleep(time.Minute)
			if b.store.asked.Load() != asked {
				t.Errorf("the store was asked %d times for nobody", b.store.asked.Load()-asked)
			}
		}
	})
}

func TestAStoreThatFailsEndsNoStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t)
		w.store.do(t.Context(), func() error { w.store.version++; return nil })
		w.store.mu.Lock()
		w.store.broken = errors.New("the disk is gone")
		w.store.mu.Unlock()
		time.Sleep(5 * time.Second)
		if ended(w.here) || ended(w.byAPI) {
			t.Error("a stream ended without anybody having said so")
		}
		w.store.mu.Lock()
		w.store.broken = nil
		delete(w.store.sessions, accounts.SessionHash("here"))
		w.store.mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		if !ended(w.here) {
			t.Error("what ended while the store failed was never noticed")
		}
	})
}

func TestCloseEndsStreamsAndTakesNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t)
		w.Close()
		w.Close()
		late, release := w.Watch().Add(accounts.Credential{UserID: w.user.ID, TokenID: w.token.ID})
		defer release()
		if !ended(w.here) || !ended(w.there) || !ended(w.byAPI) || !ended(late) {
			t.Error("a stream outlives the service")
		}
	})
}
