package handlers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
	"filmroom/tasks"
)

// audit notes what the person who asks has done, and from where. Targets are our own ids and names of lanes; notes
// are reasons and counts: what could name a patient or a file is in neither.
func (s *Server) audit(c echo.Context, action, target, note string) {
	v := who(c)
	s.cfg.Accounts.Audit(c.Request().Context(), accounts.AuditEntry{
		UserID: v.ID, Email: v.Email, Action: action, Target: target, Note: note, Address: c.RealIP(),
	})
}

// auditRefused notes that somebody could not sign in as email.
func (s *Server) auditRefused(c echo.Context, email string) {
	s.cfg.Accounts.Audit(c.Request().Context(), accounts.AuditEntry{Email: email, Action: accounts.ActSignInFailed, Address: c.RealIP()})
}

// auditMove notes a move of somebody else's task. What people do with their own tasks stands in the journals.
func (s *Server) auditMove(c echo.Context, action string, t tasks.Task) {
	if t.UserID != who(c).ID {
		s.audit(c, action, t.ID, "")
	}
}

// AuditBulk notes what actions on many tasks do to somebody else's, each when it is done: what is undone in time has not
// happened. From where it was asked for is not known by then. A crash may note one twice, never none.
func AuditBulk(to *accounts.Service) tasks.BulkWitness {
	actions := map[tasks.BulkAction]string{tasks.BulkCancel: accounts.ActTaskCanceled, tasks.BulkRetry: accounts.ActTaskRetried,
		tasks.BulkDismiss: accounts.ActTaskDismissed}
	return func(ctx context.Context, acted, on tasks.Task, action tasks.BulkAction) {
		if acted.UserID != on.UserID {
			to.Audit(ctx, accounts.AuditEntry{UserID: acted.UserID, Email: acted.UserEmail, Action: actions[action], Target: on.ID,
				Note: "by task " + acted.ID})
		}
	}
}

// auditReceipt notes that a receipt was read: once for a person, a task and an hour, because its page reads it anew with each
// filter and each return. What was noted is in memory, so a restart may note it once more.
func (s *Server) auditReceipt(c echo.Context, taskID string) {
	if s.receipts.first(who(c).ID+"/"+taskID, s.now().Truncate(time.Hour)) {
		s.audit(c, accounts.ActReceiptRead, taskID, "")
	}
}

const maxReadings = 10_000 // that are remembered; more note some twice

// readings remember what was read in the present hour.
type readings struct {
	mu   sync.Mutex
	hour time.Time
	seen map[string]bool
}

// first reports whether this is the first reading of the hour.
func (r *readings) first(reading string, hour time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.hour.Equal(hour) || len(r.seen) >= maxReadings {
		r.hour, r.seen = hour, map[string]bool{}
	}
	if r.seen[reading] {
		return false
	}
	r.seen[reading] = true
	return true
}

// auditExport notes that series go out, how many and how much of them.
func (s *Server) auditExport(c echo.Context, taskID string, series int, profile string) {
	s.audit(c, accounts.ActExported, taskID, fmt.Sprintf("%d series, profile %s", series, profile))
}

// auditSignOut notes whose session a request to sign out brings, before it ends.
func (s *Server) auditSignOut(c echo.Context) {
	v, err := s.bySession(c)
	if err != nil || v.ID == "" {
		return // nobody, or the sign-out will say what is wrong
	}
	c.Set(keyViewer, v)
	s.audit(c, accounts.ActSignOut, v.ID, "")
}
