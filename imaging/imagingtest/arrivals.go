package imagingtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"filmroom/imaging"
)

var libraryScenarios = []scenario{
	{"a person's first use makes the library, each later use finds it", func(t *testing.T, s imaging.Store) {
		first, err := s.LibraryOf(t.Context(), "ada", "01A", Epoch)
		must(t, err)
		same(t, "first use", first, imaging.Library{ID: "01A", OwnerID: "ada", CreatedAt: Epoch})
		later, err := s.LibraryOf(t.Context(), "ada", "01B", After(time.Hour))
		must(t, err)
		same(t, "later use", later, first)
	}},
	{"two people have two libraries", func(t *testing.T, s imaging.Store) {
		if mine, yours := Library(t, s), Library(t, s); mine == yours {
			t.Error("both got the same library")
		}
	}},
}

var arrivalScenarios = []scenario{
	{"a new instance is imported, with all its facts", arrivesWhole},
	{"a series begins with the facts of its first instance and keeps them", keepsFirstFacts},
	{"counts and bytes of each series of a batch are right when it returns", countsSeries},
	{"the same bytes from another task are a duplicate", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		Arrive(t, s, l, "task-1", Arrival(0, "1.1", "1.1.1"))
		rows := Arrive(t, s, l, "task-2", Arrival(4, "1.1", "1.1.1"))
		same(t, "outcome", outcomes(rows), []imaging.Outcome{imaging.Duplicate})
		same(t, "reason", rows[0].Reason, imaging.ReasonDuplicate)
		same(t, "instances", seriesOf(t, s, l, "1.1").Instances, 1)
	}},
	{"other bytes under a known UID are a conflict and the first are kept", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		Arrive(t, s, l, "task-1", Arrival(0, "1.1", "1.1.1"))
		rows := Arrive(t, s, l, "task-2", Arrival(0, "1.1", "1.1.1", Bytes("other")))
		same(t, "outcome", outcomes(rows), []imaging.Outcome{imaging.Conflict})
		same(t, "reason", rows[0].Reason, imaging.ReasonConflict)
		held := instances(t, s, l, seriesOf(t, s, l, "1.1").ID)
		same(t, "held hash", held[0].SHA256, Hash("1.1.1"))
	}},
	{"within a batch the first of a UID wins", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		rows := Arrive(t, s, l, "task-1", Arrival(3, "1.1", "1.1.1"), Arrival(5, "1.1", "1.1.1"),
			Arrival(7, "1.1", "1.1.1", Bytes("other")))
		same(t, "outcomes", outcomes(rows), []imaging.Outcome{imaging.Imported, imaging.Duplicate, imaging.Conflict})
		held := instances(t, s, l, seriesOf(t, s, l, "1.1").ID)
		same(t, "instances", len(held), 1)
		same(t, "entry", held[0].Entry, int64(3))
	}},
	{"identity is per library", func(t *testing.T, s imaging.Store) {
		mine, yours := Library(t, s), Library(t, s)
		Arrive(t, s, mine, "task-1", Arrival(0, "1.1", "1.1.1"))
		rows := Arrive(t, s, yours, "task-2", Arrival(0, "1.1", "1.1.1", Bytes("other")))
		same(t, "outcome", outcomes(rows), []imaging.Outcome{imaging.Imported})
		same(t, "mine", seriesOf(t, s, mine, "1.1").Instances, 1)
	}},
	{"a UID that another series of the library holds begins no series", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		Arrive(t, s, l, "task-1", Arrival(0, "1.1", "1.1.1"))
		rows := Arrive(t, s, l, "task-2", Arrival(0, "1.2", "1.1.1"))
		same(t, "outcome", outcomes(rows), []imaging.Outcome{imaging.Duplicate})
		same(t, "series", list(t, s, imaging.SeriesQuery{LibraryID: l}).Total, 1)
	}},
	{"rows of files that are no instances are stored as they are, in the same go", storesOthers},
	{"a batch of nothing changes nothing", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		same(t, "rows", Arrive(t, s, l, "task-1"), []imaging.Receipt{})
		same(t, "receipt", receipts(t, s, everyRow("task-1")), []imaging.Receipt{})
	}},
	{"nothing is written once the caller has gone", func(t *testing.T, s imaging.Store) {
		l := Library(t, s)
		batch := []imaging.Arrival{Arrival(0, "1.1", "1.1.1")}
		_, err := s.Arrive(cancelled(t), l, "task-1", batch, nil, ID, Epoch)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want the context's", err)
		}
		same(t, "series", list(t, s, imaging.SeriesQuery{LibraryID: l}).Total, 0)
		same(t, "receipt", receipts(t, s, everyRow("task-1")), []imaging.Receipt{})
	}},
}

func arrivesWhole(t *testing.T, s imaging.Store) {
	l := Library(t, s)
	a := Arrival(7, "1.1", "1.1.1")
	rows, err := s.Arrive(t.Context(), l, "task-1", []imaging.Arrival{a}, nil, ID, Epoch)
	must(t, err)

	row := a.Receipt
	row.TaskID, row.Outcome = "task-1", imaging.Imported
	same(t, "answered rows", rows, []imaging.Receipt{row})
	same(t, "stored rows", receipts(t, s, everyRow("task-1")), []imaging.Receipt{row})

	got := seriesOf(t, s, l, "1.1")
	want := a.Series
	want.ID, want.LibraryID, want.TaskID, want.ImportedAt = got.ID, l, "task-1", Epoch
	want.Instances, want.Bytes = 1, a.Instance.Size
	same(t, "series", got, want)

	held := a.Instance
	held.LibraryID, held.SeriesID, held.TaskID, held.Entry, held.AddedAt = l, got.ID, "task-1", 7, Epoch
	same(t, "instances", instances(t, s, l, got.ID), []imaging.Instance{held})
}

func keepsFirstFacts(t *testing.T, s imaging.Store) {
	l := Library(t, s)
	renamed := Facts(func(s *imaging.Series) { s.PatientName, s.Modality = "Someone^Else", "MR" })
	Arrive(t, s, l, "task-1", Arrival(0, "1.1", "1.1.1"), Arrival(1, "1.1", "1.1.2", renamed))
	first := seriesOf(t, s, l, "1.1")
	same(t, "patient", first.PatientName, "Lovelace^Ada")

	_, err := s.Arrive(t.Context(), l, "task-2", []imaging.Arrival{Arrival(0, "1.1", "1.1.3", renamed)}, nil, ID, After(time.Hour))
	must(t, err)
	want := first
	want.Instances, want.Bytes = 3, 15_000_000_001
	same(t, "series", seriesOf(t, s, l, "1.1"), want)
}

func countsSeries(t *testing.T, s imaging.Store) {
	l := Library(t, s)
	Arrive(t, s, l, "task-1", Arrival(0, "1.1", "1.1.1"), Arrival(1, "1.2", "1.2.1"),
		Arrival(2, "1.1", "1.1.2"), Arrival(3, "1.1", "1.1.2"))
	Arrive(t, s, l, "task-1", Arrival(4, "1.2", "1.2.2"), Arrival(5, "1.2", "1.2.2", Bytes("other")))
	for uid, bytes := range map[string]int64{"1.1": 10_000_000_002, "1.2": 10_000_000_005} {
		got := seriesOf(t, s, l, uid)
		same(t, "instances of "+uid, got.Instances, 2)
		same(t, "bytes of "+uid, got.Bytes, bytes)
	}
}

func storesOthers(t *testing.T, s imaging.Store) {
	l := Library(t, s)
	others := []imaging.Receipt{
		{Index: 1, Name: "readme.txt", Size: 12, Outcome: imaging.NotDICOM, Reason: "no DICOM prefix"},
		{Index: 2, Name: "DICOMDIR", Size: 900, Outcome: imaging.DICOMDIR},
	}
	rows, err := s.Arrive(t.Context(), l, "task-1", []imaging.Arrival{Arrival(0, "1.1", "1.1.1")}, others, ID, Epoch)
	must(t, err)
	same(t, "answered outcomes", outcomes(rows), []imaging.Outcome{imaging.Imported})

	for i := range others {
		others[i].TaskID = "task-1"
	}
	same(t, "stored rows", receipts(t, s, everyRow("task-1")), append(rows, others...))

	alone := []imaging.Receipt{{Index: 9, Name: "x", Outcome: imaging.Refused}}
	_, err = s.Arrive(t.Context(), l, "task-1", nil, alone, ID, Epoch)
	must(t, err)
	same(t, "rows", len(receipts(t, s, everyRow("task-1"))), 4)
}
