package handlers

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"filmroom/tasks"
	"filmroom/views"
)

// maxNew is how many new tasks a board is told of by id.
const maxNew = 500

// boardEvents keeps a board as it is shown up to date. Rows that the page does not show are sent too where
// rendering them costs nothing more: the browser leaves out what has no place.
func (s *Server) boardEvents(c echo.Context) error {
	f, err := s.newBoardFeed(c)
	if err != nil {
		return err
	}
	return s.stream(c, tasks.Scope{}, f)
}

func (s *Server) newBoardFeed(c echo.Context) (*boardFeed, error) {
	q, err := boardQuery(query(c))
	return &boardFeed{s: s, person: who(c).person(), query: q, since: s.heardUntil(c)}, err
}

type boardFeed struct {
	alarm
	s      *Server
	person tasks.Person
	query  views.BoardQuery
	since  time.Time // from here on the page may have missed ends

	known map[string]tasks.Status // tasks told of, as last told
	ids   []string                // tasks of the list's first page and those that came since, newest first
	came  bool                    // ids has grown since it was told
	waits map[string]*wait        // tasks told of that wait

	hurried bool // the alarm is set for counts
}

// A wait is a waiting task, and why it waits as last told.
type wait struct {
	task tasks.Task
	told string
}

func (f *boardFeed) over() bool   { return false }
func (f *boardFeed) beat() []byte { return pageBeat }

// snapshot is the rows of the page as the list now is, those that may stand on the page though the list has
// moved on (they run, or have ended since), the counts, and how much is new.
func (f *boardFeed) snapshot(ctx context.Context, sub *tasks.Subscription) ([]byte, error) {
	page, err := f.s.cfg.Tasks.List(ctx, f.person, listQuery(f.query))
	if err != nil {
		return nil, err
	}
	others, _, err := f.s.unheard(ctx, f.person, f.since)
	if err != nil {
		return nil, err
	}
	f.ids = idsOf(page.Items)
	items := sub.Join(append(page.Items, without(others, f.ids)...))
	f.since = f.s.now()
	f.known, f.waits = make(map[string]tasks.Status, len(items)), map[string]*wait{}
	parts := make([]templ.Component, 0, len(items)+2)
	for _, t := range items {
		f.known[t.ID] = t.Status
		if !f.waiting(t) { // else its row comes with the rest
			parts = append(parts, views.TaskRowPartial(views.NewTaskRow(t, f.since)))
		}
	}
	f.came = f.query.Follows()
	rest, err := f.rest(ctx)
	if err != nil {
		return nil, err
	}
	return html(ctx, sub.LastID(), append(parts, rest...)...)
}

func idsOf(items []tasks.Task) []string {
	ids := make([]string, len(items))
	for i, t := range items {
		ids[i] = t.ID
	}
	return ids
}

func without(items []tasks.Task, ids []string) []tasks.Task {
	return slices.DeleteFunc(items, func(t tasks.Task) bool { return slices.Contains(ids, t.ID) })
}

func (f *boardFeed) update(u *tasks.Update) []byte {
	if status, told := f.known[u.Task.ID]; !told || status != u.Task.Status {
		f.notice(u.Task)
	}
	f.waiting(u.Task)
	return u.Encoded(tasks.EncodingRow, encodeRow)
}

// notice remembers a task whose status is news: the counts have changed, and it may be new to the list.
func (f *boardFeed) notice(t tasks.Task) {
	if len(f.known) > 2*maxSnapshot {
		clear(f.known)
	}
	f.known[t.ID] = t.Status
	if !f.hurried {
		f.hurried = true
		f.clear() // what may be set is for waits, and later
		f.set(soon)
	}
	if f.query.Follows() && len(f.ids) < maxNew && !slices.Contains(f.ids, t.ID) && matches(listQuery(f.query), t) {
		f.ids = slices.Insert(f.ids, 0, t.ID)
		f.came = true
	}
}

// refresh tells the counts, and how much is new when there is more.
func (f *boardFeed) refresh(ctx context.Context) ([]byte, error) {
	f.clear()
	f.hurried = false
	parts, err := f.rest(ctx)
	if err != nil {
		return nil, err
	}
	return html(ctx, "", parts...)
}

func (f *boardFeed) rest(ctx context.Context) ([]templ.Component, error) {
	counts, err := f.s.counts.get(ctx, f.person)
	if err != nil {
		return nil, err
	}
	parts, err := f.explained(ctx)
	if err != nil {
		return nil, err
	}
	parts = append(parts, views.CountsPartial(f.query, counts))
	if f.came {
		f.came = false
		parts = append(parts, views.NewCountPartial(f.query, len(f.ids), f.ids))
	}
	return parts, nil
}

// waiting remembers a task while it waits, so that the reason can be told anew as it changes.
func (f *boardFeed) waiting(t tasks.Task) bool {
	waits := t.Status == tasks.StatusQueued && len(f.waits) < maxNew
	if waits {
		f.waits[t.ID] = &wait{task: t}
	} else {
		delete(f.waits, t.ID)
	}
	return waits
}

// explained are the rows of waiting tasks whose reason is another than was told, and looks again after a while.
func (f *boardFeed) explained(ctx context.Context) (parts []templ.Component, err error) {
	if len(f.waits) == 0 {
		return nil, nil
	}
	var items []tasks.Task
	for _, w := range f.waits {
		items = append(items, w.task)
	}
	queue, err := f.s.queueFor(ctx, items)
	if err != nil {
		return nil, err
	}
	f.set(waitEvery)
	for _, w := range f.waits {
		row := views.NewTaskRow(w.task, f.s.now())
		row.ExplainWait(w.task, queue)
		if row.Detail != w.told {
			w.told = row.Detail
			parts = append(parts, views.TaskRowPartial(row))
		}
	}
	return parts, nil
}

// matches reports whether a list of q would hold t, its user apart.
func matches(q tasks.Query, t tasks.Task) bool {
	switch {
	case len(q.Statuses) > 0 && !slices.Contains(q.Statuses, t.Status),
		q.Kind != "" && q.Kind != t.Kind,
		q.Dismissed != nil && *q.Dismissed != t.Dismissed,
		!q.From.IsZero() && t.CreatedAt.Before(q.From),
		!q.To.IsZero() && !t.CreatedAt.Before(q.To):
		return false
	}
	words := t.SearchWords()
	for _, beginning := range q.Words {
		if !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, beginning) }) {
			return false
		}
	}
	return true
}
