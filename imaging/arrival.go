package imaging

import (
	"time"

	"filmroom/tasks"
)

// Words of [Receipt.Reason] for what an arrival met.
const (
	ReasonDuplicate = "this image is already in the library"
	ReasonConflict  = "the library has another image with this SOP Instance UID; it was kept"
)

// Met returns the receipt row of a when held is what the library holds under its SOP Instance UID, nil
// for nothing. Every [Store] decides by it, so that they cannot drift apart. taskID is the import's.
func (a *Arrival) Met(taskID string, held *Instance) Receipt {
	r := a.Receipt
	r.TaskID = taskID
	r.Outcome, r.Reason = Imported, ""
	switch {
	case held == nil || held.TaskID == taskID && held.Entry == r.Index:
	case held.SHA256 == a.Instance.SHA256:
		r.Outcome, r.Reason = Duplicate, ReasonDuplicate
	default:
		r.Outcome, r.Reason = Conflict, ReasonConflict
	}
	return r
}

// Took returns the instance that a becomes when the library holds none under its SOP Instance UID.
func (a *Arrival) Took(libraryID, seriesID, taskID string, now time.Time) Instance {
	i := a.Instance
	i.LibraryID, i.SeriesID = libraryID, seriesID
	i.TaskID, i.Entry, i.AddedAt = taskID, a.Receipt.Index, tasks.Millis(now)
	return i
}

// Began returns the series that a begins when its library has none of its UID.
func (a *Arrival) Began(libraryID, id, taskID string, now time.Time) Series {
	s := a.Series
	s.ID, s.LibraryID, s.TaskID, s.ImportedAt = id, libraryID, taskID, tasks.Millis(now)
	s.Instances, s.Bytes = 0, 0
	return s
}
