package sqlite

import (
	"context"
	"errors"
	"time"

	"filmroom/imaging"
	"filmroom/sqlite/internal/lite"
)

// Imaging returns the store of libraries, series, instances and receipts.
func (db *DB) Imaging() imaging.Store { return &imagingStore{db} }

type imagingStore struct{ db *DB }

const (
	insertLibrary = "INSERT INTO libraries (libraryId, ownerId, createdAt) VALUES (?, ?, ?)"
	selectLibrary = "SELECT libraryId, ownerId, createdAt FROM libraries WHERE ownerId = ?"
)

func (s *imagingStore) LibraryOf(ctx context.Context, userID, newID string, now time.Time) (l imaging.Library, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		l, err = libraryOf(c, userID)
		return err
	})
	if errors.Is(err, imaging.ErrNotFound) {
		err = s.db.write(ctx, func(tx *tx) error {
			if l, err = libraryOf(tx.Conn, userID); !errors.Is(err, imaging.ErrNotFound) {
				return err
			}
			if err := tx.Stmt(insertLibrary).Text(newID).Text(userID).Time(now).Run(); err != nil {
				return err
			}
			l, err = libraryOf(tx.Conn, userID)
			return err
		})
	}
	return l, wrap(err, "get library of user", userID)
}

func libraryOf(c *lite.Conn, userID string) (l imaging.Library, err error) {
	s := c.Stmt(selectLibrary).Text(userID)
	if s.Next() {
		l = imaging.Library{ID: s.ReadText(), OwnerID: s.ReadText(), CreatedAt: s.ReadTime()}
	}
	if err := s.Err(); err != nil || l.ID != "" {
		return l, err
	}
	return l, imaging.ErrNotFound
}

func (s *imagingStore) Series(ctx context.Context, libraryID, seriesID string) (series imaging.Series, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		series, err = seriesColumns.one(c.Stmt(selectSeries).Text(seriesID).Text(libraryID), imaging.ErrNotFound)
		return err
	})
	return series, wrap(err, "get series", seriesID)
}

var (
	selectSeries         = "SELECT " + seriesColumns.names() + " FROM series WHERE seriesId = ? AND libraryId = ?"
	selectFirstInstances = "SELECT " + instanceColumns.names() + ` FROM instances WHERE seriesId = ? AND libraryId = ?
		ORDER BY instanceNumber, sopInstanceUid LIMIT ?`
	selectNextInstances = "SELECT " + instanceColumns.names() + ` FROM instances WHERE seriesId = ? AND libraryId = ?
		AND (instanceNumber, sopInstanceUid) > (?, ?) ORDER BY instanceNumber, sopInstanceUid LIMIT ?`
)

func (s *imagingStore) Instances(ctx context.Context, libraryID, seriesID string, after *imaging.Instance, limit int) (all []imaging.Instance, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		stmt := c.Stmt(selectFirstInstances).Text(seriesID).Text(libraryID)
		if after != nil {
			stmt = c.Stmt(selectNextInstances).Text(seriesID).Text(libraryID).
				Int(int64(after.InstanceNumber)).Text(after.SOPInstanceUID)
		}
		all, err = instanceColumns.all(stmt.Int(int64(limit)))
		return err
	})
	return all, wrap(err, "list instances of series", seriesID)
}

const (
	selectRowOfSeries = "SELECT row FROM series WHERE seriesId = ? AND libraryId = ?"
	deleteInstances   = "DELETE FROM instances WHERE seriesId = ?"
	deleteSeries      = "DELETE FROM series WHERE row = ?"
	deleteSeriesWord  = "DELETE FROM series_words WHERE libraryId = ? AND word = ? AND row = ?"
)

func (s *imagingStore) DeleteSeries(ctx context.Context, libraryID, seriesID string) error {
	err := s.db.write(ctx, func(tx *tx) error {
		series, err := seriesColumns.one(tx.Stmt(selectSeries).Text(seriesID).Text(libraryID), imaging.ErrNotFound)
		if err != nil {
			return err
		}
		row, err := number(tx.Stmt(selectRowOfSeries).Text(seriesID).Text(libraryID))
		if err != nil {
			return err
		}
		for _, w := range series.SearchWords() {
			if err := tx.Stmt(deleteSeriesWord).Text(libraryID).Text(w).Int(row).Run(); err != nil {
				return err
			}
		}
		if err := tx.Stmt(deleteInstances).Text(seriesID).Run(); err != nil {
			return err
		}
		return tx.Stmt(deleteSeries).Int(row).Run()
	})
	return wrap(err, "delete series", seriesID)
}

const anyInstance = "SELECT EXISTS (SELECT 1 FROM instances WHERE sha256 = ?)"

func (s *imagingStore) Referred(ctx context.Context, sha256 []string) (map[string]bool, error) {
	referred := make(map[string]bool, len(sha256))
	err := s.db.read(ctx, func(c *lite.Conn) error {
		for _, hash := range sha256 {
			n, err := number(c.Stmt(anyInstance).Text(hash))
			if err != nil {
				return err
			}
			if n != 0 {
				referred[hash] = true
			}
		}
		return nil
	})
	return referred, wrapN(err, "look for references to files", len(sha256))
}
