package imagingtest

import (
	"fmt"
	"testing"
	"time"

	"filmroom/imaging"
)

var rerunScenarios = []scenario{
	{"a batch that runs again changes nothing and answers the same", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		first := Arrive(t, s, l, "task-1", mixedBatch()...)
		before := stateOf(t, s, l)
		again, err := s.Arrive(t.Context(), l, "task-1", mixedBatch(), nil, ID, After(time.Hour))
		must(t, err)
		same(t, "rows", again, first)
		same(t, "library and receipt", stateOf(t, s, l), before)
	}},
	{"a rerun that is cut into other batches tells the same story", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		all := mixedBatch()
		first := append(Arrive(t, s, l, "task-1", all[:3]...), Arrive(t, s, l, "task-1", all[3:]...)...)
		before := stateOf(t, s, l)
		again := append(Arrive(t, s, l, "task-1", all[:1]...), Arrive(t, s, l, "task-1", all[1:]...)...)
		same(t, "rows", again, first)
		same(t, "library and receipt", stateOf(t, s, l), before)
	}},
	{"a rerun after half of the import ends like an undisturbed one", func(t *testing.T, s imaging.Store) {
		disturbed, undisturbed := Library(t, s), Library(t, s)
		all := mixedBatch()
		Arrive(t, s, disturbed, "task-1", all[:4]...)
		rows := Arrive(t, s, disturbed, "task-1", all...)
		want := Arrive(t, s, undisturbed, "task-2", all...)
		for i := range want {
			want[i].TaskID = "task-1"
		}
		same(t, "rows", rows, want)
	}},
	{"what another task brought in between stays a duplicate in the rerun", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		Arrive(t, s, l, "task-1", Arrival(0, "1.1", "1.1.1"))
		Arrive(t, s, l, "task-2", Arrival(0, "1.1", "1.1.2"))
		rows := Arrive(t, s, l, "task-1", Arrival(0, "1.1", "1.1.1"), Arrival(1, "1.1", "1.1.2"))
		same(t, "outcomes", outcomes(rows), []imaging.Outcome{imaging.Imported, imaging.Duplicate})
	}},
	{"another entry of the same task is a duplicate, not a rerun", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		Arrive(t, s, l, "task-1", Arrival(0, "1.1", "1.1.1"))
		rows := Arrive(t, s, l, "task-1", Arrival(1, "1.1", "1.1.1"))
		same(t, "outcomes", outcomes(rows), []imaging.Outcome{imaging.Duplicate})
	}},
}

// mixedBatch is an import with an example of each outcome, over two series.
func mixedBatch() []imaging.Arrival {
	return []imaging.Arrival{
		Arrival(0, "1.1", "1.1.1"), Arrival(1, "1.1", "1.1.2"), Arrival(2, "1.2", "1.2.1"),
		Arrival(3, "1.1", "1.1.1"), Arrival(4, "1.1", "1.1.2", Bytes("other")), Arrival(5, "1.2", "1.2.2"),
		Arrival(9_000_000_000, "1.2", "1.2.2"),
	}
}

// A state is all that an import of "task-1" into a library leaves.
type state struct {
	Series    []imaging.Series
	Instances [][]imaging.Instance
	Receipt   []imaging.Receipt
	Outcomes  map[imaging.Outcome]int
}

func stateOf(t testing.TB, s imaging.Store, libraryID string) state {
	t.Helper()
	all := state{Series: list(t, s, imaging.SeriesQuery{LibraryID: libraryID, Limit: 100}).Items}
	for _, one := range all.Series {
		all.Instances = append(all.Instances, instances(t, s, libraryID, one.ID))
	}
	all.Receipt = receipts(t, s, everyRow("task-1"))
	counts, err := s.Outcomes(t.Context(), "task-1")
	must(t, err)
	all.Outcomes = counts
	return all
}

func testReopened(t *testing.T, h Harness) {
	t.Run("everything is still there, and a rerun tells the same story", func(t *testing.T) {
		t.Parallel()
		s := h.New(t)
		l := Library(t, s)
		rows := Arrive(t, s, l, "task-1", mixedBatch()...)
		before := stateOf(t, s, l)
		s = h.Reopen(t, s)
		same(t, "state", stateOf(t, s, l), before)
		same(t, "rows of the rerun", Arrive(t, s, l, "task-1", mixedBatch()...), rows)
		s = h.Reopen(t, s)
		same(t, "state after the rerun", stateOf(t, s, l), before)
	})
	t.Run("a person keeps the library", func(t *testing.T) {
		t.Parallel()
		s := h.New(t)
		first, err := s.LibraryOf(t.Context(), "ada", ID(), Epoch)
		must(t, err)
		later, err := h.Reopen(t, s).LibraryOf(t.Context(), "ada", ID(), After(time.Hour))
		must(t, err)
		same(t, "library", later, first)
	})
	t.Run("a deleted series stays deleted", func(t *testing.T) {
		t.Parallel()
		s := h.New(t)
		l := Library(t, s)
		Arrive(t, s, l, "task-1", mixedBatch()...)
		must(t, s.DeleteSeries(t.Context(), l, seriesOf(t, s, l, "1.1").ID))
		s = h.Reopen(t, s)
		same(t, "series", seriesUIDs(list(t, s, imaging.SeriesQuery{LibraryID: l, Limit: 9}).Items), []string{"1.2"})
	})
}

var contended = []scenario{
	{"of many first uses at once all get the same library", func(t *testing.T, s imaging.Store) {
		all := atOnce(t, 16, func(int) (imaging.Library, error) {
			return s.LibraryOf(t.Context(), "ada", ID(), Epoch)
		})
		for _, l := range all {
			same(t, "library", l, all[0])
		}
	}},
	{"of imports that race for one UID one brings it and the others are told so", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		all := atOnce(t, 16, func(n int) ([]imaging.Receipt, error) {
			a := Arrival(0, fmt.Sprintf("1.%d", n), "1.1.1", Bytes([]string{"these", "those"}[n%2]))
			return s.Arrive(t.Context(), l, fmt.Sprintf("task-%d", n), []imaging.Arrival{a}, nil, ID, Epoch)
		})
		counts := map[imaging.Outcome]int{}
		for _, rows := range all {
			counts[rows[0].Outcome]++
		}
		same(t, "outcomes", counts, map[imaging.Outcome]int{imaging.Imported: 1, imaging.Duplicate: 7, imaging.Conflict: 8})
		page := list(t, s, imaging.SeriesQuery{LibraryID: l, Limit: 100})
		same(t, "series", page.Total, 1)
		same(t, "instances", page.Items[0].Instances, 1)
	}},
	{"imports that share a series count it right", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		atOnce(t, 16, func(n int) ([]imaging.Receipt, error) {
			batch := []imaging.Arrival{
				Arrival(0, "1.1", fmt.Sprintf("1.1.%d", n)), Arrival(1, "1.1", fmt.Sprintf("1.1.%d", n+1)),
			}
			return s.Arrive(t.Context(), l, fmt.Sprintf("task-%d", n), batch, nil, ID, Epoch)
		})
		got := seriesOf(t, s, l, "1.1")
		held := instances(t, s, l, got.ID)
		var bytes int64
		for _, i := range held {
			bytes += i.Size
		}
		same(t, "instances held", len(held), 17)
		same(t, "instances counted", got.Instances, 17)
		same(t, "bytes counted", got.Bytes, bytes)
	}},
	{"a series that is deleted while instances arrive is there whole or not at all", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		Arrive(t, s, l, "task-0", Arrival(0, "1.1", "1.1.0"))
		old := seriesOf(t, s, l, "1.1")
		atOnce(t, 9, func(n int) (struct{}, error) {
			if n == 4 {
				return struct{}{}, s.DeleteSeries(t.Context(), l, old.ID)
			}
			batch := []imaging.Arrival{Arrival(0, "1.1", fmt.Sprintf("1.1.%d", n+1))}
			_, err := s.Arrive(t.Context(), l, fmt.Sprintf("task-%d", n+1), batch, nil, ID, Epoch)
			return struct{}{}, err
		})
		for _, got := range list(t, s, imaging.SeriesQuery{LibraryID: l, Limit: 100}).Items {
			same(t, "instances counted", got.Instances, len(instances(t, s, l, got.ID)))
		}
		same(t, "instances of the deleted series", instancesOrNone(t, s, l, old.ID), 0)
		rows := Arrive(t, s, l, "task-0", Arrival(0, "1.1", "1.1.0"))
		same(t, "the deleted instance again", outcomes(rows), []imaging.Outcome{imaging.Imported})
	}},
}
