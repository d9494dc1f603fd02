package sqlite

import (
	"runtime"
	"testing"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

func TestAClaimTakesTheSlotOfAnEndThatIsStoredBesideIt(t *testing.T) {
	t.Parallel()
	db := open(t)
	s := db.Tasks()
	must(t, s.PutLane(t.Context(), tasks.Lane{Name: "import", Capacity: 1, Rev: 1}))
	for range 2 {
		_, err := s.Insert(t.Context(), taskstest.Queued())
		must(t, err)
	}
	claim := func() []tasks.Task {
		got, err := s.Claim(t.Context(), tasks.Claim{Lane: "import", Limit: 1, Now: taskstest.Epoch,
			Move: tasks.Claimed(taskstest.Lease(taskstest.Token, taskstest.Epoch), taskstest.Epoch)})
		if err != nil {
			t.Error(err)
		}
		return got
	}
	first := claim()
	if more := claim(); len(first) != 1 || len(more) != 0 {
		t.Fatalf("claimed %d and %d in a lane of one", len(first), len(more))
	}
	// A write that is under way lets the others come together: the claim first, then the end.
	begun, goOn := make(chan bool), make(chan bool)
	under, second := make(chan error), make(chan []tasks.Task)
	go func() {
		under <- db.write(t.Context(), func(*tx) error {
			close(begun)
			<-goOn
			return nil
		})
	}()
	<-begun
	go func() { second <- claim() }()
	for len(db.writer.queue) < 1 {
		runtime.Gosched()
	}
	go func() {
		_, err := s.Update(t.Context(), first[0], tasks.Finished(taskstest.Token, tasks.Outcome{}, taskstest.Epoch))
		under <- err
	}()
	for len(db.writer.queue) < 2 {
		runtime.Gosched()
	}
	close(goOn)
	if got := <-second; len(got) != 1 || got[0].ID == first[0].ID {
		t.Errorf("claimed %d tasks, want the second", len(got))
	}
	must(t, <-under)
	must(t, <-under)
}
