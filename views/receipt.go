package views

import "filmroom/imaging"

// A Receipt is the part of a task's page that tells what became of each file.
type Receipt struct {
	TaskID  string
	Filter  ReceiptFilter
	Tiles   []Tile
	Rows    []ReceiptRow
	More    bool  // there are rows after these,
	After   int64 // which follow this index
	Total   int   // files, over all outcomes
	CSVURL  string
	JSONURL string
	Export  bool
}

// A ReceiptFilter is what of a receipt is shown.
type ReceiptFilter struct {
	Outcome imaging.Outcome // "" is all
	Search  string          // part of a file's name
	After   int64           // index of the last row shown before; -1 from the first
}

// A Tile is an outcome with its number of files; it filters the table.
type Tile struct {
	Outcome imaging.Outcome // "" for all
	Word    string
	Count   string
	Current bool
	Good    bool // for the colour; the word says it as well
}

// A ReceiptRow is one file.
type ReceiptRow struct {
	Index   string // from 1, as people count
	Name    string
	Size    string
	Outcome imaging.Outcome
	Word    string
	Reason  string
	Good    bool
}

var outcomes = []struct {
	outcome imaging.Outcome
	word    string
	good    bool
}{
	{imaging.Imported, "Imported", true},
	{imaging.Exported, "Exported", true},
	{imaging.Duplicate, "Duplicate", true},
	{imaging.Conflict, "Conflict", false},
	{imaging.NotDICOM, "Not DICOM", true},
	{imaging.DICOMDIR, "DICOMDIR", true},
	{imaging.NestedArchive, "Nested archive", false},
	{imaging.Incomplete, "Incomplete", false},
	{imaging.Unreadable, "Unreadable", false},
	{imaging.Refused, "Refused", false},
}

// NewReceipt makes the receipt of a task from its counts and one page of rows, of which there were asked
// limit: a full page has more behind it.
func NewReceipt(taskID string, f ReceiptFilter, counts map[imaging.Outcome]int, rows []imaging.Receipt, limit int) Receipt {
	r := Receipt{TaskID: taskID, Filter: f, CSVURL: ReceiptCSVURL(taskID), JSONURL: ReceiptFileURL(taskID)}
	for _, n := range counts {
		r.Total += n
	}
	r.Export = counts[imaging.Exported] > 0
	r.Tiles = append(r.Tiles, r.tile("", "All", r.Total, true))
	for _, o := range outcomes {
		if n := counts[o.outcome]; n > 0 {
			r.Tiles = append(r.Tiles, r.tile(o.outcome, o.word, n, o.good))
		}
	}
	for _, row := range rows {
		r.Rows = append(r.Rows, newReceiptRow(row))
	}
	if limit > 0 && len(rows) == limit {
		r.More, r.After = true, rows[limit-1].Index
	}
	return r
}

func (r Receipt) tile(o imaging.Outcome, word string, n int, good bool) Tile {
	return Tile{Outcome: o, Word: word, Count: Count(n), Good: good, Current: r.Filter.Outcome == o}
}

// PostURL is where filters, searches and requests for more are posted.
func (r Receipt) PostURL() string { return ReceiptURL(r.TaskID) }

func newReceiptRow(row imaging.Receipt) ReceiptRow {
	shown := ReceiptRow{
		Index: Count(row.Index + 1), Name: row.Name, Size: Size(row.Size),
		Outcome: row.Outcome, Word: string(row.Outcome), Reason: row.Reason,
	}
	for _, o := range outcomes {
		if o.outcome == row.Outcome {
			shown.Word, shown.Good = o.word, o.good
		}
	}
	return shown
}
