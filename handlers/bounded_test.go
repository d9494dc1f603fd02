package handlers

import (
	"strconv"
	"testing"
	"time"
)

func TestMemoryOfPeopleIsBoundedHoweverManyCome(t *testing.T) {
	t.Parallel()
	r := newRations(1, 2)
	now := time.Unix(1e9, 0)
	for range 2 {
		r.take("regular", now)
	}
	for i := range 3 * maxRationed {
		r.take(strconv.Itoa(i), now)
		if i%maxRationed == maxRationed/2 { // comes back while others crowd in
			if ok, _, _, _ := r.take("regular", now); ok {
				t.Fatalf("after %d others a ration that was used up is whole again", i)
			}
		}
	}
	if n := len(r.young) + len(r.old); n > 2*maxRationed {
		t.Errorf("%d rations are remembered, want %d at most", n, 2*maxRationed)
	}
	c := newCountCache(nil, time.Now)
	for i := range 3 * maxCounted {
		c.entry(strconv.Itoa(i))
	}
	if n := len(c.byUser); n > maxCounted {
		t.Errorf("the counts of %d people are kept, want %d at most", n, maxCounted)
	}
}
