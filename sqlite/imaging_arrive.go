package sqlite

import (
	"context"
	"errors"
	"slices"
	"time"

	"filmroom/imaging"
)

var (
	selectByUID    = "SELECT " + instanceColumns.names() + " FROM instances WHERE libraryId = ? AND sopInstanceUid = ?"
	insertInstance = instanceColumns.insertInto("instances")
	insertSeries   = seriesColumns.insertInto("series")
	replaceReceipt = receiptColumns.insertInto("receipts") + ` ON CONFLICT DO UPDATE SET
		outcome = excluded.outcome, name = excluded.name, size = excluded.size, reason = excluded.reason,
		sopInstanceUid = excluded.sopInstanceUid, seriesUid = excluded.seriesUid, studyUid = excluded.studyUid`
)

const (
	selectSeriesByUID = "SELECT seriesId FROM series WHERE libraryId = ? AND seriesUid = ?"
	addToSeries       = "UPDATE series SET instances = instances + ?, bytes = bytes + ? WHERE seriesId = ?"
	insertSeriesWord  = "INSERT INTO series_words (libraryId, word, row) VALUES (?, ?, ?)"
)

// Arrive runs in one transaction, so a batch of an import is there whole or not at all.
func (s *imagingStore) Arrive(ctx context.Context, libraryID, taskID string, batch []imaging.Arrival, others []imaging.Receipt, newID func() string, now time.Time) (rows []imaging.Receipt, err error) {
	err = s.db.write(ctx, func(tx *tx) error {
		a := &arriving{tx: tx, libraryID: libraryID, taskID: taskID, newID: newID, now: now, grown: map[string]growth{}}
		rows = make([]imaging.Receipt, 0, len(batch))
		for i := range batch {
			row, err := a.take(&batch[i])
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		if err := a.grow(); err != nil {
			return err
		}
		return putReceipts(tx, libraryID, taskID, slices.Concat(rows, others))
	})
	if err != nil {
		return nil, wrapN(err, "take in arrivals", len(batch))
	}
	return rows, nil
}

// arriving is one batch under way.
type arriving struct {
	tx                *tx
	libraryID, taskID string
	newID             func() string
	now               time.Time
	grown             map[string]growth // by series id
}

type growth struct{ instances, bytes int64 }

// take settles one arrival and keeps it if the library has nothing under its SOP Instance UID.
func (a *arriving) take(arrival *imaging.Arrival) (imaging.Receipt, error) {
	uid := arrival.Instance.SOPInstanceUID
	held, err := instanceColumns.one(a.tx.Stmt(selectByUID).Text(a.libraryID).Text(uid), imaging.ErrNotFound)
	if err == nil {
		return arrival.Met(a.taskID, &held), nil
	}
	if !errors.Is(err, imaging.ErrNotFound) {
		return imaging.Receipt{}, err
	}
	seriesID, err := a.series(arrival)
	if err != nil {
		return imaging.Receipt{}, err
	}
	instance := arrival.Took(a.libraryID, seriesID, a.taskID, a.now)
	g := a.grown[seriesID]
	a.grown[seriesID] = growth{g.instances + 1, g.bytes + instance.Size}
	return arrival.Met(a.taskID, nil), instanceColumns.bind(a.tx.Stmt(insertInstance), &instance).Run()
}

// series finds the series of an arrival or begins it.
func (a *arriving) series(arrival *imaging.Arrival) (id string, err error) {
	s := a.tx.Stmt(selectSeriesByUID).Text(a.libraryID).Text(arrival.Series.SeriesUID)
	if s.Next() {
		id = s.ReadText()
	}
	if err := s.Err(); err != nil || id != "" {
		return id, err
	}
	series := arrival.Began(a.libraryID, a.newID(), a.taskID, a.now)
	if err := seriesColumns.bind(a.tx.Stmt(insertSeries), &series).Run(); err != nil {
		return "", err
	}
	row := a.tx.LastRow()
	for _, w := range series.SearchWords() {
		if err := a.tx.Stmt(insertSeriesWord).Text(a.libraryID).Text(w).Int(row).Run(); err != nil {
			return "", err
		}
	}
	return series.ID, nil
}

// grow counts the batch into its series, once a series.
func (a *arriving) grow() error {
	for id, g := range a.grown {
		if err := a.tx.Stmt(addToSeries).Int(g.instances).Int(g.bytes).Text(id).Run(); err != nil {
			return err
		}
	}
	return nil
}
