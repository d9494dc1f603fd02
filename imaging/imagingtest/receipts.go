package imagingtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"filmroom/imaging"
)

var receiptScenarios = []scenario{
	{"rows come back whole and in the order of their index", func(t *testing.T, s imaging.Store) {
		rows := []imaging.Receipt{
			row(9_000_000_000, "last", imaging.Imported), row(11, "b", imaging.Exported), row(2, "a", imaging.Refused),
		}
		rows[0].SOPInstanceUID, rows[0].SeriesUID, rows[0].StudyUID = "1.1.1", "1.1", "1"
		rows[1].Size, rows[1].Reason = 5_000_000_000, "with a reason"
		must(t, s.PutReceipts(t.Context(), "library-1", "task-1", rows))
		same(t, "rows", receipts(t, s, everyRow("task-1")), []imaging.Receipt{rows[2], rows[1], rows[0]})
	}},
	{"a row replaces the one of the same index", func(t *testing.T, s imaging.Store) {
		must(t, s.PutReceipts(t.Context(), "library-1", "task-1", []imaging.Receipt{row(0, "a", imaging.Exported), row(1, "b", imaging.Exported)}))
		must(t, s.PutReceipts(t.Context(), "library-1", "task-1", []imaging.Receipt{row(1, "c", imaging.Refused)}))
		same(t, "rows", receipts(t, s, everyRow("task-1")), []imaging.Receipt{row(0, "a", imaging.Exported), row(1, "c", imaging.Refused)})
		same(t, "outcomes", counted(t, s, "task-1"), map[imaging.Outcome]int{imaging.Exported: 1, imaging.Refused: 1})
	}},
	{"the receipts of two tasks stay apart", func(t *testing.T, s imaging.Store) {
		must(t, s.PutReceipts(t.Context(), "library-1", "task-1", []imaging.Receipt{row(0, "a", imaging.Exported)}))
		must(t, s.PutReceipts(t.Context(), "library-1", "task-10", []imaging.Receipt{row(0, "b", imaging.Refused), row(1, "c", imaging.Refused)}))
		same(t, "rows", receipts(t, s, everyRow("task-1")), []imaging.Receipt{row(0, "a", imaging.Exported)})
		same(t, "outcomes", counted(t, s, "task-10"), map[imaging.Outcome]int{imaging.Refused: 2})
	}},
	{"a task without rows has none", func(t *testing.T, s imaging.Store) {
		must(t, s.PutReceipts(t.Context(), "library-1", "task-1", nil))
		same(t, "rows", receipts(t, s, everyRow("task-1")), []imaging.Receipt{})
		same(t, "outcomes", counted(t, s, "task-1"), map[imaging.Outcome]int{})
	}},
	{"a receipt belongs to the library that its first rows came from", ownsReceipts},
	{"names come back byte for byte, whatever they are", keepsNames},
	{"search finds a part of a name, letter for letter, without regard to ASCII case", searchesNames},
	{"pages, outcomes and search select together", selectsRows},
	{"nothing is written once the caller has gone", func(t *testing.T, s imaging.Store) {
		err := s.PutReceipts(cancelled(t), "library-1", "task-1", []imaging.Receipt{row(0, "a", imaging.Exported)})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want the context's", err)
		}
		same(t, "rows", receipts(t, s, everyRow("task-1")), []imaging.Receipt{})
	}},
}

func ownsReceipts(t *testing.T, s imaging.Store) {
	if _, err := s.ReceiptLibrary(t.Context(), "task-1"); !errors.Is(err, imaging.ErrNotFound) {
		t.Errorf("without rows: error %v, want ErrNotFound", err)
	}
	l := Library(t, s)
	must(t, s.PutReceipts(t.Context(), l, "task-0", nil))
	must(t, s.PutReceipts(t.Context(), l, "task-1", []imaging.Receipt{row(0, "a", imaging.Exported)}))
	must(t, s.PutReceipts(t.Context(), "another", "task-1", []imaging.Receipt{row(1, "b", imaging.Exported)}))
	Arrive(t, s, l, "task-2", Arrival(0, "1.1", "1.1.1"))
	_, err := s.Arrive(t.Context(), l, "task-3", nil, []imaging.Receipt{row(0, "notes.txt", imaging.NotDICOM)}, ID, Epoch)
	must(t, err)
	for _, task := range []string{"task-1", "task-2", "task-3"} {
		owner, err := s.ReceiptLibrary(t.Context(), task)
		must(t, err)
		same(t, "library of "+task, owner, l)
	}
	if _, err := s.ReceiptLibrary(t.Context(), "task-0"); !errors.Is(err, imaging.ErrNotFound) {
		t.Errorf("no rows were put: error %v, want ErrNotFound", err)
	}
}

// names are what people and scanners call files.
var names = []string{
	`"quoted" 'twice' ` + "`and` so", `<b>&amp;</b>`, "=HYPERLINK(\"http://x\")", "\u202egpj.exe", "😀 ولد 山田.dcm",
	"nul\x00inside", "latin1 \xe4\xf6.dcm", "../../etc/passwd", `C:\IMG\1`, "line\nbreak\ttab", "", " ", "100%_[a].*(b)+?^$|{1}",
	"e\u0301 is not é", "\ufffd real",
}

func keepsNames(t *testing.T, s imaging.Store) {
	var rows []imaging.Receipt
	for i, name := range names {
		rows = append(rows, row(int64(i), name, imaging.Imported))
	}
	must(t, s.PutReceipts(t.Context(), "library-1", "task-1", rows))
	same(t, "rows", receipts(t, s, everyRow("task-1")), rows)
	for i, name := range names {
		if strings.TrimSpace(name) == "" || !utf8.ValidString(name) {
			continue // a part of other names; nothing that a person could type
		}
		found := receipts(t, s, imaging.ReceiptQuery{TaskID: "task-1", Search: name, After: -1})
		same(t, fmt.Sprintf("search for %q", name), found, rows[i:i+1])
	}
}

func searchesNames(t *testing.T, s imaging.Store) {
	must(t, s.PutReceipts(t.Context(), "library-1", "task-1", []imaging.Receipt{
		row(0, "Study/Axial.DCM", imaging.Imported), row(1, "axXial", imaging.Imported), row(2, "a%l", imaging.Imported),
		row(3, "latin1 \xe4 AXIAL", imaging.Imported),
	}))
	for search, want := range map[string][]int64{
		"axial": {0, 3}, "AX": {0, 1, 3}, "a%l": {2}, "a_l": nil, "a.*l": nil, ".dcm": {0}, "study/a": {0}, "": {0, 1, 2, 3},
	} {
		var got []int64
		for _, r := range receipts(t, s, imaging.ReceiptQuery{TaskID: "task-1", Search: search, After: -1}) {
			got = append(got, r.Index)
		}
		same(t, fmt.Sprintf("search for %q", search), got, want)
	}
}

func selectsRows(t *testing.T, s imaging.Store) {
	var rows []imaging.Receipt
	kinds := []imaging.Outcome{imaging.Imported, imaging.Duplicate, imaging.NotDICOM}
	for i := range 12 {
		rows = append(rows, row(int64(i), fmt.Sprintf("%c%02d", "ab"[i%2], i), kinds[i%3]))
	}
	must(t, s.PutReceipts(t.Context(), "library-1", "task-1", rows))
	q := everyRow("task-1")
	q.Limit = 5
	same(t, "first page", receipts(t, s, q), rows[:5])
	q.After = 4
	same(t, "second page", receipts(t, s, q), rows[5:10])
	q.After = 9
	same(t, "third page", receipts(t, s, q), rows[10:])

	some := imaging.ReceiptQuery{TaskID: "task-1", Outcomes: kinds[1:], After: 1, Limit: 4}
	same(t, "two outcomes", receipts(t, s, some), []imaging.Receipt{rows[2], rows[4], rows[5], rows[7]})
	some.Search = "A"
	same(t, "two outcomes and search", receipts(t, s, some), []imaging.Receipt{rows[2], rows[4], rows[8], rows[10]})
}

// row is a row of "task-1".
func row(index int64, name string, o imaging.Outcome) imaging.Receipt {
	return imaging.Receipt{TaskID: "task-1", Index: index, Name: name, Size: 1, Outcome: o}
}

func counted(t testing.TB, s imaging.Store, taskID string) map[imaging.Outcome]int {
	t.Helper()
	counts, err := s.Outcomes(t.Context(), taskID)
	must(t, err)
	return counts
}
