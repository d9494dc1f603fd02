package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"filmroom/accounts"
)

// expiredBatch bounds what one call of DeleteExpiredSessions removes.
const expiredBatch = 1000

// PutSession implements [accounts.Store].
func (s *Accounts) PutSession(ctx context.Context, v accounts.Session) error {
	write, done, err := s.db.begun(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = s.db.sessions.ReplaceOne(write, with("_id", v.Hash), sessionDoc(v), options.Replace().SetUpsert(true))
	return wrap(err, "keep a session")
}

// Session implements [accounts.Store].
func (s *Accounts) Session(ctx context.Context, hash string, now time.Time) (accounts.Session, error) {
	valid := bson.D{is("_id", hash), is("expiresAt", with("$gt", now))}
	doc, err := one[sessionDoc](ctx, s.db.sessions, valid, accounts.ErrNotFound)
	return accounts.Session(doc), wrap(err, "get a session")
}

// DeleteSession implements [accounts.Store].
func (s *Accounts) DeleteSession(ctx context.Context, hash string) error {
	return s.ending(ctx, "delete a session", func(ctx context.Context) error {
		_, err := s.db.sessions.DeleteOne(ctx, with("_id", hash))
		return err
	})
}

// DeleteSessions implements [accounts.Store].
func (s *Accounts) DeleteSessions(ctx context.Context, userID, exceptHash string) error {
	return s.ending(ctx, "delete the sessions of user "+userID, func(ctx context.Context) error {
		_, err := s.db.sessions.DeleteMany(ctx, bson.D{is("userId", userID), is("_id", with("$ne", exceptHash))})
		return err
	})
}

// DeleteExpiredSessions implements [accounts.Store].
func (s *Accounts) DeleteExpiredSessions(ctx context.Context, now time.Time) (int, error) {
	expired := is("expiresAt", with("$lte", now))
	docs, err := all[sessionDoc](ctx, s.db.sessions, bson.D{expired},
		options.Find().SetLimit(expiredBatch).SetProjection(with("_id", 1)))
	if err != nil || len(docs) == 0 {
		return 0, wrap(err, "find sessions that have expired")
	}
	write, done, err := s.db.begun(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	hashes := make([]string, len(docs))
	for i, d := range docs {
		hashes[i] = d.Hash
	}
	// Once more by time: one of them may have been extended meanwhile.
	result, err := s.db.sessions.DeleteMany(write, bson.D{is("_id", with("$in", hashes)), expired})
	if err != nil {
		return 0, wrap(err, "delete sessions that have expired")
	}
	return int(result.DeletedCount), nil
}

const versionID = "accounts"

type versionDoc struct {
	ID      string `bson:"_id"`
	Version int64  `bson:"version"`
}

// Version implements [accounts.Store].
func (s *Accounts) Version(ctx context.Context) (int64, error) {
	doc, err := one[versionDoc](ctx, s.db.meta, with("_id", versionID), nil)
	return doc.Version, wrap(err, "read the version of accounts")
}

// ending makes a change that may end somebody's right and then raises the version. It is raised last, so that
// who sees it raised sees the change as well.
func (s *Accounts) ending(ctx context.Context, what string, change func(context.Context) error) error {
	write, done, err := s.db.begun(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := change(write); err != nil {
		return wrap(err, "%s", what)
	}
	_, err = s.db.meta.UpdateOne(write, with("_id", versionID), with("$inc", with("version", 1)))
	return wrap(err, "%s: tell of it", what)
}
