package handlers

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
	"filmroom/tasks"
	"filmroom/views"
)

// boardRows is how many tasks a page of the board shows.
const boardRows = 50

func (s *Server) boardPage(c echo.Context) error {
	q, err := boardQuery(query(c))
	if err != nil {
		return err
	}
	return s.showBoard(c, q)
}

func (s *Server) showBoard(c echo.Context, q views.BoardQuery) error {
	ctx, p := c.Request().Context(), who(c).person()
	page, err := s.cfg.Tasks.List(ctx, p, listQuery(q))
	if err != nil {
		return err
	}
	counts, err := s.cfg.Tasks.Counts(ctx, p)
	if err != nil {
		return err
	}
	bulks, err := s.openBulks(c)
	if err != nil {
		return err
	}
	queue, err := s.queueFor(ctx, page.Items)
	if err != nil {
		return err
	}
	board := views.NewBoard(s.frame(c), q, page, counts, bulks...)
	board.ExplainWaits(page.Items, queue)
	board.KnowKinds(s.kindNames())
	return s.render(c, http.StatusOK, views.BoardPage(board))
}

// boardQuery reads the state of a board from its address.
func boardQuery(p *params) (views.BoardQuery, error) {
	q := views.BoardQuery{
		Statuses: someOf(p, "status", tasks.Statuses...), Kind: p.text("kind"), Words: p.text("q"),
		From: p.day("from"), To: p.day("to"),
		Sort:   oneOf(p, "sort", tasks.NewestFirst, tasks.OldestFirst, tasks.LastEndedFirst, tasks.FirstEndedFirst),
		Cursor: p.text("cursor"),
	}
	if dismissed := p.flag("dismissed"); dismissed != nil {
		q.Dismissed = *dismissed
	}
	return q, p.done()
}

// listQuery is what the store is asked for a board.
func listQuery(q views.BoardQuery) tasks.Query {
	list := tasks.Query{Statuses: q.Statuses, Kind: q.Kind, Words: tasks.Words(q.Words), From: q.From, Dismissed: &q.Dismissed,
		Sort: q.Sort, Limit: boardRows, Cursor: q.Cursor}
	if !q.To.IsZero() {
		list.To = q.To.Add(24 * time.Hour) // the last day is shown to its end
	}
	return list
}

func (s *Server) cancelFromPage(c echo.Context) error {
	return s.moveFromPage(c, accounts.ActTaskCanceled, s.cfg.Tasks.Cancel)
}

func (s *Server) retryFromPage(c echo.Context) error {
	return s.moveFromPage(c, accounts.ActTaskRetried, s.cfg.Tasks.Retry)
}

func (s *Server) dismissFromPage(c echo.Context) error {
	posted, err := form(c)
	if err != nil {
		return err
	}
	dismissed := posted.flag("dismissed")
	if err := posted.done(); err != nil {
		return err
	}
	if dismissed == nil {
		return invalid("dismissed", "must be true or false")
	}
	return s.moveFromPage(c, accounts.ActTaskDismissed, func(ctx context.Context, p tasks.Person, taskID string) (tasks.Task, error) {
		return s.cfg.Tasks.Dismiss(ctx, p, taskID, *dismissed)
	})
}

// moveFromPage makes a move and shows what the task is then, on whichever page the button was. It is audited as
// action when the task is somebody else's.
func (s *Server) moveFromPage(c echo.Context, action string, move taskMove) error {
	taskID, err := id(c, "taskId")
	if err != nil {
		return err
	}
	t, err := move(c.Request().Context(), who(c).person(), taskID)
	if err != nil {
		return err
	}
	s.auditMove(c, action, t)
	if !isPartial(c) {
		return seeOther(c, views.TaskURL(taskID))
	}
	row := views.NewTaskRow(t, s.now())
	return s.render(c, http.StatusOK, views.TaskRowPartial(row), views.TaskHeadPartial(row), views.NoticePartial(views.Notice{}))
}
