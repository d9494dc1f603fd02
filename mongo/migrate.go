package mongo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// migrations bring a database from one version of the schema to the next; the first to version 1. Each may
// run twice, or in two processes at once, for a server without transactions cannot prevent it. One that has
// been released is never changed.
var migrations = []func(context.Context, *DB) error{
	begin,
	addLanes,
	addAudit,
	addReceiptLibraries,
}

const schemaID = "schema"

// migrate runs the migrations that the database has not had.
func (db *DB) migrate(ctx context.Context) error {
	type schema struct {
		Version int `bson:"version"`
	}
	var have schema
	have, err := one[schema](ctx, db.meta, with("_id", schemaID), nil)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if have.Version > len(migrations) {
		return fmt.Errorf("the database has version %d of the schema, this program knows up to %d: use a newer program",
			have.Version, len(migrations))
	}
	for v := have.Version; v < len(migrations); v++ {
		if err := migrations[v](ctx, db); err != nil {
			return fmt.Errorf("migrate to version %d of the schema: %w", v+1, err)
		}
		higher := with("$max", with("version", v+1))
		if _, err := db.meta.UpdateOne(ctx, with("_id", schemaID), higher, options.UpdateOne().SetUpsert(true)); err != nil {
			return fmt.Errorf("note version %d of the schema: %w", v+1, err)
		}
	}
	return nil
}

// begin makes an empty database ready.
func begin(ctx context.Context, db *DB) error {
	if err := makeIndexes(ctx, db); err != nil {
		return err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	for _, doc := range []any{versionDoc{ID: versionID}, keyDoc{ID: keyID, Key: key}} {
		if _, err := db.meta.InsertOne(ctx, doc); err != nil && !driver.IsDuplicateKeyError(err) {
			return err
		}
	}
	return nil
}

// makeIndexes makes an index for each query of the three stores.
func makeIndexes(ctx context.Context, db *DB) error {
	for _, c := range []struct {
		in      *driver.Collection
		indexes []driver.IndexModel
	}{
		{db.tasks, taskIndexes()},
		{db.logs, []driver.IndexModel{index("taskId", "seq")}},
		{db.processes, []driver.IndexModel{index("expiresAt")}},
		{db.libraries, []driver.IndexModel{unique("ownerId")}},
		{db.series, seriesIndexes()},
		{db.instances, []driver.IndexModel{
			index("libraryId", "seriesId", "instanceNumber", "sopInstanceUid", "size"),
			index("sha256"),
		}},
		{db.receipt, []driver.IndexModel{index("taskId", "outcome", "index")}},
		{db.users, []driver.IndexModel{unique("emailKey"), unique("seat")}},
		{db.tokens, []driver.IndexModel{unique("hash"), index("userId", "_id")}},
		{db.sessions, []driver.IndexModel{index("userId"), index("expiresAt")}},
	} {
		if _, err := c.in.Indexes().CreateMany(ctx, c.indexes); err != nil {
			return fmt.Errorf("index %s: %w", c.in.Name(), err)
		}
	}
	return nil
}

// addLanes makes what lanes that people steer are found by.
func addLanes(ctx context.Context, db *DB) error {
	for _, c := range []struct {
		in      *driver.Collection
		indexes []driver.IndexModel
	}{
		{db.tasks, []driver.IndexModel{
			index("lane", "status", "priority", "partitionKey", "availableAt", "_id", "lockKey"), // claims
			index("lane", "status", "lease.expiresAt"),                                           // who has a slot
			index("lockKey", "status", "lease.expiresAt"),                                        // who has a lock
			index("status", "availableAt", "lane"),                                               // loads
			index("unfollowed", "_id"),
		}},
		{db.holds, []driver.IndexModel{index("lane")}},
		{db.turns, []driver.IndexModel{index("lane", "turn")}},
	} {
		if _, err := c.in.Indexes().CreateMany(ctx, c.indexes); err != nil {
			return fmt.Errorf("index %s: %w", c.in.Name(), err)
		}
	}
	return nil
}

// addAudit makes what the audit log is read by.
func addAudit(ctx context.Context, db *DB) error {
	_, err := db.audit.Indexes().CreateMany(ctx, []driver.IndexModel{
		index("userId", "_id"), index("action", "_id"), index("target", "_id"), index("at", "_id"),
	})
	return err
}

// addReceiptLibraries notes whose the receipts are of the tasks that stand, library by library. Imports whose
// task is gone are known by the series that they began.
func addReceiptLibraries(ctx context.Context, db *DB) error {
	libraries, err := db.libraries.Find(ctx, bson.D{})
	if err != nil {
		return err
	}
	defer libraries.Close(ctx)
	for libraries.Next(ctx) {
		var l libraryDoc
		if err := libraries.Decode(&l); err != nil {
			return err
		}
		if err := db.ownReceiptsBy(ctx, l.ID, db.tasks, with("userId", l.OwnerID), "_id"); err != nil {
			return err
		}
		if err := db.ownReceiptsBy(ctx, l.ID, db.series, with("libraryId", l.ID), "taskId"); err != nil {
			return err
		}
	}
	return libraries.Err()
}

// ownReceiptsBy notes the tasks that a field of a collection's documents names, some at a time.
func (db *DB) ownReceiptsBy(ctx context.Context, libraryID string, in *driver.Collection, filter bson.D, field string) error {
	found, err := in.Find(ctx, filter, options.Find().SetProjection(with(field, 1)))
	if err != nil {
		return err
	}
	defer found.Close(ctx)
	var ids []string
	for found.Next(ctx) {
		if id, ok := found.Current.Lookup(field).StringValueOK(); ok && id != "" {
			ids = append(ids, id)
		}
		if len(ids) == 500 {
			if err := db.ownReceipts(ctx, libraryID, ids); err != nil {
				return err
			}
			ids = ids[:0]
		}
	}
	return errors.Join(found.Err(), db.ownReceipts(ctx, libraryID, ids))
}

func taskIndexes() []driver.IndexModel {
	return []driver.IndexModel{
		unique("userId", "idempotencyKey"),
		unique("userId", "dedupeKey"),
		index("lane", "status", "priority", "availableAt", "_id"), // claims, places
		index("lane", "status", "availableAt"),
		index("status", "lease.expiresAt"), // stale ones
		index("changedAt"),                 // what other processes follow
		index("userId", "createdAt", "_id"),
		index("userId", "status", "createdAt", "_id"),
		index("userId", "endedAt", "_id"),
		index("userId", "words"),
		index("createdAt", "_id"), // everybody's
		index("status", "createdAt", "_id"),
		index("endedAt", "_id"),
		index("userId", "status", "kind", "dismissed"), // counts
		index("status", "kind", "lane", "dismissed"),
	}
}

func seriesIndexes() []driver.IndexModel {
	return []driver.IndexModel{
		unique("libraryId", "seriesUid"),
		index("libraryId", "importedAt", "_id"),
		index("libraryId", "studyDate", "_id"),
		index("libraryId", "patientName", "_id"),
		index("libraryId", "nameKey"),
		index("libraryId", "patientId"),
		index("libraryId", "studyUid"),
		index("libraryId", "taskId"),
		index("libraryId", "words"),
	}
}

func index(fields ...string) driver.IndexModel {
	keys := bson.D{}
	for _, f := range fields {
		keys = append(keys, is(f, 1))
	}
	return driver.IndexModel{Keys: keys}
}

func unique(fields ...string) driver.IndexModel {
	m := index(fields...)
	m.Options = options.Index().SetUnique(true)
	return m
}
