package accounts

import (
	"context"
	"errors"
	"time"
)

var (
	// ErrNotFound: no such user, token or session.
	ErrNotFound = errors.New("no such account")
	// ErrEmailTaken: another account has this e-mail address.
	ErrEmailTaken = errors.New("an account with this e-mail address exists")
	// ErrNotFirst: the desk already has an account, so no first one can be made.
	ErrNotFirst = errors.New("the desk already has an account")
	// ErrCursor: the audit log was asked to go on from a cursor that is none.
	ErrCursor = errors.New("the cursor does not belong to this list")
)

// A Store keeps users, tokens and sessions. Its methods may be called at once from many goroutines and
// processes (the command line works beside a running server). now is an argument.
type Store interface {
	// AddUser stores a new user, or returns [ErrEmailTaken].
	AddUser(ctx context.Context, u User) error
	// AddFirstUser stores a user only while there is none, or returns [ErrNotFirst]; of two at once one succeeds.
	AddFirstUser(ctx context.Context, u User) error
	// HasUsers reports whether any account exists.
	HasUsers(ctx context.Context) (bool, error)
	// User returns the account with this id.
	User(ctx context.Context, id string) (User, error)
	// UserByEmail finds an account by its address, without regard to case.
	UserByEmail(ctx context.Context, email string) (User, error)
	// Users returns all accounts by e-mail.
	Users(ctx context.Context) ([]User, error)
	// UpdateUser replaces Name, Admin, PasswordHash, Email, DisabledAt, WebhookURL and WebhookSecret.
	UpdateUser(ctx context.Context, u User) error

	// AddToken, Tokens, TokenByHash and DeleteToken keep a user's API tokens. DeleteToken of somebody
	// else's is [ErrNotFound].
	AddToken(ctx context.Context, t Token) error
	Tokens(ctx context.Context, userID string) ([]Token, error)
	TokenByHash(ctx context.Context, hash string) (Token, error)
	DeleteToken(ctx context.Context, userID, tokenID string) error
	// TokenUsed notes when a token was last used.
	TokenUsed(ctx context.Context, tokenID string, at time.Time) error

	// PutSession stores or replaces a session.
	PutSession(ctx context.Context, s Session) error
	// Session returns one that has not expired at now, or [ErrNotFound].
	Session(ctx context.Context, hash string, now time.Time) (Session, error)
	// DeleteSession removes one; that it is gone already is no error.
	DeleteSession(ctx context.Context, hash string) error
	// DeleteSessions removes all sessions of a user except the one given ("" keeps none).
	DeleteSessions(ctx context.Context, userID, exceptHash string) error
	// DeleteExpiredSessions removes those that have expired at now, a bounded number at a time.
	DeleteExpiredSessions(ctx context.Context, now time.Time) (int, error)

	// AddAudit appends an entry to the audit log. One whose id is there already is refused: what the log
	// holds never changes.
	AddAudit(ctx context.Context, e AuditEntry) error
	// Audit returns the entries that match, by falling id, [AuditQuery.Size] of them at most. An entry added
	// meanwhile neither repeats nor hides one on a later page.
	Audit(ctx context.Context, q AuditQuery) (AuditPage, error)

	// Version rises whenever a session or token ends or an account changes, in whatever process, so that
	// open streams learn within a second that they may have lost their right. It is cheap.
	Version(ctx context.Context) (int64, error)
}
