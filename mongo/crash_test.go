package mongo

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"filmroom/imaging"
	"filmroom/imaging/imagingtest"
)

var errDied = errors.New("the process has died")

// A mortal is a process that dies after a number of writes: from then on nothing it sends arrives.
type mortal struct {
	left atomic.Int64
	net.Dialer
}

func (m *mortal) dead() bool { return m.left.Load() < 0 }

func (m *mortal) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if m.dead() {
		return nil, errDied
	}
	c, err := m.Dialer.DialContext(ctx, network, address)
	return &mortalConn{c, m}, err
}

type mortalConn struct {
	net.Conn
	life *mortal
}

func (c *mortalConn) Write(b []byte) (int, error) {
	if c.life.dead() {
		return 0, errDied
	}
	return c.Conn.Write(b)
}

// dying opens a database as a process that dies when it begins its write after the next writes ones.
func dying(t *testing.T, name string, writes int) (*DB, *mortal) {
	t.Helper()
	life := &mortal{}
	life.left.Store(1000) // opening takes a few
	db := open(t, name, func(o *Options) {
		o.Timeout = 5 * time.Second
		o.configure = func(c *options.ClientOptions) {
			c.SetDialer(life).SetRetryReads(false).SetRetryWrites(false)
			c.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
				switch e.CommandName {
				case "insert", "update", "delete":
					life.left.Add(-1)
				}
			}})
		}
	})
	life.left.Store(int64(writes))
	return db, life
}

// untilItSurvives runs a story with a process that dies after 0, 1, 2... writes, each time on a database of
// its own, until it dies no more.
func untilItSurvives(t *testing.T, story func(t *testing.T, db *DB, writes int) (died bool)) {
	t.Helper()
	for writes := range 20 {
		if !story(t, setup(t), writes) {
			if writes < 3 {
				t.Errorf("it died after no more than %d writes: the test does not see its writes", writes)
			}
			return
		}
	}
	t.Error("it never survived")
}

// arrivals are an import of two series with a duplicate and a conflict.
func arrivals() []imaging.Arrival {
	return []imaging.Arrival{
		imagingtest.Arrival(0, "1.1", "1.1.1"), imagingtest.Arrival(1, "1.2", "1.2.1"), imagingtest.Arrival(2, "1.1", "1.1.2"),
		imagingtest.Arrival(3, "1.1", "1.1.1"), imagingtest.Arrival(4, "1.2", "1.2.1", imagingtest.Bytes("other")),
	}
}

var notDICOM = []imaging.Receipt{{Index: 5, Name: "readme", Outcome: imaging.NotDICOM}}

func TestAnImportThatDiesAtAnyWriteEndsLikeAnUndisturbedOne(t *testing.T) {
	t.Parallel()
	undisturbed := setup(t)
	library := imagingtest.Library(t, undisturbed.Imaging())
	want, err := undisturbed.Imaging().Arrive(t.Context(), library, "task-1", arrivals(), notDICOM, imagingtest.ID, imagingtest.Epoch)
	did(t, err)

	untilItSurvives(t, func(t *testing.T, db *DB, writes int) bool {
		s := db.Imaging()
		l := imagingtest.Library(t, s)
		first, life := dying(t, db.name, writes)
		_, err := first.Imaging().Arrive(t.Context(), l, "task-1", arrivals(), notDICOM, imagingtest.ID, imagingtest.Epoch)
		if err == nil && life.dead() {
			t.Errorf("it died after %d writes and reported success", writes)
		}
		for _, shown := range listed(t, s, l) {
			if shown.Instances == 0 {
				t.Errorf("after %d writes a series without images is shown", writes)
			}
		}
		again, err := s.Arrive(t.Context(), l, "task-1", arrivals(), notDICOM, imagingtest.ID, imagingtest.Epoch)
		did(t, err)
		if diff := cmp.Diff(want, again); diff != "" {
			t.Errorf("died after %d writes: rows want -, got +\n%s", writes, diff)
		}
		if diff := cmp.Diff(total(t, undisturbed.Imaging(), library), total(t, s, l)); diff != "" {
			t.Errorf("died after %d writes: library want -, got +\n%s", writes, diff)
		}
		return life.dead()
	})
}

// What another import finds of one that died and is never run again must be whole as well.
func TestAnImportThatDiedDoesNotHideWhatItBrought(t *testing.T) {
	t.Parallel()
	untilItSurvives(t, func(t *testing.T, db *DB, writes int) bool {
		s := db.Imaging()
		l := imagingtest.Library(t, s)
		first, life := dying(t, db.name, writes)
		_, _ = first.Imaging().Arrive(t.Context(), l, "task-1", arrivals(), nil, imagingtest.ID, imagingtest.Epoch)
		_, err := s.Arrive(t.Context(), l, "task-2", arrivals(), nil, imagingtest.ID, imagingtest.Epoch)
		did(t, err)
		want := map[string]int{"1.1": 2, "1.2": 1}
		if diff := cmp.Diff(want, instancesBySeries(t, s, l)); diff != "" {
			t.Errorf("died after %d writes: instances want -, got +\n%s", writes, diff)
		}
		return life.dead()
	})
}

func TestADeletionThatDiesAtAnyWriteIsCompletedAtTheNextStart(t *testing.T) {
	t.Parallel()
	for writes := range 4 {
		for _, importsBefore := range []bool{false, true} {
			db := setup(t)
			l := imagingtest.Library(t, db.Imaging())
			imagingtest.Arrive(t, db.Imaging(), l, "task-1", arrivals()...)
			id := seriesID(t, db.Imaging(), l, "1.1")
			first, life := dying(t, db.name, writes)
			err := first.Imaging().DeleteSeries(t.Context(), l, id)
			if died := life.dead(); died != (writes < 3) || died != (err != nil) {
				t.Errorf("of three writes %d were made: died %v, error %v", writes, died, err)
			}

			if importsBefore { // what is left over counts for nothing, even before it is cleared up
				imagingtest.Arrive(t, db.Imaging(), l, "task-2", arrivals()...)
			}
			s := again(t, db).Imaging()
			imagingtest.Arrive(t, s, l, "task-3", arrivals()...)
			want := map[string]int{"1.1": 2, "1.2": 1}
			if diff := cmp.Diff(want, instancesBySeries(t, s, l)); diff != "" {
				t.Errorf("died after %d writes: instances want -, got +\n%s", writes, diff)
			}
			if again := seriesID(t, s, l, "1.1"); (again == id) != (writes == 0) {
				t.Errorf("died after %d writes: deleted %v", writes, again != id)
			}
		}
	}
}

// Another process runs the deletion again, as the engine does: nothing may be left for the next start.
func TestADeletionThatDiedIsCompletedByRunningItAgain(t *testing.T) {
	t.Parallel()
	for writes := range 4 {
		db := setup(t)
		s := db.Imaging()
		l := imagingtest.Library(t, s)
		imagingtest.Arrive(t, s, l, "task-1", arrivals()...)
		id := seriesID(t, s, l, "1.1")
		first, _ := dying(t, db.name, writes)
		_ = first.Imaging().DeleteSeries(t.Context(), l, id)
		if err := s.DeleteSeries(t.Context(), l, id); errors.Is(err, imaging.ErrNotFound) != (writes == 3) {
			t.Errorf("died after %d writes: deleting it again says %v", writes, err)
		}
		left, err := s.Instances(t.Context(), l, id, nil, 100)
		did(t, err)
		halves, err := count(t.Context(), db.series, with("_id", id), 9)
		did(t, err)
		if len(left) > 0 || halves > 0 {
			t.Errorf("died after %d writes: %d instances and %d series are left", writes, len(left), halves)
		}
	}
}

func TestTwoLibrariesMayBeDeletingOneSeriesUID(t *testing.T) {
	t.Parallel()
	db := setup(t)
	one, _ := dying(t, db.name, 1) // both first, for whoever opens a database completes what it finds
	two, _ := dying(t, db.name, 1)
	s := db.Imaging()
	for _, dies := range []*DB{one, two} {
		l := imagingtest.Library(t, s)
		imagingtest.Arrive(t, s, l, "task-1", arrivals()...)
		if err := dies.Imaging().DeleteSeries(t.Context(), l, seriesID(t, s, l, "1.1")); err == nil {
			t.Error("it died in the middle and reported success")
		}
		if left := listed(t, s, l); len(left) != 1 {
			t.Errorf("the library has %d series, want 1", len(left))
		}
	}
}

func seriesID(t *testing.T, s *Imaging, library, uid string) string {
	t.Helper()
	for _, series := range listed(t, s, library) {
		if series.SeriesUID == uid {
			return series.ID
		}
	}
	t.Fatalf("the library has no series %s", uid)
	return ""
}

func listed(t *testing.T, s *Imaging, library string) []imaging.Series {
	t.Helper()
	page, err := s.ListSeries(t.Context(), imaging.SeriesQuery{LibraryID: library, Limit: 100})
	did(t, err)
	return page.Items
}

// instancesBySeries counts what is there, and holds the series' own counts against it.
func instancesBySeries(t *testing.T, s *Imaging, library string) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, series := range listed(t, s, library) {
		held, err := s.Instances(t.Context(), library, series.ID, nil, 100)
		did(t, err)
		if len(held) != series.Instances {
			t.Errorf("series %s has %d instances and counts %d", series.SeriesUID, len(held), series.Instances)
		}
		n[series.SeriesUID] = len(held)
	}
	return n
}

// total is all that an import leaves, without the ids that differ from library to library.
func total(t *testing.T, s *Imaging, library string) map[string]any {
	t.Helper()
	all := map[string]any{"instances": instancesBySeries(t, s, library)}
	for _, series := range listed(t, s, library) {
		uid := series.SeriesUID
		series.ID, series.LibraryID = "", ""
		all[uid] = series
	}
	rows, err := s.Receipts(t.Context(), imaging.ReceiptQuery{TaskID: "task-1", After: -1, Limit: 100})
	did(t, err)
	all["receipt"] = rows
	counts, err := s.Outcomes(t.Context(), "task-1")
	did(t, err)
	all["outcomes"] = counts
	return all
}
