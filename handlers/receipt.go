package handlers

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"filmroom/imaging"
	"filmroom/tasks"
)

// receiptBatch is how many rows of a receipt are in memory at once.
const receiptBatch = 1000

var outcomes = []imaging.Outcome{imaging.Imported, imaging.Duplicate, imaging.Conflict, imaging.NotDICOM, imaging.DICOMDIR,
	imaging.NestedArchive, imaging.Incomplete, imaging.Unreadable, imaging.Refused, imaging.Exported}

// receipt sends what became of each file of a task, as JSON lines or CSV.
func (s *Server) receipt(c echo.Context) error {
	taskID, err := id(c, "taskId")
	if err != nil {
		return err
	}
	p := query(c)
	format, only := oneOf(p, "format", "jsonl", "csv"), someOf(p, "outcome", outcomes...)
	if err := p.done(); err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := s.mayReadReceipt(ctx, who(c).person(), taskID); err != nil {
		return err
	}
	q := imaging.ReceiptQuery{TaskID: taskID, Outcomes: only, After: -1, Limit: receiptBatch}
	first, err := s.cfg.Desk.Receipts(ctx, taskID, q)
	if err != nil {
		return err
	}
	out := jsonLines(c.Response())
	if format == "csv" || format == "" && acceptsFirst(c.Request(), "text/csv") {
		asFile(c, "text/csv; charset=utf-8", "receipt-"+taskID+".csv")
		out = csvLines(c.Response())
	} else {
		asFile(c, "application/jsonl; charset=utf-8", "receipt-"+taskID+".jsonl")
	}
	s.auditReceipt(c, taskID)
	c.Response().WriteHeader(http.StatusOK)
	return s.sendReceipt(ctx, q, first, out)
}

// mayReadReceipt lets those read a receipt who see its task, and its owner when it outlived the task.
func (s *Server) mayReadReceipt(ctx context.Context, p tasks.Person, taskID string) error {
	_, err := s.cfg.Tasks.Get(ctx, p, taskID)
	if !errors.Is(err, tasks.ErrNotFound) {
		return err
	}
	kept, failed := s.cfg.Desk.Keeps(ctx, p, taskID)
	if kept {
		return nil
	}
	return cmp.Or(failed, err)
}

// sendReceipt writes the first batch and all that follow it. Writing nothing is how a format begins.
func (s *Server) sendReceipt(ctx context.Context, q imaging.ReceiptQuery, rows []imaging.Receipt, out func([]imaging.Receipt) error) error {
	for {
		if err := out(rows); err != nil || len(rows) < receiptBatch {
			return err
		}
		q.After = rows[len(rows)-1].Index
		var err error
		if rows, err = s.cfg.Desk.Receipts(ctx, q.TaskID, q); err != nil {
			return err
		}
	}
}

func jsonLines(w io.Writer) func([]imaging.Receipt) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return func(rows []imaging.Receipt) error {
		for _, r := range rows {
			if err := encoder.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
}

func csvLines(w io.Writer) func([]imaging.Receipt) error {
	lines := csv.NewWriter(w)
	lines.UseCRLF = true // RFC 4180
	header := []string{"index", "name", "size", "outcome", "reason", "sopInstanceUid", "seriesUid", "studyUid"}
	return func(rows []imaging.Receipt) error {
		if header != nil {
			_ = lines.Write(header) // kept until Flush, whose error counts
			header = nil
		}
		for _, r := range rows {
			_ = lines.Write([]string{strconv.FormatInt(r.Index, 10), inert(r.Name), strconv.FormatInt(r.Size, 10), string(r.Outcome),
				inert(r.Reason), inert(r.SOPInstanceUID), inert(r.SeriesUID), inert(r.StudyUID)})
		}
		lines.Flush()
		return lines.Error()
	}
}

// inert keeps a spreadsheet from taking a text for a formula: what begins like one gets an apostrophe before it,
// which spreadsheets do not show.
func inert(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == 0 {
			return -1
		}
		return r
	}, text)
	if strings.ContainsAny(firstRune(strings.TrimLeft(text, " \u00a0\u3000")), "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20") {
		return "'" + text
	}
	return text
}

func firstRune(text string) string {
	for _, r := range text {
		return string(r)
	}
	return ""
}
