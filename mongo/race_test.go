package mongo

import (
	"context"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"filmroom/imaging"
	"filmroom/imaging/imagingtest"
	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

// justBefore opens a database as a process to which something happens just before it sends its first command
// of a kind to a collection.
func justBefore(t *testing.T, name, command, collection string, happens func()) *DB {
	t.Helper()
	var once sync.Once
	return open(t, name, func(o *Options) {
		o.configure = func(c *options.ClientOptions) {
			c.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
				if to, _ := e.Command.Lookup(command).StringValueOK(); to == collection {
					once.Do(happens)
				}
			}})
		}
	})
}

// arrivesWhile takes an instance in while something happens just before a command.
func arrivesWhile(t *testing.T, command, collection string, happens func(s *Imaging, library string)) (imaging.Receipt, *Imaging, string) {
	t.Helper()
	db := setup(t)
	s := db.Imaging()
	l := imagingtest.Library(t, s)
	imagingtest.Arrive(t, s, l, "task-0", imagingtest.Arrival(0, "1.1", "1.1.0"))
	slow := justBefore(t, db.name, command, collection, func() { happens(s, l) })
	rows := imagingtest.Arrive(t, slow.Imaging(), l, "task-1", imagingtest.Arrival(0, "1.1", "1.1.1"))
	return rows[0], s, l
}

func TestACountThatSawFewerInstancesNeverStands(t *testing.T) {
	t.Parallel()
	_, s, l := arrivesWhile(t, "update", "series", func(s *Imaging, l string) {
		imagingtest.Arrive(t, s, l, "task-2", imagingtest.Arrival(0, "1.1", "1.1.2"))
	})
	if n := instancesBySeries(t, s, l)["1.1"]; n != 3 { // which compares with the count
		t.Errorf("%d instances, want 3", n)
	}
}

func TestAnInstanceWhoseSeriesIsDeletedMeanwhileIsInANewOne(t *testing.T) {
	t.Parallel()
	for _, step := range []struct{ command, collection string }{
		{"insert", "instances"}, {"aggregate", "instances"}, {"update", "series"},
	} {
		row, s, l := arrivesWhile(t, step.command, step.collection, func(s *Imaging, l string) {
			if err := s.DeleteSeries(t.Context(), l, seriesID(t, s, l, "1.1")); err != nil {
				t.Error(err)
			}
		})
		if n := instancesBySeries(t, s, l)["1.1"]; n != 1 || row.Outcome != imaging.Imported {
			t.Errorf("deleted before its %s of %s: %s, %d instances, want it imported and alone",
				step.command, step.collection, row.Outcome, n)
		}
	}
}

func TestAnInstanceThatAnotherImportBringsMeanwhileIsADuplicate(t *testing.T) {
	t.Parallel()
	row, s, l := arrivesWhile(t, "insert", "instances", func(s *Imaging, l string) {
		imagingtest.Arrive(t, s, l, "task-2", imagingtest.Arrival(7, "1.1", "1.1.1"))
	})
	if n := instancesBySeries(t, s, l)["1.1"]; n != 2 || row.Outcome != imaging.Duplicate {
		t.Errorf("%s, %d instances, want a duplicate and 2", row.Outcome, n)
	}
}

func TestAMoveThatIsOvertakenIsTriedOnWhatIsThereNow(t *testing.T) {
	t.Parallel()
	db := setup(t)
	task, err := db.Tasks().Insert(t.Context(), taskstest.Queued())
	did(t, err)
	slow := justBefore(t, db.name, "update", "tasks", func() {
		_, err := db.Tasks().Update(t.Context(), task, tasks.Reprioritised("", 7, taskstest.Epoch))
		if err != nil {
			t.Error(err)
		}
	})
	got, err := slow.Tasks().Update(t.Context(), task, tasks.PausedBy("", taskstest.Epoch))
	did(t, err)
	if got.Priority != 7 || got.Status != tasks.StatusPaused || len(got.Journal) != 3 {
		t.Errorf("priority %d, %s, %d rows of journal: a move is lost", got.Priority, got.Status, len(got.Journal))
	}
}

func TestAClaimThatIsOvertakenTakesTheNextTask(t *testing.T) {
	t.Parallel()
	db := setup(t)
	s := db.Tasks()
	did(t, s.PutLane(t.Context(), tasks.Lane{Name: "import", Capacity: 2, Rev: 1}))
	claim := func(s *Tasks, token string) tasks.Task {
		m := tasks.Claimed(taskstest.Lease(token, taskstest.Epoch), taskstest.Epoch)
		got, err := s.Claim(t.Context(), tasks.Claim{Lane: "import", Limit: 1, Now: taskstest.Epoch, Move: m})
		if err != nil || len(got) != 1 {
			t.Errorf("claim under %s: %d tasks, error %v, want one", token, len(got), err)
			return tasks.Task{}
		}
		return got[0]
	}
	for range 2 {
		_, err := s.Insert(t.Context(), taskstest.Queued())
		did(t, err)
	}
	var quick tasks.Task
	slow := justBefore(t, db.name, "update", "tasks", func() { quick = claim(s, "quick") })
	if got := claim(slow.Tasks(), "slow"); got.ID == quick.ID {
		t.Errorf("task %s was claimed twice", got.ID)
	}
}
