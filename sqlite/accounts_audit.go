package sqlite

import (
	"context"
	"math"
	"strings"
	"time"

	"filmroom/accounts"
	"filmroom/sqlite/internal/lite"
)

var auditColumns = codec[accounts.AuditEntry]{
	timeColumn("at", func(e *accounts.AuditEntry) *time.Time { return &e.At }),
	textColumn("id", func(e *accounts.AuditEntry) *string { return &e.ID }),
	textColumn("userId", func(e *accounts.AuditEntry) *string { return &e.UserID }),
	textColumn("email", func(e *accounts.AuditEntry) *string { return &e.Email }),
	textColumn("action", func(e *accounts.AuditEntry) *string { return &e.Action }),
	textColumn("target", func(e *accounts.AuditEntry) *string { return &e.Target }),
	textColumn("note", func(e *accounts.AuditEntry) *string { return &e.Note }),
	textColumn("address", func(e *accounts.AuditEntry) *string { return &e.Address }),
}

var insertAudit = auditColumns.insertInto("audit")

func (s *accountStore) AddAudit(ctx context.Context, e accounts.AuditEntry) error {
	err := s.db.write(ctx, func(tx *tx) error {
		return auditColumns.bind(tx.Stmt(insertAudit), &e).Run()
	})
	return wrap(err, "add audit entry", e.ID)
}

func (s *accountStore) Audit(ctx context.Context, q accounts.AuditQuery) (page accounts.AuditPage, err error) {
	if err := q.Check(); err != nil {
		return page, err
	}
	err = s.db.read(ctx, func(c *lite.Conn) error {
		page, err = auditPage(c, &q)
		return err
	})
	return page, wrap(err, "read the audit log", "")
}

func auditPage(c *lite.Conn, q *accounts.AuditQuery) (page accounts.AuditPage, err error) {
	before, err := auditEnd(c, q)
	if err != nil {
		return page, err
	}
	var where strings.Builder
	var values []string
	for _, f := range []struct{ is, value string }{
		{"userId = ? AND ", q.UserID}, {"action = ? AND ", q.Action}, {"target <> '' AND target = ? AND ", q.Target},
	} {
		if f.value != "" {
			where.WriteString(f.is)
			values = append(values, f.value)
		}
	}
	stmt := c.Stmt("SELECT " + auditColumns.names() + " FROM audit WHERE " + where.String() +
		"at >= ? AND (at, id) < (?, ?) ORDER BY at DESC, id DESC LIMIT ?")
	for _, v := range values {
		stmt.Text(v)
	}
	from := int64(math.MinInt64)
	if !q.From.IsZero() {
		from = ceilMillis(q.From)
	}
	page.Items, err = auditColumns.all(stmt.Int(from).Int(before.at).Text(before.id).Int(int64(q.Size()) + 1))
	if err == nil && len(page.Items) > q.Size() {
		page.Items = page.Items[:q.Size()]
		page.NextCursor = page.Items[q.Size()-1].ID
	}
	return page, err
}

const selectAuditTime = "SELECT at FROM audit WHERE id = ?"

// auditEnd is what a page's entries come before: the cursor's entry, or the end of the query's time.
func auditEnd(c *lite.Conn, q *accounts.AuditQuery) (place, error) {
	end := place{at: math.MaxInt64}
	if !q.To.IsZero() {
		end.at = ceilMillis(q.To)
	}
	if q.Cursor == "" {
		return end, nil
	}
	s := c.Stmt(selectAuditTime).Text(q.Cursor)
	found := s.Next()
	last := place{id: q.Cursor}
	if found {
		last.at = s.ReadInt()
	}
	if err := s.Err(); err != nil {
		return end, err
	}
	if !found {
		return end, accounts.ErrCursor // no page ever ended there: entries stay for good
	}
	if last.before(end) {
		end = last
	}
	return end, nil
}
