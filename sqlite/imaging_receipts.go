package sqlite

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"filmroom/imaging"
	"filmroom/sqlite/internal/lite"
)

var (
	// lower() and instr() know ASCII's cases alone, as the query promises, and take names as bytes.
	ofReceipt       = `taskId = ? AND "index" > ? AND (? = '' OR instr(lower(name), ?) > 0)`
	selectReceipts  = "SELECT " + receiptColumns.names() + " FROM receipts WHERE " + ofReceipt + ` ORDER BY "index" LIMIT ?`
	selectByOutcome = "SELECT " + receiptColumns.names() + " FROM receipts INDEXED BY receipts_outcome WHERE outcome = ? AND " + ofReceipt + ` ORDER BY "index" LIMIT ?`
)

const (
	countOutcomes        = "SELECT outcome, count(*) FROM receipts WHERE taskId = ? GROUP BY outcome"
	insertReceiptLibrary = "INSERT OR IGNORE INTO receipt_libraries (taskId, libraryId) VALUES (?, ?)"
	selectReceiptLibrary = "SELECT libraryId FROM receipt_libraries WHERE taskId = ?"
)

func (s *imagingStore) PutReceipts(ctx context.Context, libraryID, taskID string, rows []imaging.Receipt) error {
	err := s.db.write(ctx, func(tx *tx) error { return putReceipts(tx, libraryID, taskID, rows) })
	return wrapN(err, "put receipt rows", len(rows))
}

func putReceipts(tx *tx, libraryID, taskID string, rows []imaging.Receipt) error {
	if len(rows) == 0 {
		return nil
	}
	if err := tx.Stmt(insertReceiptLibrary).Text(taskID).Text(libraryID).Run(); err != nil {
		return err
	}
	for _, row := range rows {
		row.TaskID = taskID
		if err := receiptColumns.bind(tx.Stmt(replaceReceipt), &row).Run(); err != nil {
			return err
		}
	}
	return nil
}

func (s *imagingStore) ReceiptLibrary(ctx context.Context, taskID string) (libraryID string, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		stmt := c.Stmt(selectReceiptLibrary).Text(taskID)
		if !stmt.Next() {
			return cmp.Or(stmt.Err(), imaging.ErrNotFound)
		}
		libraryID = stmt.ReadText()
		return stmt.Err()
	})
	return libraryID, wrap(err, "find the receipt of task", taskID)
}

func (s *imagingStore) Receipts(ctx context.Context, q imaging.ReceiptQuery) (rows []imaging.Receipt, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		rows, err = receipts(c, q)
		return err
	})
	return rows, wrap(err, "read the receipt of task", q.TaskID)
}

// receipts reads a page. Several outcomes are several ranges of an index, merged.
func receipts(c *lite.Conn, q imaging.ReceiptQuery) (rows []imaging.Receipt, err error) {
	search := lowerASCII(q.Search)
	of := func(s *lite.Stmt) ([]imaging.Receipt, error) {
		return receiptColumns.all(s.Text(q.TaskID).Int(q.After).Text(search).Text(search).Int(int64(q.Limit)))
	}
	if len(q.Outcomes) == 0 {
		return of(c.Stmt(selectReceipts))
	}
	for _, outcome := range slices.Compact(slices.Sorted(slices.Values(q.Outcomes))) {
		some, err := of(c.Stmt(selectByOutcome).Text(string(outcome)))
		if err != nil {
			return nil, err
		}
		rows = append(rows, some...)
	}
	slices.SortFunc(rows, func(a, b imaging.Receipt) int { return cmp.Compare(a.Index, b.Index) })
	return rows[:min(len(rows), q.Limit)], nil
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

func (s *imagingStore) Outcomes(ctx context.Context, taskID string) (map[imaging.Outcome]int, error) {
	counts := map[imaging.Outcome]int{}
	err := s.db.read(ctx, func(c *lite.Conn) error {
		stmt := c.Stmt(countOutcomes).Text(taskID)
		for stmt.Next() {
			outcome := imaging.Outcome(stmt.ReadText())
			counts[outcome] = int(stmt.ReadInt())
		}
		return stmt.Err()
	})
	return counts, wrap(err, "count the receipt of task", taskID)
}
