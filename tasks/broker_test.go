package tasks

import (
	"fmt"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
)

// Late news of an end must be dropped, and yet ends cannot be remembered for ever.
func TestABrokerRemembersSoManyEndsAndNoMore(t *testing.T) {
	t.Parallel()
	b := newBroker(ulid.Make(), time.Now, func(*Task) {})
	sub := b.subscribe(Person{UserID: "ada"}, Scope{})
	defer sub.Close()
	task := func(i int, s Status, rev int64) Task {
		return Task{ID: fmt.Sprint(i), UserID: "ada", Status: s, Rev: rev}
	}
	for i := range 3 * rememberedEnds {
		b.publish(task(i, StatusFinished, 3))
	}
	if len(b.ended) > rememberedEnds {
		t.Errorf("%d ends are remembered, want %d at most", len(b.ended), rememberedEnds)
	}
	sub.Take()
	b.publish(task(3*rememberedEnds-1, StatusProcessing, 2))
	b.publish(task(3*rememberedEnds, StatusProcessing, 2))
	if updates, _ := sub.Take(); len(updates) != 1 || updates[0].Task.ID != fmt.Sprint(3*rememberedEnds) {
		t.Errorf("told %d updates, want none of the task that has ended and the other's", len(updates))
	}
}
