package handlers

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/errgroup"

	"filmroom/accounts"
	"filmroom/tasks"
	"filmroom/views"
)

const (
	deletedWithin = 10 * time.Second // how long a request to delete one series waits for it
	auditsAtOnce  = 16               // which the store commits together
)

// deleteSeries deletes one series: 204 when it is gone. Where that takes longer, behind other deletions of the library
// say, or did not end well, 202 names the task.
func (s *Server) deleteSeries(c echo.Context) error {
	seriesID, err := id(c, "seriesId")
	if err != nil {
		return err
	}
	p := query(c)
	wait := p.duration("wait", 0, maxWait)
	if err := p.done(); err != nil {
		return err
	}
	if c.QueryParam("wait") == "" {
		wait = deletedWithin
	}
	t, err := s.beginDeleting(c, []string{seriesID})
	if err != nil {
		return err
	}
	if t, err = s.awaitEnd(c, t.ID, wait); err != nil {
		return err
	}
	if t.Status == tasks.StatusFinished {
		return c.NoContent(http.StatusNoContent)
	}
	return accepted(c, http.StatusAccepted, t.ID)
}

// beginDeleting submits a deletion and notes each series that it is about, for the task's record goes sooner than the
// audit log.
func (s *Server) beginDeleting(c echo.Context, ids []string) (tasks.Task, error) {
	ctx, person := c.Request().Context(), who(c).person()
	var t tasks.Task
	err := s.withRoom(ctx, person, "", func() (err error) {
		t, err = s.cfg.Desk.Delete(ctx, person, ids)
		return err
	})
	if err != nil {
		return t, err
	}
	var notes errgroup.Group
	notes.SetLimit(auditsAtOnce)
	for _, seriesID := range ids {
		notes.Go(func() error {
			s.audit(c, accounts.ActSeriesDeleted, seriesID, "task "+t.ID)
			return nil
		})
	}
	return t, notes.Wait()
}

// deleteFromLibrary asks whether the chosen series shall go, and once that is confirmed lets them.
func (s *Server) deleteFromLibrary(c echo.Context) error {
	posted, err := form(c)
	if err != nil {
		return err
	}
	ids, confirmed := posted.texts("seriesIds"), posted.flag("confirmed")
	if err := posted.done(); err != nil {
		return err
	}
	chosen, err := s.chosen(c, ids)
	if err != nil {
		return err
	}
	if len(chosen) > 0 && confirmed != nil && *confirmed {
		t, err := s.beginDeleting(c, ids)
		if err != nil {
			return err
		}
		return onTo(c, views.TaskURL(t.ID))
	}
	dialog := views.NewDeletion(s.frame(c), chosen)
	if isPartial(c) {
		return s.render(c, http.StatusOK, views.DeletionDialog(dialog))
	}
	return s.render(c, http.StatusOK, views.DeletionPage(dialog))
}
