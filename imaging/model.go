package imaging

import "time"

// A Library holds series; every person has one. Groups with members and roles come later, so each index
// begins with the library.
type Library struct {
	ID        string    `json:"libraryId"` // ULID
	OwnerID   string    `json:"ownerId"`   // userId; unique
	CreatedAt time.Time `json:"createdAt"`
}

// A Series is one DICOM series in a library. Its id is ours and stands in paths; DICOM's UIDs are data.
// Patient and study facts are those of its first instance.
type Series struct {
	ID           string    `json:"seriesId"` // ULID
	LibraryID    string    `json:"libraryId"`
	SeriesUID    string    `json:"seriesUid"` // (0020,000E), unique in its library
	StudyUID     string    `json:"studyUid"`  // (0020,000D)
	PatientID    string    `json:"patientId"` // (0010,0020)
	PatientName  string    `json:"patientName"`
	PatientBirth string    `json:"patientBirthDate"`
	StudyDate    string    `json:"studyDate"` // DICOM DA, YYYYMMDD, "" when absent or not a date
	StudyDesc    string    `json:"studyDescription"`
	Accession    string    `json:"accessionNumber"`
	Modality     string    `json:"modality"`
	Description  string    `json:"description"` // (0008,103E)
	BodyPart     string    `json:"bodyPart"`
	SeriesNumber int       `json:"seriesNumber"`
	BurnedIn     string    `json:"burnedInAnnotation"` // (0028,0301) of the first instance: YES, NO or ""
	Instances    int       `json:"instances"`
	Bytes        int64     `json:"bytes"`
	ImportedAt   time.Time `json:"importedAt"` // when its first instance came in
	TaskID       string    `json:"taskId"`     // the import that brought its first instance
}

// An Instance is one DICOM object in a library. Identity is (library, SOP Instance UID).
type Instance struct {
	LibraryID      string    `json:"libraryId"`
	SeriesID       string    `json:"seriesId"`
	SOPInstanceUID string    `json:"sopInstanceUid"` // unique in its library
	SOPClassUID    string    `json:"sopClassUid"`
	TransferSyntax string    `json:"transferSyntax"`
	InstanceNumber int       `json:"instanceNumber"`
	Frames         int       `json:"frames"`
	Rows           int       `json:"rows"`
	Columns        int       `json:"columns"`
	Size           int64     `json:"size"`   // bytes of the stored file
	SHA256         string    `json:"sha256"` // of the whole file, hex: the name of the stored file
	TaskID         string    `json:"taskId"` // the import that brought it,
	Entry          int64     `json:"entry"`  // and the index of the receipt row it stands in
	AddedAt        time.Time `json:"addedAt"`
}

// Outcome says what became of one file of an import or export.
type Outcome string

const (
	Imported      Outcome = "imported"
	Duplicate     Outcome = "duplicate" // the same bytes were here already
	Conflict      Outcome = "conflict"  // the same SOP Instance UID with other bytes; the first is kept
	NotDICOM      Outcome = "not-dicom"
	DICOMDIR      Outcome = "dicomdir"
	NestedArchive Outcome = "nested-archive" // deeper than one level
	Incomplete    Outcome = "incomplete"     // no study, series or SOP Instance UID
	Unreadable    Outcome = "unreadable"
	Refused       Outcome = "refused" // over a limit, or (export) not safe to let out
	Exported      Outcome = "exported"
)

// A Receipt is one row of a task's receipt: what became of one file. Rows are keyed (TaskID, Index).
type Receipt struct {
	TaskID         string  `json:"-"`
	Index          int64   `json:"index"` // position of the entry in what was sent, from 0
	Name           string  `json:"name"`  // the entry's own name; stands here and nowhere else
	Size           int64   `json:"size"`
	Outcome        Outcome `json:"outcome"`
	Reason         string  `json:"reason,omitempty"`
	SOPInstanceUID string  `json:"sopInstanceUid,omitempty"`
	SeriesUID      string  `json:"seriesUid,omitempty"`
	StudyUID       string  `json:"studyUid,omitempty"`
}

// An Arrival is one file of an import that proved to be a whole instance and whose bytes are stored.
type Arrival struct {
	Receipt  Receipt // Index, Name, Size and UIDs set; the store sets Outcome and Reason
	Series   Series  // facts for a series that does not exist yet; ID, LibraryID and counts are the store's
	Instance Instance
}
