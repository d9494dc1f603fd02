package sqlite

import (
	"context"
	"fmt"
	"math"
	"slices"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

// A list of tasks is put together from groups: for each (user, status, kind, lane, dismissed) that has
// tasks, which task_counts knows, the index holds them in the order of the list. So a filter on any of
// these chooses groups, a page is the beginning of their merge (see [merge]), and the total is a sum of
// counters. That costs the same for the first page as for the last and for 100 tasks as for a million.
//
// Words are beyond the groups, and so is a range of creation under an order by end. Where few tasks match,
// which another index tells, these are fetched and sorted; where many do, the merge soon finds a page.

// A listing is one query under way.
type listing struct {
	c      *lite.Conn
	q      tasks.Query
	tuning tuning
	order  order
	groups []group
	sizes  []int // tasks in each group
	sum    int   // tasks in all groups
	all    int   // tasks of the query's user
	reach  reach // where the page lies
}

func (s *taskStore) List(ctx context.Context, q tasks.Query) (page tasks.Page, err error) {
	if q.Sort == "" {
		q.Sort = tasks.NewestFirst
	}
	order, ok := orders[q.Sort]
	if !ok {
		return page, fmt.Errorf("list tasks: no such sort %q", q.Sort)
	}
	err = s.db.read(ctx, func(c *lite.Conn) error {
		l := &listing{c: c, q: q, tuning: s.db.options.tuning, order: order}
		page, err = l.page(ctx)
		return err
	})
	return page, wrap(err, "list tasks", "")
}

func (l *listing) page(ctx context.Context) (page tasks.Page, err error) {
	if err := l.bounds(); err != nil {
		return page, err
	}
	if err := l.choose(); err != nil {
		return page, err
	}
	few, isFew, err := l.few(ctx)
	if err != nil {
		return page, err
	}
	var places []place
	if isFew {
		places = l.cut(few)
		page.Total, page.TotalExact = len(few), true
	} else {
		if places, err = l.walk(ctx, l.q.Limit+1); err != nil {
			return page, err
		}
		if page.Total, page.TotalExact, err = l.total(ctx); err != nil {
			return page, err
		}
	}
	return l.fill(page, places)
}

// bounds sets between which places the page lies.
func (l *listing) bounds() error {
	l.reach = l.everywhere()
	if l.q.Sort == tasks.FirstEndedFirst && !l.q.EndedFrom.IsZero() {
		l.reach.lo.at = ceilMillis(l.q.EndedFrom)
	}
	if l.q.Cursor == "" {
		return nil
	}
	c, ok := parseCursor(l.q.Cursor, string(l.q.Sort))
	if !ok {
		return tasks.ErrCursor
	}
	if at := (place{at: c.key, id: c.id}); l.order.descending {
		l.reach.hi = at
	} else if l.reach.lo.before(at) {
		l.reach.lo = at
	}
	return nil
}

// everywhere is the reach of the whole list.
func (l *listing) everywhere() reach {
	r := reach{lo: place{at: math.MinInt64}, hi: place{at: math.MaxInt64}, from: math.MinInt64, to: math.MaxInt64}
	if !l.q.From.IsZero() {
		r.from = ceilMillis(l.q.From)
	}
	if !l.q.To.IsZero() {
		r.to = ceilMillis(l.q.To)
	}
	if !l.order.ended {
		r.lo.at, r.hi.at = r.from, r.to
	}
	return r
}

// choose finds the groups that the query selects.
func (l *listing) choose() error {
	return groupsOf(l.c, l.q.UserID, func(g group, n int) {
		l.all += n
		if l.selects(g) {
			l.groups, l.sizes = append(l.groups, g), append(l.sizes, n)
			l.sum += n
		}
	})
}

func (l *listing) selects(g group) bool {
	q := &l.q
	return (len(q.Statuses) == 0 || slices.Contains(q.Statuses, g.status)) &&
		(q.Kind == "" || g.kind == q.Kind) &&
		(q.Lane == "" || g.lane == q.Lane) &&
		(q.Dismissed == nil || g.dismissed == *q.Dismissed) &&
		(!l.order.ended || g.status.Final())
}

// walk takes up to n places that match from the merge of the groups.
func (l *listing) walk(ctx context.Context, n int) (places []place, err error) {
	if l.q.Limit == 0 {
		return nil, nil
	}
	m := newMerge(l.c, l.order, l.groups, l.reach, n)
	if l.everybodys() {
		m = newMerge(l.c, l.order, wide(l.groups), l.reach, n)
		m.everybody = true
	}
	m.named = len(l.q.Words) > 0
	for len(places) < n {
		p, ok, err := m.next()
		if err != nil || !ok {
			return places, err
		}
		if m.named && !haveWords(p.name+" "+p.kind, l.q.Words) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			continue
		}
		places = append(places, p)
	}
	return places, nil
}

// everybodys reports whether the list can be read from the index of everybody's tasks by their end. It spares
// a stream for each user where retention and estimates look, and those who run the desk.
func (l *listing) everybodys() bool {
	return l.order.ended && l.q.UserID == "" && l.q.Lane == "" && l.q.Dismissed == nil
}

// wide puts groups together that differ in more than status and kind.
func wide(groups []group) (out []group) {
	for _, g := range groups {
		if g = (group{status: g.status, kind: g.kind}); !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

// cut takes the page out of all places that match.
func (l *listing) cut(all []place) (page []place) {
	for _, p := range all {
		if l.reach.lo.before(p) && p.before(l.reach.hi) {
			page = append(page, p)
		}
	}
	slices.SortFunc(page, l.order.compare)
	return page[:min(len(page), l.q.Limit+1)]
}

var selectNarrow = "SELECT " + narrowColumns.names() + " FROM tasks WHERE row = ?"

// fill reads the page's rows. One place more than the page holds says that there is a next page.
func (l *listing) fill(page tasks.Page, places []place) (tasks.Page, error) {
	if l.q.Limit == 0 {
		return page, nil
	}
	if len(places) > l.q.Limit {
		places = places[:l.q.Limit]
		last := places[l.q.Limit-1]
		page.NextCursor = cursor{string(l.q.Sort), last.at, last.id}.String()
	}
	page.Items = make([]tasks.Task, 0, len(places))
	for _, p := range places {
		s := l.c.Stmt(selectNarrow).Int(p.row)
		if s.Next() {
			page.Items = append(page.Items, narrowColumns.read(s))
		}
		if err := s.Err(); err != nil {
			return tasks.Page{}, err
		}
	}
	return page, nil
}
