package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"filmroom/tasks"
)

// readyTasks lists finished tasks in the order in which they finished, for programs that follow along: nextCursor
// goes on where a page ended, updatedSince begins at a moment.
func (s *Server) readyTasks(c echo.Context) error {
	p := query(c)
	q := tasks.Query{Statuses: []tasks.Status{tasks.StatusFinished}, Sort: tasks.FirstEndedFirst, EndedFrom: p.moment("updatedSince"),
		Limit: p.integer("limit", defaultLimit, 1, maxLimit), Cursor: p.text("cursor"), NoTotal: true}
	if err := p.done(); err != nil {
		return err
	}
	page, err := s.cfg.Tasks.List(c.Request().Context(), who(c).person(), q)
	if err != nil {
		return err
	}
	answer := struct {
		Items      []taskJSON `json:"items"`
		NextCursor *string    `json:"nextCursor"`
	}{make([]taskJSON, 0, len(page.Items)), orNull(page.NextCursor)}
	for _, t := range page.Items {
		answer.Items = append(answer.Items, s.newTaskJSON(c, t))
	}
	return sendJSON(c, http.StatusOK, answer)
}
