package imaging

import (
	"context"
	"errors"
	"time"
)

// ErrNotFound: no such library, series or instance, or it belongs to somebody else.
var ErrNotFound = errors.New("no such series")

// ErrCursor: a list was asked to go on from a cursor that is none, or belongs to another sort.
var ErrCursor = errors.New("the cursor does not belong to this list")

// A Store keeps libraries, series, instances and receipts. Its methods may be called at once from many
// goroutines and processes. now is an argument; a store reads no clock.
type Store interface {
	// LibraryOf returns the library of a user, made on first use with the given id. Of two first uses at
	// once, both get the same library.
	LibraryOf(ctx context.Context, userID, newID string, now time.Time) (Library, error)

	// Arrive takes in a batch of one import, in the order given, and returns their receipt rows, stored,
	// with outcomes. For each arrival, against what the library holds under its SOP Instance UID:
	// nothing, or the instance that this very (task, entry) brought: imported; the same SHA256:
	// duplicate; else conflict, with the first kept. A series that does not exist is made with newID().
	// Running it again with the same batch after a crash changes nothing and answers the same.
	// Series counts (Instances, Bytes) are right when it returns. Rows in others, which are no
	// instances, are stored as they are, in the same go.
	Arrive(ctx context.Context, libraryID, taskID string, batch []Arrival, others []Receipt, newID func() string, now time.Time) ([]Receipt, error)

	// PutReceipts stores rows of a task's receipt, replacing rows of the same index. The library is that of
	// the task's owner.
	PutReceipts(ctx context.Context, libraryID, taskID string, rows []Receipt) error

	// ReceiptLibrary returns the id of the library that the receipt of a task belongs to: what Arrive or
	// PutReceipts were given with its first rows. It is kept as long as the rows are, which outlive the
	// task. [ErrNotFound]: the task has no rows.
	ReceiptLibrary(ctx context.Context, taskID string) (libraryID string, err error)

	// Receipts returns rows of a task's receipt in the order of their index.
	Receipts(ctx context.Context, q ReceiptQuery) ([]Receipt, error)

	// Outcomes counts a task's receipt rows by outcome.
	Outcomes(ctx context.Context, taskID string) (map[Outcome]int, error)

	// Series returns one series of a library.
	Series(ctx context.Context, libraryID, seriesID string) (Series, error)

	// ListSeries returns one page of a library's series.
	ListSeries(ctx context.Context, q SeriesQuery) (SeriesPage, error)

	// Instances returns up to limit instances of a series, by InstanceNumber, then SOPInstanceUID, after
	// the instance given (nil: from the first).
	Instances(ctx context.Context, libraryID, seriesID string, after *Instance, limit int) ([]Instance, error)

	// DeleteSeries removes a series and its instances. Their files stay until the sweep. From the first
	// write on nothing of the series is found; one that a crash cut short is completed by deleting it
	// again, which answers [ErrNotFound] if nothing was left to do.
	DeleteSeries(ctx context.Context, libraryID, seriesID string) error

	// Referred reports which of the given hashes some instance refers to.
	Referred(ctx context.Context, sha256 []string) (map[string]bool, error)
}

// A ReceiptQuery selects rows of one task's receipt.
type ReceiptQuery struct {
	TaskID   string
	Outcomes []Outcome // none: all
	Search   string    // part of the name, without regard to ASCII case; "" for all
	After    int64     // rows whose index is larger; -1 from the first
	Limit    int
}

// SeriesSort is an order of a library, by the bytes of what is compared; ties are broken by id in the same
// direction.
type SeriesSort string

const (
	NewestImported  SeriesSort = "-importedAt"
	OldestImported  SeriesSort = "importedAt"
	NewestStudied   SeriesSort = "-studyDate"
	OldestStudied   SeriesSort = "studyDate"
	ByPatientName   SeriesSort = "patientName"
	ByPatientNameUp SeriesSort = "-patientName"
)

// A SeriesQuery selects series of one library. The zero value of a field does not filter.
type SeriesQuery struct {
	LibraryID   string
	IDs         []string
	Modality    string
	From, To    string   // study date, YYYYMMDD, both inclusive
	TaskID      string   // the import that brought any of its instances' series first
	Words       []string // beginnings of words of patient name, patient id, description, study description, body part, modality, accession number
	PatientID   string   // exact
	PatientName string   // beginning of it, without regard to case
	StudyUID    string
	SeriesUID   string
	Sort        SeriesSort // "" is NewestImported
	Limit       int        // 0 asks for the count alone
	Cursor      string
}

// A SeriesPage is part of a library.
type SeriesPage struct {
	Items      []Series
	Total      int
	TotalExact bool // false: counted no further than Total
	NextCursor string
}

// SearchWords are the lower-case words that [SeriesQuery.Words] matches the beginnings of.
func (s *Series) SearchWords() []string {
	return words(s.PatientName, s.PatientID, s.Description, s.StudyDesc, s.BodyPart, s.Modality, s.Accession)
}
