package handlers

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"filmroom/tasks"
	"filmroom/views"
)

// lanesQuiet is how often the page of lanes is shown anew when nothing is heard of: settings are changed, and
// waits grow, without news of a task.
const lanesQuiet = 10 * time.Second

// lanesEvents keeps the page of lanes up to date.
func (s *Server) lanesEvents(c echo.Context) error {
	if err := query(c).done(); err != nil {
		return err
	}
	return s.stream(c, tasks.Scope{Everybody: true}, &lanesFeed{s: s, frame: s.frame(c), person: who(c).person()})
}

// A lanesFeed shows all of the page anew now and then. News says only that it is worth while: administrators hear of
// everybody's tasks, others of their own.
type lanesFeed struct {
	alarm
	s       *Server
	frame   views.Frame
	person  tasks.Person
	hurried bool
}

func (f *lanesFeed) over() bool   { return false }
func (f *lanesFeed) beat() []byte { return pageBeat }

func (f *lanesFeed) snapshot(ctx context.Context, sub *tasks.Subscription) ([]byte, error) {
	sub.Join(nil)
	frames, err := f.whole(ctx, sub.LastID())
	f.clear()
	f.set(lanesFresh) // what is shared may have been read just before the news that this viewer would have heard
	return frames, err
}

func (f *lanesFeed) update(*tasks.Update) []byte {
	if !f.hurried {
		f.hurried = true
		f.clear()
		f.set(lanesFresh)
	}
	return nil
}

func (f *lanesFeed) refresh(ctx context.Context) ([]byte, error) { return f.whole(ctx, "") }

func (f *lanesFeed) whole(ctx context.Context, id string) ([]byte, error) {
	f.clear()
	f.set(lanesQuiet)
	f.hurried, f.frame.Now = false, f.s.now()
	parts, err := f.s.lanesParts(ctx, f.person)
	if err != nil {
		return nil, err
	}
	return html(ctx, id, views.LanesPartial(views.NewLanes(f.frame, parts)))
}

// retryFailures retries the failures of one group, as they were when the page showed them.
func (s *Server) retryFailures(c echo.Context) error {
	posted, err := form(c)
	if err != nil {
		return err
	}
	key, until := posted.text("key"), time.UnixMilli(int64(posted.integer("until", 0, 1, 1<<52)))
	if err := posted.done(); err != nil {
		return err
	}
	ctx := c.Request().Context()
	failed, _, err := s.failuresUntil(ctx, until)
	if err != nil {
		return err
	}
	said := views.Notice{Text: "There is nothing left of these to retry.", Failed: true}
	for _, g := range views.GroupFailures(failed, s.now()) {
		if g.Key == key && len(g.IDs) > 0 {
			if said, err = s.retryAll(c, g.IDs); err != nil {
				return err
			}
		}
	}
	if !isPartial(c) {
		return seeOther(c, views.LanesURL)
	}
	return s.render(c, http.StatusOK, views.NoticePartial(said))
}

// retryAll submits a task that retries these; see [AuditBulk].
func (s *Server) retryAll(c echo.Context, ids []string) (views.Notice, error) {
	t, err := s.cfg.Tasks.SubmitRetries(c.Request().Context(), who(c).person(), ids)
	if err != nil {
		return views.Notice{}, err
	}
	return views.Notice{Text: fmt.Sprintf("Retrying %s begins in %s.", views.Plural(len(ids), "task"), views.Duration(tasks.BulkGrace)),
		GoTo: views.TaskURL(t.ID), GoToWord: "Follow or undo it"}, nil
}
