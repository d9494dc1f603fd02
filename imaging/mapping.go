package imaging

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"filmroom/dicom/deid"
	"filmroom/tasks"
)

// A Mapped is one image of an export, as it was and as it left.
type Mapped struct {
	Name                        string // in the archive
	PatientID, Pseudonym        string
	StudyUID, NewStudyUID       string
	SeriesUID, NewSeriesUID     string
	InstanceUID, NewInstanceUID string
}

// MappedColumns are the names of a Mapped's fields, as programs read them.
var MappedColumns = []string{"name", "patientId", "newPatientId", "studyUid", "newStudyUid", "seriesUid", "newSeriesUid", "sopInstanceUid", "newSopInstanceUid"}

// Fields are the values of MappedColumns.
func (m *Mapped) Fields() []string {
	return []string{m.Name, m.PatientID, m.Pseudonym, m.StudyUID, m.NewStudyUID, m.SeriesUID, m.NewSeriesUID, m.InstanceUID, m.NewInstanceUID}
}

// Mapping leads the images of an export back to whom they are about. It is never part of the archive, is for
// the owner of the export alone, administrators not excepted, and is there as long as the archive is: the
// errors are those of [tasks.Manager.OpenFile].
func (d *Desk) Mapping(ctx context.Context, p tasks.Person, taskID string) (iter.Seq2[Mapped, error], error) {
	t, archive, err := d.tasks.OpenFile(ctx, p, taskID)
	if err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if t.UserID != p.UserID || t.Kind != exportKindName {
		return nil, tasks.ErrNotFound
	}
	var args exportArgs
	if err := json.Unmarshal(t.Args, &args); err != nil {
		return nil, fmt.Errorf("mapping of %s: %w", taskID, err)
	}
	hidden := &secret{}
	if err := d.sealer.open(t.ID, t.Sealed, hidden); err != nil {
		return nil, fmt.Errorf("mapping of %s: %w", taskID, err)
	}
	return d.mapping(ctx, taskID, hidden, hidden.mapping(args.Options)), nil
}

// mapping gives the UID that stands for another under the options that are on.
func (s *secret) mapping(options []string) func(uid string) string {
	if slices.Contains(options, "retainUids") {
		return func(uid string) string { return uid }
	}
	key := s.uidKey()
	return func(uid string) string { return deid.MapUID(key, uid) }
}

// mapping reads the receipt, batch by batch.
func (d *Desk) mapping(ctx context.Context, taskID string, hidden *secret, mapped func(string) string) iter.Seq2[Mapped, error] {
	chosen := make(map[string]chosen, len(hidden.Series))
	for _, s := range hidden.Series {
		chosen[s.SeriesUID] = s
	}
	q := ReceiptQuery{TaskID: taskID, Outcomes: []Outcome{Exported}, After: -1, Limit: batchRows}
	return func(yield func(Mapped, error) bool) {
		for {
			rows, err := d.cfg.Store.Receipts(ctx, q)
			if err != nil {
				yield(Mapped{}, err)
				return
			}
			for _, r := range rows {
				who := chosen[r.SeriesUID]
				if !yield(Mapped{
					Name: r.Name, PatientID: who.PatientID, Pseudonym: who.Pseudonym,
					StudyUID: r.StudyUID, NewStudyUID: mapped(r.StudyUID), SeriesUID: r.SeriesUID, NewSeriesUID: mapped(r.SeriesUID),
					InstanceUID: r.SOPInstanceUID, NewInstanceUID: mapped(r.SOPInstanceUID),
				}, nil) {
					return
				}
			}
			if len(rows) < q.Limit {
				return
			}
			q.After = rows[len(rows)-1].Index
		}
	}
}
