package mongo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// DefaultDatabase is used where neither the URI nor the options name one.
const DefaultDatabase = "filmroom"

// Options say how to use the server. The zero value is fine.
type Options struct {
	Database string        // "" is the URI's, else [DefaultDatabase]
	Timeout  time.Duration // for finding the server, and for a write that has begun; 0 is 10 s

	configure func(*options.ClientOptions) // for tests that look at what is sent
}

// A DB is an open database with the three stores in it. It may be used by many goroutines at once.
type DB struct {
	client  *driver.Client
	name    string
	timeout time.Duration
	seal    seal

	tasks, logs, processes                *driver.Collection
	libraries, series, instances, receipt *driver.Collection
	users, tokens, sessions, audit, meta  *driver.Collection
	lanes, holds, turns, deletions        *driver.Collection
	receiptOf                             *driver.Collection
}

// Open connects to the server, brings the database to this program's schema and completes what a crash
// left half done. An error names the server's hosts, never its credentials.
func Open(ctx context.Context, uri string, o Options) (*DB, error) {
	parsed, err := connstring.ParseAndValidate(uri)
	if err != nil {
		return nil, errors.New("the MongoDB URI is not one: mongodb://host:port/database or mongodb+srv://host/database is expected")
	}
	if o.Database == "" {
		o.Database = parsed.Database
	}
	if o.Database == "" {
		o.Database = DefaultDatabase
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	client, err := driver.Connect(clientOptions(uri, o))
	if err != nil {
		return nil, fmt.Errorf("use MongoDB at %v: %w", parsed.Hosts, err)
	}
	db := newDB(client, o)
	if err := db.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open MongoDB at %v: %w", parsed.Hosts, err), db.Close(ctx))
	}
	return db, nil
}

// clientOptions fix what the stores rely on, whatever the URI says: reads from the primary, and writes that
// a majority has in its journal.
func clientOptions(uri string, o Options) *options.ClientOptions {
	durable := writeconcern.Majority()
	journal := true
	durable.Journal = &journal
	c := options.Client().ApplyURI(uri).
		SetAppName("filmroom").
		SetServerSelectionTimeout(o.Timeout).
		SetReadPreference(readpref.Primary()).
		SetWriteConcern(durable).
		SetRegistry(registry()).
		SetBSONOptions(&options.BSONOptions{UseJSONStructTags: true})
	if o.configure != nil {
		o.configure(c)
	}
	return c
}

func newDB(client *driver.Client, o Options) *DB {
	in := client.Database(o.Database)
	return &DB{
		client: client, name: o.Database, timeout: o.Timeout,
		tasks: in.Collection("tasks"), logs: in.Collection("task_logs"), processes: in.Collection("processes"),
		libraries: in.Collection("libraries"), series: in.Collection("series"),
		instances: in.Collection("instances"), receipt: in.Collection("receipts"),
		users: in.Collection("users"), tokens: in.Collection("tokens"), sessions: in.Collection("sessions"),
		audit: in.Collection("audit"), meta: in.Collection("meta"),
		lanes: in.Collection("lanes"), holds: in.Collection("holds"), turns: in.Collection("turns"), deletions: in.Collection("deletions"),
		receiptOf: in.Collection("receipt_libraries"),
	}
}

func (db *DB) prepare(ctx context.Context) error {
	if err := db.Ping(ctx); err != nil {
		return err
	}
	if err := db.migrate(ctx); err != nil {
		return err
	}
	if err := db.readSeal(ctx); err != nil {
		return err
	}
	if err := db.finishDeleting(ctx); err != nil {
		return err
	}
	return db.Tasks().finishDeletions(ctx)
}

// Ping asks whether the server answers.
func (db *DB) Ping(ctx context.Context) error {
	return db.client.Ping(ctx, readpref.Primary())
}

// Close ends all connections. Calls under way fail.
func (db *DB) Close(ctx context.Context) error {
	if err := db.client.Disconnect(ctx); err != nil && !errors.Is(err, driver.ErrClientDisconnected) {
		return fmt.Errorf("close MongoDB: %w", err)
	}
	return nil
}

// begun returns the context of a write: once it has begun, the caller's going away no longer stops it, so
// that what is reported is what became of it. The error is the caller's when it had gone before.
func (db *DB) begun(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	write, cancel := context.WithTimeout(context.WithoutCancel(ctx), db.timeout)
	return write, cancel, nil
}

// all reads a query to its end.
func all[T any](ctx context.Context, c *driver.Collection, filter any, o ...options.Lister[options.FindOptions]) ([]T, error) {
	cursor, err := c.Find(ctx, filter, o...)
	if err != nil {
		return nil, err
	}
	var found []T
	err = cursor.All(ctx, &found)
	return found, err
}

// one reads a single document; missing is the error when there is none.
func one[T any](ctx context.Context, c *driver.Collection, filter bson.D, missing error) (T, error) {
	var found T
	err := c.FindOne(ctx, filter).Decode(&found)
	if errors.Is(err, driver.ErrNoDocuments) {
		return found, missing
	}
	return found, err
}

// is is one field of a filter or an update.
func is(field string, value any) bson.E { return bson.E{Key: field, Value: value} }

// with is a document of one field, as operators take it.
func with(operator string, value any) bson.D { return bson.D{is(operator, value)} }
