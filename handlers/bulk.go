package handlers

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"filmroom/tasks"
)

// submitBulk acts on all of the person's tasks that match a filter, by a task of its own that can be canceled before
// it begins.
func (s *Server) submitBulk(c echo.Context) error {
	var given struct {
		Action tasks.BulkAction `json:"action"`
		Filter *bulkFilter      `json:"filter"`
	}
	if err := decodeJSON(c, &given); err != nil {
		return err
	}
	if !given.Action.Valid() {
		return invalid("action", "must be one of cancel, retry, dismiss")
	}
	if given.Filter == nil {
		return invalid("filter", "must be an object: {} for all of your tasks")
	}
	if k := given.Filter.Kind; k != "" && !slices.Contains(s.kindNames(), k) {
		return invalid("filter.kind", mustBe(s.kindNames()))
	}
	args, err := given.Filter.args(given.Action)
	if err != nil {
		return err
	}
	ctx, person := c.Request().Context(), who(c).person()
	var t tasks.Task
	err = s.withRoom(ctx, person, "", func() (err error) {
		t, err = s.cfg.Tasks.SubmitBulk(ctx, person, args)
		return err
	})
	if err != nil {
		return err
	}
	return accepted(c, http.StatusAccepted, t.ID)
}

// bulkFilter selects tasks by the same names as GET /api/tasks.
type bulkFilter struct {
	Status    []tasks.Status `json:"status"`
	Kind      string         `json:"kind"`
	Q         string         `json:"q"`
	From      string         `json:"from"`
	To        string         `json:"to"`
	Dismissed *bool          `json:"dismissed"`
}

func (f bulkFilter) args(action tasks.BulkAction) (tasks.BulkArgs, error) {
	p := newParams(url.Values{"from": {f.From}, "to": {f.To}})
	for _, status := range f.Status {
		if !status.Valid() {
			p.fault("filter.status", mustBe(tasks.Statuses))
		}
	}
	return tasks.BulkArgs{Action: action, Statuses: f.Status, Kind: f.Kind, Words: tasks.Words(f.Q),
		From: p.moment("from"), To: p.moment("to"), Dismissed: f.Dismissed}, p.done()
}
