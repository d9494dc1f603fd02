package handlers

import (
	"context"
	"encoding/csv"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
)

type auditJSON struct {
	ID      string `json:"id"`
	At      stamp  `json:"at"`
	UserID  string `json:"userId"`
	Email   string `json:"email"`
	Action  string `json:"action"`
	Target  string `json:"target"`
	Note    string `json:"note"`
	Address string `json:"address"`
}

// auditLog sends who did what: a page as JSON, or all that match as CSV.
func (s *Server) auditLog(c echo.Context) error {
	p := query(c)
	format := oneOf(p, "format", "json", "csv")
	q, err := s.auditQuery(c.Request().Context(), p)
	if err != nil {
		return err
	}
	if format == "csv" || format == "" && acceptsFirst(c.Request(), "text/csv") {
		return s.sendAuditCSV(c, q)
	}
	page, err := s.readAudit(c, q)
	if err != nil {
		return err
	}
	answer := struct {
		Items      []auditJSON `json:"items"`
		NextCursor *string     `json:"nextCursor"`
	}{make([]auditJSON, 0, len(page.Items)), orNull(page.NextCursor)}
	for _, e := range page.Items {
		answer.Items = append(answer.Items, auditJSON{e.ID, stamp(e.At), e.UserID, e.Email, e.Action, e.Target, e.Note, e.Address})
	}
	return sendJSON(c, http.StatusOK, answer)
}

// auditQuery reads a filter of the log. People are named by their e-mail address or id.
func (s *Server) auditQuery(ctx context.Context, p *params) (accounts.AuditQuery, error) {
	q := accounts.AuditQuery{
		UserID: p.text("userId"), Action: oneOf(p, "action", accounts.Actions...), Target: p.text("target"),
		From: p.moment("from"), To: p.moment("to"), Limit: p.integer("limit", 100, 1, accounts.MaxAuditPage), Cursor: p.text("cursor"),
	}
	if len(p.values.Get("to")) == len(time.DateOnly) {
		q.To = q.To.Add(24 * time.Hour) // a day is meant to its end
	}
	if err := p.done(); err != nil {
		return q, err
	}
	if !strings.Contains(q.UserID, "@") {
		return q, nil
	}
	u, err := s.cfg.Accounts.UserByEmail(ctx, q.UserID)
	if errors.Is(err, accounts.ErrNotFound) {
		return q, invalid("userId", "must be the e-mail address or id of an account")
	}
	q.UserID = u.ID
	return q, err
}

// readAudit reads a page, and then notes that it was read, so that no page shows its own reading.
func (s *Server) readAudit(c echo.Context, q accounts.AuditQuery) (accounts.AuditPage, error) {
	page, err := s.cfg.Accounts.AuditLog(c.Request().Context(), q)
	if err == nil {
		s.audit(c, accounts.ActAuditRead, "", "")
	}
	return page, err
}

// sendAuditCSV sends all entries that match, a page in memory at a time.
func (s *Server) sendAuditCSV(c echo.Context, q accounts.AuditQuery) error {
	q.Limit = accounts.MaxAuditPage
	page, err := s.readAudit(c, q)
	if err != nil {
		return err
	}
	asFile(c, "text/csv; charset=utf-8", "audit.csv")
	c.Response().WriteHeader(http.StatusOK)
	lines := csv.NewWriter(c.Response())
	lines.UseCRLF = true // RFC 4180
	_ = lines.Write([]string{"at", "userId", "email", "action", "target", "note", "address", "id"})
	for {
		for _, e := range page.Items {
			_ = lines.Write([]string{e.At.UTC().Format(time.RFC3339Nano), inert(e.UserID), inert(e.Email), inert(e.Action),
				inert(e.Target), inert(e.Note), inert(e.Address), e.ID})
		}
		lines.Flush() // its error is that of all writes before
		if err := lines.Error(); err != nil || page.NextCursor == "" {
			return err
		}
		q.Cursor = page.NextCursor
		if page, err = s.cfg.Accounts.AuditLog(c.Request().Context(), q); err != nil {
			return err
		}
	}
}
