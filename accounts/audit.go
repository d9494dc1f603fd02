package accounts

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"
)

// What people do that others may have to answer for later: the values of [AuditEntry.Action].
const (
	ActSignIn            = "sign-in"
	ActSignInFailed      = "sign-in-failed"
	ActSignOut           = "sign-out"
	ActSignOutEverywhere = "sign-out-everywhere"
	ActPasswordChanged   = "password-changed"
	ActPasswordReset     = "password-reset"
	ActUserAdded         = "user-added"
	ActUserDisabled      = "user-disabled"
	ActUserEnabled       = "user-enabled"
	ActUserChanged       = "user-changed" // name, or whether an administrator
	ActTokenCreated      = "token-created"
	ActTokenRevoked      = "token-revoked"
	ActWebhookSet        = "webhook-set"
	ActLaneChanged       = "lane-changed"
	ActTaskCanceled      = "task-canceled" // these six by an administrator, on somebody else's
	ActTaskRetried       = "task-retried"
	ActTaskPrioritized   = "task-prioritized"
	ActTaskPaused        = "task-paused"
	ActTaskResumed       = "task-resumed"
	ActTaskDismissed     = "task-dismissed" // or brought back
	ActSeriesViewed      = "series-viewed"
	ActSeriesDeleted     = "series-deleted"
	ActReceiptRead       = "receipt-read"
	ActExported          = "exported"
	ActDownloaded        = "downloaded"
	ActUploaded          = "uploaded"
	ActAuditRead         = "audit-read"
)

// Actions are all values of [AuditEntry.Action], in the order in which people look for them.
var Actions = []string{
	ActSignIn, ActSignInFailed, ActSignOut, ActSignOutEverywhere, ActPasswordChanged, ActPasswordReset,
	ActUserAdded, ActUserDisabled, ActUserEnabled, ActUserChanged, ActTokenCreated, ActTokenRevoked, ActWebhookSet,
	ActLaneChanged, ActTaskCanceled, ActTaskRetried, ActTaskPrioritized, ActTaskPaused, ActTaskResumed, ActTaskDismissed,
	ActUploaded, ActSeriesViewed, ActReceiptRead, ActExported, ActDownloaded, ActSeriesDeleted, ActAuditRead,
}

// An AuditEntry says who did what, when and from where. It names patients nowhere: its target is one of
// our ids, or a lane's name.
type AuditEntry struct {
	ID      string    `json:"id"`     // ULID; entries are ordered by it
	At      time.Time `json:"at"`     // the same moment as the id's
	UserID  string    `json:"userId"` // who; "" for somebody who could not sign in
	Email   string    `json:"email"`  // as it was then
	Action  string    `json:"action"`
	Target  string    `json:"target,omitzero"` // what it was done to
	Note    string    `json:"note,omitzero"`   // why, or what became of it
	Address string    `json:"address"`         // of the peer; "" on the command line
}

const (
	// MaxAuditPage is how many entries one page holds at most.
	MaxAuditPage     = 1000
	defaultAuditPage = 100

	maxAuditTarget  = 200 // characters
	maxAuditNote    = 500
	maxAuditAddress = 100

	auditTimeout = 10 * time.Second
)

// An AuditQuery selects entries. The zero value of a field does not filter.
type AuditQuery struct {
	UserID   string
	Action   string
	Target   string
	From, To time.Time // At in [From, To)
	Limit    int       // 0 is 100; more than [MaxAuditPage] is that
	Cursor   string    // from [AuditPage.NextCursor]; [ErrCursor] when it is not
}

// An AuditPage is part of the log.
type AuditPage struct {
	Items      []AuditEntry // newest first
	NextCursor string       // "" on the last page; else the id of the last item
}

// Size is how many entries a page of this query holds.
func (q AuditQuery) Size() int {
	if q.Limit <= 0 {
		return defaultAuditPage
	}
	return min(q.Limit, MaxAuditPage)
}

// Check refuses a cursor that is none.
func (q AuditQuery) Check() error {
	if q.Cursor == "" {
		return nil
	}
	if _, err := ulid.ParseStrict(q.Cursor); err != nil {
		return ErrCursor
	}
	return nil
}

// Audit notes what somebody did, and fills in the id and the time. It is written even when the caller's
// context has ended, because the action has happened; what cannot be written is logged and fails nothing.
func (s *Service) Audit(ctx context.Context, e AuditEntry) {
	e.At = millis(s.now())
	e.ID = ulid.MustNew(ulid.Timestamp(e.At), ulid.DefaultEntropy()).String()
	if checkEmail(e.Email) != nil {
		e.Email = "" // typed at the door; it may be a password in the wrong field
	}
	e.Target, e.Note, e.Address = line(e.Target, maxAuditTarget), line(e.Note, maxAuditNote), line(e.Address, maxAuditAddress)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer cancel()
	if err := s.store.AddAudit(ctx, e); err != nil {
		s.log.ErrorContext(ctx, "the audit log misses an entry",
			"userId", e.UserID, "action", e.Action, "target", e.Target, "at", e.At, "error", err)
	}
}

// AuditLog returns one page of the log, newest first.
func (s *Service) AuditLog(ctx context.Context, q AuditQuery) (AuditPage, error) {
	if err := q.Check(); err != nil {
		return AuditPage{}, err
	}
	return s.store.Audit(ctx, q)
}

// line is text on one line, cut to so many characters.
func line(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
