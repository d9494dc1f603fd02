package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"filmroom/accounts"
)

// AddAudit implements [accounts.Store].
func (s *Accounts) AddAudit(ctx context.Context, e accounts.AuditEntry) error {
	write, done, err := s.db.begun(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = s.db.audit.InsertOne(write, auditDoc{ID: e.ID, AuditEntry: e})
	return wrap(err, "add entry %s to the audit log", e.ID)
}

// Audit implements [accounts.Store].
func (s *Accounts) Audit(ctx context.Context, q accounts.AuditQuery) (accounts.AuditPage, error) {
	if err := q.Check(); err != nil {
		return accounts.AuditPage{}, err
	}
	newest := with("_id", -1)
	if !q.From.IsZero() || !q.To.IsZero() {
		newest = bson.D{is("at", -1), is("_id", -1)} // the same order, as an id begins with its time
	}
	size := q.Size()
	docs, err := all[auditDoc](ctx, s.db.audit, auditFilter(q), options.Find().SetSort(newest).SetLimit(int64(size)+1))
	if err != nil {
		return accounts.AuditPage{}, wrap(err, "read the audit log")
	}
	page := accounts.AuditPage{Items: make([]accounts.AuditEntry, min(size, len(docs)))}
	for i := range page.Items {
		page.Items[i] = docs[i].AuditEntry
	}
	if len(docs) > size {
		page.NextCursor = docs[size-1].ID
	}
	return page, nil
}

func auditFilter(q accounts.AuditQuery) bson.D {
	ids := with("$gt", "")
	if q.Cursor != "" {
		ids = append(ids, is("$lt", q.Cursor))
	}
	f := bson.D{is("_id", ids)}
	for _, equal := range []struct{ field, value string }{{"userId", q.UserID}, {"action", q.Action}, {"target", q.Target}} {
		if equal.value != "" {
			f = append(f, is(equal.field, equal.value))
		}
	}
	times := bson.D{}
	if !q.From.IsZero() {
		times = append(times, is("$gte", q.From))
	}
	if !q.To.IsZero() {
		times = append(times, is("$lt", q.To))
	}
	if len(times) > 0 {
		f = append(f, is("at", times))
	}
	return f
}
