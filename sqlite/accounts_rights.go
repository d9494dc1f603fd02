package sqlite

import (
	"context"
	"errors"
	"time"

	"filmroom/accounts"
	"filmroom/sqlite/internal/lite"
)

var tokenColumns = codec[accounts.Token]{
	textColumn("id", func(t *accounts.Token) *string { return &t.ID }),
	textColumn("userId", func(t *accounts.Token) *string { return &t.UserID }),
	textColumn("name", func(t *accounts.Token) *string { return &t.Name }),
	textColumn("hash", func(t *accounts.Token) *string { return &t.Hash }),
	timeColumn("createdAt", func(t *accounts.Token) *time.Time { return &t.CreatedAt }),
	timeColumn("lastUsedAt", func(t *accounts.Token) *time.Time { return &t.LastUsedAt }),
}

var sessionColumns = codec[accounts.Session]{
	textColumn("hash", func(s *accounts.Session) *string { return &s.Hash }),
	textColumn("userId", func(s *accounts.Session) *string { return &s.UserID }),
	blobColumn("data", func(s *accounts.Session) *[]byte { return &s.Data }),
	timeColumn("expiresAt", func(s *accounts.Session) *time.Time { return &s.ExpiresAt }),
}

var (
	insertToken       = tokenColumns.insertInto("tokens")
	selectTokens      = "SELECT " + tokenColumns.names() + " FROM tokens WHERE userId = ? ORDER BY id"
	selectTokenByHash = "SELECT " + tokenColumns.names() + " FROM tokens WHERE hash = ?"
	replaceSession    = sessionColumns.insertInto("sessions") +
		" ON CONFLICT DO UPDATE SET userId = excluded.userId, data = excluded.data, expiresAt = excluded.expiresAt"
	selectSession = "SELECT " + sessionColumns.names() + " FROM sessions WHERE hash = ? AND expiresAt > ?"
)

const (
	deleteToken    = "DELETE FROM tokens WHERE id = ? AND userId = ?"
	tokenUsed      = "UPDATE tokens SET lastUsedAt = ? WHERE id = ?"
	deleteSession  = "DELETE FROM sessions WHERE hash = ?"
	deleteSessions = "DELETE FROM sessions WHERE userId = ? AND hash <> ?"
	// The limit keeps one write from holding up the others.
	deleteExpired = "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE expiresAt <= ? LIMIT 500)"
)

func (s *accountStore) AddToken(ctx context.Context, t accounts.Token) error {
	err := s.db.write(ctx, func(tx *tx) error { return tokenColumns.bind(tx.Stmt(insertToken), &t).Run() })
	return wrap(err, "add token", t.ID)
}

func (s *accountStore) Tokens(ctx context.Context, userID string) (all []accounts.Token, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		all, err = tokenColumns.all(c.Stmt(selectTokens).Text(userID))
		return err
	})
	return all, wrap(err, "list tokens", "")
}

func (s *accountStore) TokenByHash(ctx context.Context, hash string) (t accounts.Token, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		t, err = tokenColumns.one(c.Stmt(selectTokenByHash).Text(hash), accounts.ErrNotFound)
		return err
	})
	return t, wrap(err, "get token by hash", "")
}

func (s *accountStore) DeleteToken(ctx context.Context, userID, tokenID string) error {
	err := s.db.write(ctx, func(tx *tx) error {
		n, err := tx.Stmt(deleteToken).Text(tokenID).Text(userID).Changes()
		return ended(tx, n, err)
	})
	return wrap(err, "delete token", tokenID)
}

func (s *accountStore) TokenUsed(ctx context.Context, tokenID string, at time.Time) error {
	err := s.db.write(ctx, func(tx *tx) error { return tx.Stmt(tokenUsed).Time(at).Text(tokenID).Run() })
	return wrap(err, "note the use of token", tokenID)
}

func (s *accountStore) PutSession(ctx context.Context, session accounts.Session) error {
	err := s.db.write(ctx, func(tx *tx) error { return sessionColumns.bind(tx.Stmt(replaceSession), &session).Run() })
	return wrap(err, "put session", "")
}

func (s *accountStore) Session(ctx context.Context, hash string, now time.Time) (session accounts.Session, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		session, err = sessionColumns.one(c.Stmt(selectSession).Text(hash).Time(now), accounts.ErrNotFound)
		return err
	})
	return session, wrap(err, "get session", "")
}

func (s *accountStore) DeleteSession(ctx context.Context, hash string) error {
	_, err := s.end(ctx, func(tx *tx) *lite.Stmt { return tx.Stmt(deleteSession).Text(hash) })
	return wrap(err, "delete session", "")
}

func (s *accountStore) DeleteSessions(ctx context.Context, userID, exceptHash string) error {
	_, err := s.end(ctx, func(tx *tx) *lite.Stmt { return tx.Stmt(deleteSessions).Text(userID).Text(exceptHash) })
	return wrap(err, "delete sessions of account", userID)
}

func (s *accountStore) DeleteExpiredSessions(ctx context.Context, now time.Time) (int, error) {
	n, err := s.end(ctx, func(tx *tx) *lite.Stmt { return tx.Stmt(deleteExpired).Time(now) })
	return n, wrap(err, "delete expired sessions", "")
}

// end runs a delete that may find nothing, and returns how many sessions it ended.
func (s *accountStore) end(ctx context.Context, stmt func(*tx) *lite.Stmt) (n int, err error) {
	err = s.db.write(ctx, func(tx *tx) error {
		n, err = stmt(tx).Changes()
		if err := ended(tx, n, err); !errors.Is(err, accounts.ErrNotFound) {
			return err
		}
		return nil
	})
	return n, err
}
