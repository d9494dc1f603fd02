package imagingtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"filmroom/imaging"
)

// Epoch is the moment at which tests begin.
var Epoch = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

// After is the moment d after [Epoch].
func After(d time.Duration) time.Time { return Epoch.Add(d) }

var ids atomic.Int64

// ID returns a new id that looks like a ULID. Ids rise in the order in which they are made.
func ID() string { return fmt.Sprintf("01KDYG%020d", ids.Add(1)) }

// Hash returns the SHA-256 of text, in hex.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Arrival returns the file at an index of an import, an instance of a series, with every field set,
// changed by edits. Its bytes are known by its SOP Instance UID.
func Arrival(index int64, seriesUID, sopUID string, edits ...func(*imaging.Arrival)) imaging.Arrival {
	a := imaging.Arrival{
		Receipt: imaging.Receipt{
			Index: index, Name: fmt.Sprintf("DICOM/IM%06d", index), Size: 5_000_000_000 + index,
			SOPInstanceUID: sopUID, SeriesUID: seriesUID, StudyUID: "1.2.826.1",
		},
		Series: imaging.Series{
			SeriesUID: seriesUID, StudyUID: "1.2.826.1", PatientID: "P-17", PatientName: "Lovelace^Ada",
			PatientBirth: "18151210", StudyDate: "20260102", StudyDesc: "CT Thorax", Accession: "A4711",
			Modality: "CT", Description: "Axial 1.0", BodyPart: "CHEST", SeriesNumber: 3, BurnedIn: "NO",
		},
		Instance: imaging.Instance{
			SOPInstanceUID: sopUID, SOPClassUID: "1.2.840.10008.5.1.4.1.1.2", TransferSyntax: "1.2.840.10008.1.2.1",
			InstanceNumber: int(index) + 1, Frames: 1, Rows: 512, Columns: 256,
			Size: 5_000_000_000 + index, SHA256: Hash(sopUID),
		},
	}
	for _, edit := range edits {
		edit(&a)
	}
	return a
}

// Bytes makes an arrival one of other bytes.
func Bytes(text string) func(*imaging.Arrival) {
	return func(a *imaging.Arrival) { a.Instance.SHA256 = Hash(text) }
}

// Facts changes the facts of the series that an arrival tells of.
func Facts(edit func(*imaging.Series)) func(*imaging.Arrival) {
	return func(a *imaging.Arrival) { edit(&a.Series) }
}

// Library returns the library of a new person.
func Library(t testing.TB, s imaging.Store) string {
	t.Helper()
	l, err := s.LibraryOf(t.Context(), "user-"+ID(), ID(), Epoch)
	must(t, err)
	return l.ID
}

// Arrive takes a batch in at [Epoch] and returns its rows.
func Arrive(t testing.TB, s imaging.Store, libraryID, taskID string, batch ...imaging.Arrival) []imaging.Receipt {
	t.Helper()
	rows, err := s.Arrive(t.Context(), libraryID, taskID, batch, nil, ID, Epoch)
	must(t, err)
	return rows
}

// Put takes in one instance of a series of its own, whose facts edit changes, at a moment, and returns
// the series.
func Put(t testing.TB, s imaging.Store, libraryID string, at time.Time, edit func(*imaging.Series)) imaging.Series {
	t.Helper()
	uid := "1.2.826.9." + ID()[10:]
	a := Arrival(0, uid, uid+".1", Facts(edit))
	a.Receipt.SeriesUID, a.Receipt.StudyUID = a.Series.SeriesUID, a.Series.StudyUID
	_, err := s.Arrive(t.Context(), libraryID, ID(), []imaging.Arrival{a}, nil, ID, at)
	must(t, err)
	return seriesOf(t, s, libraryID, a.Series.SeriesUID)
}

// seriesOf returns the series of a library with a UID; there must be one.
func seriesOf(t testing.TB, s imaging.Store, libraryID, uid string) imaging.Series {
	t.Helper()
	page := list(t, s, imaging.SeriesQuery{LibraryID: libraryID, SeriesUID: uid, Limit: 2})
	if len(page.Items) != 1 {
		t.Fatalf("the library holds %d series with the UID %s, want 1", len(page.Items), uid)
	}
	return page.Items[0]
}

func list(t testing.TB, s imaging.Store, q imaging.SeriesQuery) imaging.SeriesPage {
	t.Helper()
	page, err := s.ListSeries(t.Context(), q)
	must(t, err)
	return page
}

func instances(t testing.TB, s imaging.Store, libraryID, seriesID string) []imaging.Instance {
	t.Helper()
	all, err := s.Instances(t.Context(), libraryID, seriesID, nil, 1000)
	must(t, err)
	return all
}

func receipts(t testing.TB, s imaging.Store, q imaging.ReceiptQuery) []imaging.Receipt {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 1000
	}
	rows, err := s.Receipts(t.Context(), q)
	must(t, err)
	return rows
}

// everyRow selects all rows of a task.
func everyRow(taskID string) imaging.ReceiptQuery {
	return imaging.ReceiptQuery{TaskID: taskID, After: -1}
}

func outcomes(rows []imaging.Receipt) []imaging.Outcome {
	var all []imaging.Outcome
	for _, r := range rows {
		all = append(all, r.Outcome)
	}
	return all
}

func seriesUIDs(all []imaging.Series) []string {
	var uids []string
	for _, s := range all {
		uids = append(uids, s.SeriesUID)
	}
	slices.Sort(uids)
	return uids
}

// same fails unless got is want, where no elements and nil are the same.
func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: want -, got +\n%s", what, diff)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// cancelled returns a context that has ended already.
func cancelled(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
