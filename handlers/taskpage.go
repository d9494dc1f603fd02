package handlers

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"filmroom/imaging"
	"filmroom/tasks"
	"filmroom/views"
)

const (
	receiptRows = 100 // rows of a receipt on a page, and with each "more"
	logLines    = 500 // newest lines of a log on a page
)

func (s *Server) taskPage(c echo.Context) error {
	taskID, err := id(c, "taskId")
	if err != nil {
		return err
	}
	if err := query(c).done(); err != nil {
		return err
	}
	return s.showTask(c, taskID, views.ReceiptFilter{After: -1})
}

// showTask sends a task's page with a part of its receipt.
func (s *Server) showTask(c echo.Context, taskID string, f views.ReceiptFilter) error {
	ctx, p := c.Request().Context(), who(c).person()
	t, err := s.cfg.Tasks.Get(ctx, p, taskID)
	if err != nil {
		return err
	}
	parts, err := s.taskParts(ctx, p, t)
	if err != nil {
		return err
	}
	parts.Origin = s.origin(c)
	if parts.Receipt != nil {
		if parts.Receipt, err = s.receiptOf(ctx, t.ID, f); err != nil {
			return err
		}
		s.auditReceipt(c, t.ID)
	}
	return s.render(c, http.StatusOK, views.TaskPage(views.NewTask(s.frame(c), t, parts)))
}

// taskParts are what a task's page shows beside the task itself.
func (s *Server) taskParts(ctx context.Context, p tasks.Person, t tasks.Task) (parts views.TaskParts, err error) {
	if parts.Log, parts.LogMore, err = s.newestLines(ctx, p, t.ID); err != nil {
		return parts, err
	}
	w, waits, err := s.cfg.Tasks.Waiting(ctx, p, t)
	if err != nil {
		return parts, err
	}
	if waits {
		parts.Wait = &w
	}
	parts.Receipt, err = s.receiptOf(ctx, t.ID, views.ReceiptFilter{After: -1})
	if err == nil && parts.Receipt.Total == 0 && t.Status.Final() {
		parts.Receipt = nil // of a task that deals with no files
	}
	return parts, err
}

// newestLines reads a log to its end; attempts and their lines are bounded, so it is short.
func (s *Server) newestLines(ctx context.Context, p tasks.Person, taskID string) (lines []tasks.LogLine, more bool, err error) {
	for after := int64(0); ; {
		page, err := s.cfg.Tasks.Log(ctx, p, taskID, after, maxLogLimit)
		if err != nil {
			return nil, false, err
		}
		lines = append(lines, page...)
		if over := len(lines) - logLines; over > 0 {
			lines, more = lines[over:], true
		}
		if len(page) < maxLogLimit {
			return lines, more, nil
		}
		after = page[len(page)-1].Seq
	}
}

// receiptOf is a part of a task's receipt. The caller has made sure that the task is the person's.
func (s *Server) receiptOf(ctx context.Context, taskID string, f views.ReceiptFilter) (*views.Receipt, error) {
	counts, err := s.cfg.Desk.Outcomes(ctx, taskID)
	if err != nil {
		return nil, err
	}
	q := imaging.ReceiptQuery{TaskID: taskID, Search: f.Search, After: f.After, Limit: receiptRows}
	if f.Outcome != "" {
		q.Outcomes = []imaging.Outcome{f.Outcome}
	}
	rows, err := s.cfg.Desk.Receipts(ctx, taskID, q)
	if err != nil {
		return nil, err
	}
	r := views.NewReceipt(taskID, f, counts, rows, receiptRows)
	return &r, nil
}

// receiptPart filters and searches a receipt, or shows more of it. What is searched for may be a file's name, so it
// is posted.
func (s *Server) receiptPart(c echo.Context) error {
	taskID, err := id(c, "taskId")
	if err != nil {
		return err
	}
	posted, err := form(c)
	if err != nil {
		return err
	}
	f := views.ReceiptFilter{Outcome: oneOf(posted, "outcome", outcomes...), Search: posted.text("q")}
	more := posted.values.Has("after")
	f.After = int64(posted.integer("after", -1, -1, 1<<40))
	if err := posted.done(); err != nil {
		return err
	}
	if !isPartial(c) {
		return s.showTask(c, taskID, f)
	}
	ctx := c.Request().Context()
	if _, err := s.cfg.Tasks.Get(ctx, who(c).person(), taskID); err != nil {
		return err
	}
	r, err := s.receiptOf(ctx, taskID, f)
	if err != nil {
		return err
	}
	s.auditReceipt(c, taskID)
	if more {
		return s.render(c, http.StatusOK, views.ReceiptRows(*r))
	}
	return s.render(c, http.StatusOK, views.ReceiptSection(*r))
}
