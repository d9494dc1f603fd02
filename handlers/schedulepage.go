package handlers

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
	"filmroom/tasks"
	"filmroom/views"
)

func (s *Server) pauseFromPage(c echo.Context) error {
	return s.moveFromPage(c, accounts.ActTaskPaused, s.cfg.Tasks.Pause)
}

func (s *Server) resumeFromPage(c echo.Context) error {
	return s.moveFromPage(c, accounts.ActTaskResumed, s.cfg.Tasks.Resume)
}

func (s *Server) prioritizeFromPage(c echo.Context) error {
	p, err := form(c)
	if err != nil {
		return err
	}
	var priority *int
	if n, err := strconv.Atoi(p.text("priority")); err == nil {
		priority = &n
	}
	if err := p.done(); err != nil {
		return err
	}
	prioritize, err := s.prioritize(who(c).person(), priority)
	if err != nil {
		return err
	}
	return s.moveFromPage(c, accounts.ActTaskPrioritized, prioritize)
}

// bulkFromPage acts on everything that the board's filter matches, and shows the board again, where the action's own
// row can undo it.
func (s *Server) bulkFromPage(c echo.Context) error {
	p, err := form(c)
	if err != nil {
		return err
	}
	action := tasks.BulkAction(p.text("action"))
	view := someOf(p, "view", tasks.Statuses...)
	q, err := boardQuery(p)
	if err != nil {
		return err
	}
	if !action.Valid() {
		return invalid("action", "must be one of cancel, retry, dismiss")
	}
	ctx, person := c.Request().Context(), who(c).person()
	err = s.withRoom(ctx, person, "", func() error {
		_, err := s.cfg.Tasks.SubmitBulk(ctx, person, bulkArgs(action, q))
		return err
	})
	if err != nil {
		return err
	}
	q.Statuses = view
	if isPartial(c) {
		c.Response().Header().Set("HX-Push-Url", q.URL())
		return s.showBoard(c, q)
	}
	return seeOther(c, q.URL())
}

func bulkArgs(action tasks.BulkAction, q views.BoardQuery) tasks.BulkArgs {
	list := listQuery(q)
	return tasks.BulkArgs{Action: action, Statuses: list.Statuses, Kind: list.Kind, Words: list.Words, From: list.From, To: list.To,
		Dismissed: list.Dismissed}
}

// openBulks are the person's actions on many tasks that wait or run.
func (s *Server) openBulks(c echo.Context) ([]tasks.Task, error) {
	page, err := s.cfg.Tasks.List(c.Request().Context(), who(c).person(), tasks.Query{Kind: tasks.BulkKind, NoTotal: true,
		Statuses: []tasks.Status{tasks.StatusQueued, tasks.StatusPaused, tasks.StatusProcessing}, Limit: 10})
	return page.Items, err
}

// setWebhookFromPage shows the secret this once.
func (s *Server) setWebhookFromPage(c echo.Context) error {
	p, err := form(c)
	if err != nil {
		return err
	}
	address := strings.TrimSpace(p.text("url"))
	if err := p.done(); err != nil {
		return err
	}
	left := views.Account{Webhook: address}
	if address == "" {
		left.WebhookError = "Url must be an address like https://example.org/filmroom."
		return s.showAccount(c, http.StatusUnprocessableEntity, views.Notice{}, left)
	}
	left.WebhookSecret, err = s.changeWebhook(c, address)
	if err == nil {
		return s.showAccount(c, http.StatusOK, views.Notice{}, left)
	}
	f, known := faultOf(err)
	if !known {
		return err
	}
	left.WebhookError = f.text()
	return s.showAccount(c, f.status, views.Notice{}, left)
}

func (s *Server) clearWebhookFromPage(c echo.Context) error {
	if err := noBody(c); err != nil {
		return err
	}
	if _, err := s.changeWebhook(c, ""); err != nil {
		return err
	}
	return seeOther(c, views.AccountURL)
}

// origin is how the desk is reached, for commands to copy.
func (s *Server) origin(c echo.Context) string {
	if s.cfg.PublicURL != "" {
		return strings.TrimSuffix(s.cfg.PublicURL, "/")
	}
	return (&url.URL{Scheme: c.Scheme(), Host: c.Request().Host}).String()
}

// waitEvery is how often the page of a waiting task explains its wait anew: it changes with other tasks.
const waitEvery = 5 * time.Second
