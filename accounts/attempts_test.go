package accounts

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alexedwards/argon2id"
	"golang.org/x/time/rate"
)

// Threat: a stranger who tries ever new addresses makes the desk remember them all.
func TestRememberedPairsAreBounded(t *testing.T) {
	t.Parallel()
	a := newAttempts(rate.Every(time.Minute), 1)
	now := time.Now()
	for i := range maxPairs + 100 {
		a.take(fmt.Sprint(i), now)
	}
	if len(a.byKey) != maxPairs || a.order.Len() != maxPairs {
		t.Errorf("%d and %d pairs are remembered, want %d", len(a.byKey), a.order.Len(), maxPairs)
	}
	if wait := a.take(fmt.Sprint(maxPairs+99), now); wait == 0 {
		t.Error("the newest pair was forgotten")
	}
	if wait := a.take("0", now); wait != 0 {
		t.Error("the oldest pair is still remembered")
	}
}

// Threat: an unknown account that is refused faster than a known one tells who has an account.
func TestTheDecoyCostsWhatARealHashCosts(t *testing.T) {
	t.Parallel()
	real, err := argon2id.CreateHash("correct horse battery", DefaultHashParams)
	if err != nil {
		t.Fatal(err)
	}
	decoy := decoyHash(DefaultHashParams)
	if len(decoy) != len(real) {
		t.Errorf("the decoy %q is not formed like %q", decoy, real)
	}
	params, salt, key, err := argon2id.DecodeHash(decoy)
	if err != nil {
		t.Fatal(err)
	}
	if *params != *DefaultHashParams || len(salt) != 16 || len(key) != 32 {
		t.Errorf("the decoy costs %+v", params)
	}
	h := newHasher(&argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	if ok, _, err := h.check(t.Context(), "", ""); ok || err != nil {
		t.Errorf("no password opens the decoy, but got %v, %v", ok, err)
	}
}

// Threat: a hundred sign-ins at once take a hundred times the memory of one.
func TestHashesWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHasher(DefaultHashParams)
		running, most, release := 0, 0, make(chan struct{})
		for range 10 {
			go h.inSlot(t.Context(), func() error {
				running++ // one bubble, and each blocks below: no two run at the same moment
				most = max(most, running)
				<-release
				running--
				return nil
			})
			synctest.Wait()
		}
		if most != parallelHashes {
			t.Errorf("%d ran at once, want %d", most, parallelHashes)
		}
		for range 10 {
			release <- struct{}{}
			synctest.Wait()
		}
	})
}
