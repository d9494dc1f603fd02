package handlers

import (
	"fmt"

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
