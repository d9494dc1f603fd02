package handlers

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestADoorkeeperLetsOneThroughAtATimeAndForgetsThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d doorkeeper
		leave, err := d.enter(t.Context(), "ada")
		if err != nil {
			t.Fatal(err)
		}
		other, err := d.enter(t.Context(), "bob")
		if err != nil {
			t.Fatal(err)
		}
		other()
		impatient, giveUp := context.WithCancel(t.Context())
		gaveUp, entered := make(chan error), make(chan func())
		go func() {
			_, err := d.enter(impatient, "ada")
			gaveUp <- err
		}()
		go func() {
			leave, _ := d.enter(t.Context(), "ada")
			entered <- leave
		}()
		synctest.Wait()
		giveUp()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Errorf("who gave up got %v", err)
		}
		select {
		case <-entered:
			t.Error("two were let in")
		default:
		}
		leave()
		(<-entered)()
		if len(d.doors) != 0 {
			t.Errorf("%d doors are remembered with nobody there", len(d.doors))
		}
	})
}
