package imagingtest

import (
	"errors"
	"testing"

	"filmroom/imaging"
)

var instanceScenarios = []scenario{
	{"instances come by number, then by UID, and page after any of them", pagesInstances},
	{"the instances of another library's series are not to be had", func(t *testing.T, s imaging.Store) {
		mine, yours := Library(t, s), Library(t, s)
		theirs := Put(t, s, yours, Epoch, func(*imaging.Series) {})
		same(t, "instances", instancesOrNone(t, s, mine, theirs.ID), 0)
	}},
	{"a hash is referred to while an instance of any library has it", func(t *testing.T, s imaging.Store) {
		mine, yours := Library(t, s), Library(t, s)
		Arrive(t, s, mine, "task-1", Arrival(0, "1.1", "1.1.1", Bytes("a")), Arrival(1, "1.1", "1.1.2", Bytes("b")))
		Arrive(t, s, yours, "task-2", Arrival(0, "1.1", "1.1.1", Bytes("a")), Arrival(1, "1.1", "1.1.1", Bytes("c")))
		same(t, "referred", referred(t, s, "a", "b", "c", "d"), []string{"a", "b"})
		must(t, s.DeleteSeries(t.Context(), mine, seriesOf(t, s, mine, "1.1").ID))
		same(t, "referred after deleting", referred(t, s, "a", "b", "c", "d"), []string{"a"})
		same(t, "referred of none", referred(t, s), []string{})
	}},
}

func pagesInstances(t *testing.T, s imaging.Store) {
	l := Library(t, s)
	numbered := func(n int) func(*imaging.Arrival) {
		return func(a *imaging.Arrival) { a.Instance.InstanceNumber = n }
	}
	Arrive(t, s, l, "task-1", Arrival(0, "1.1", "1.1.9", numbered(2)), Arrival(1, "1.1", "1.1.5", numbered(2)),
		Arrival(2, "1.1", "1.1.7", numbered(10)), Arrival(3, "1.1", "1.1.8", numbered(-1)), Arrival(4, "1.1", "1.1.6", numbered(2)),
		Arrival(5, "1.2", "1.2.1", numbered(2)))
	id := seriesOf(t, s, l, "1.1").ID
	var got []string
	var after *imaging.Instance
	for range 4 {
		page, err := s.Instances(t.Context(), l, id, after, 2)
		must(t, err)
		for _, i := range page {
			got = append(got, i.SOPInstanceUID)
			after = &i
		}
	}
	same(t, "instances", got, []string{"1.1.8", "1.1.5", "1.1.6", "1.1.9", "1.1.7"})
}

// referred returns those of the texts whose hashes are referred to.
func referred(t testing.TB, s imaging.Store, texts ...string) []string {
	t.Helper()
	var hashes, found []string
	for _, text := range texts {
		hashes = append(hashes, Hash(text))
	}
	known, err := s.Referred(t.Context(), hashes)
	must(t, err)
	for _, text := range texts {
		if known[Hash(text)] {
			found = append(found, text)
		}
	}
	return found
}

var deleteScenarios = []scenario{
	{"a series goes with its instances, the others stay", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		Arrive(t, s, l, "task-1", mixedBatch()...)
		gone, stays := seriesOf(t, s, l, "1.1"), seriesOf(t, s, l, "1.2")
		must(t, s.DeleteSeries(t.Context(), l, gone.ID))
		if _, err := s.Series(t.Context(), l, gone.ID); !errors.Is(err, imaging.ErrNotFound) {
			t.Errorf("error %v, want ErrNotFound", err)
		}
		same(t, "instances", instancesOrNone(t, s, l, gone.ID), 0)
		same(t, "library", list(t, s, imaging.SeriesQuery{LibraryID: l, Limit: 9}).Items, []imaging.Series{stays})
		same(t, "instances of the other", len(instances(t, s, l, stays.ID)), 2)
	}},
	{"what was deleted can be imported again, as a series with a new id", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		Arrive(t, s, l, "task-1", Arrival(0, "1.1", "1.1.1"))
		old := seriesOf(t, s, l, "1.1")
		must(t, s.DeleteSeries(t.Context(), l, old.ID))
		rows := Arrive(t, s, l, "task-2", Arrival(0, "1.1", "1.1.1"))
		same(t, "outcome", outcomes(rows), []imaging.Outcome{imaging.Imported})
		if again := seriesOf(t, s, l, "1.1"); again.ID == old.ID {
			t.Error("the new series has the id of the deleted one")
		}
	}},
	{"a receipt outlives the series", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		rows := Arrive(t, s, l, "task-1", Arrival(0, "1.1", "1.1.1"))
		must(t, s.DeleteSeries(t.Context(), l, seriesOf(t, s, l, "1.1").ID))
		same(t, "rows", receipts(t, s, everyRow("task-1")), rows)
	}},
	{"an unknown series, a deleted one and somebody else's are not found", func(t *testing.T, s imaging.Store) {
		mine, yours := Library(t, s), Library(t, s)
		gone := Put(t, s, mine, Epoch, func(*imaging.Series) {})
		theirs := Put(t, s, yours, Epoch, func(*imaging.Series) {})
		must(t, s.DeleteSeries(t.Context(), mine, gone.ID))
		for _, id := range []string{"01NONE", gone.ID, theirs.ID} {
			if err := s.DeleteSeries(t.Context(), mine, id); !errors.Is(err, imaging.ErrNotFound) {
				t.Errorf("series %q: error %v, want ErrNotFound", id, err)
			}
		}
		same(t, "theirs", seriesOf(t, s, yours, theirs.SeriesUID), theirs)
	}},
}
