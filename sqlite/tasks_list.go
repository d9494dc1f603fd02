package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

// A list of tasks is made in two steps. A [search] finds all rows that the query selects, as bits, which
// costs about the same whatever the filters are and how many tasks they leave; counting the bits gives the
// total. Then the page is put together from those chunks alone whose tasks can be on it, by their times.
// Since rows are given out in the order of creation, that is mostly one chunk or two.
//
// A person may retry what failed a year ago, and then one task's end keeps a whole chunk in question. So there
// are indexes of the times of each chunk, which are left at the first that is too late.

// A listing is one query under way.
type listing struct {
	c      *lite.Conn
	q      tasks.Query
	order  order
	reach  reach // where the page lies
	search search
	want   int // places
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
		l := &listing{c: c, q: q, order: order, want: q.Limit + 1}
		l.search = search{ctx: ctx, c: c, q: &l.q, ended: order.ended, rows: s.db.options.tuning.chunk, from: math.MinInt64, to: math.MaxInt64}
		page, err = l.page()
		return err
	})
	return page, wrap(err, "list tasks", "")
}

func (l *listing) page() (page tasks.Page, err error) {
	if err := l.bounds(); err != nil {
		return page, err
	}
	if err := l.search.run(); err != nil {
		return page, err
	}
	if !l.q.NoTotal {
		page.Total, page.TotalExact = l.search.total(), true
	}
	if l.q.Limit == 0 {
		return page, nil
	}
	places, err := l.gather()
	if err != nil {
		return page, err
	}
	return l.fill(page, places)
}

// bounds sets between which places the page lies.
func (l *listing) bounds() error {
	if !l.q.From.IsZero() {
		l.search.from = ceilMillis(l.q.From)
	}
	if !l.q.To.IsZero() {
		l.search.to = ceilMillis(l.q.To)
	}
	l.reach = reach{lo: place{at: math.MinInt64}, hi: place{at: math.MaxInt64}}
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

// gather takes the page from the chunks that were searched, one after another by their times, until no other
// can have anything for the page.
func (l *listing) gather() (places []place, err error) {
	for _, i := range l.chunks() {
		c := &l.search.chunks[i]
		if l.isBehind(l.order.first(c.span), places) {
			break
		}
		if places, err = l.add(places, i); err != nil {
			return nil, err
		}
		slices.SortFunc(places, l.order.compare)
		places = places[:min(len(places), l.want)]
	}
	return places, nil
}

// chunks are those in which something was found within reach, in the order of their first task.
func (l *listing) chunks() (some []int64) {
	for i := range l.search.chunks {
		c := &l.search.chunks[i]
		if least, most := l.order.bounds(c.span); c.found != (bitset{}) && most >= l.reach.lo.at && least <= l.reach.hi.at {
			some = append(some, int64(i))
		}
	}
	slices.SortFunc(some, func(a, b int64) int {
		firstA, firstB := l.order.first(l.search.chunks[a].span), l.order.first(l.search.chunks[b].span)
		if l.order.descending {
			return cmp.Compare(firstB, firstA)
		}
		return cmp.Compare(firstA, firstB)
	})
	return some
}

// isBehind reports whether a time is behind a full page.
func (l *listing) isBehind(at int64, places []place) bool {
	if len(places) < l.want {
		return false
	}
	last := places[l.want-1].at
	return at != last && (at < last) == l.order.descending
}

// add adds what was found in a chunk and may be on the page.
func (l *listing) add(places []place, i int64) ([]place, error) {
	found, rows := &l.search.chunks[i].found, l.search.rows
	if int64(found.len()) > rows/64 || len(places) == l.want {
		return l.addInOrder(places, i)
	}
	for bit := range found.all() {
		var err error
		if places, err = l.addRow(places, i*rows+bit); err != nil {
			return nil, err
		}
	}
	return places, nil
}

// addRow adds a row if it lies within reach.
func (l *listing) addRow(places []place, row int64) ([]place, error) {
	s := l.c.Stmt(l.order.ofRow).Int(row)
	if s.Next() {
		if p := (place{row: s.ReadInt(), at: s.ReadInt(), id: s.ReadText()}); l.reach.has(p) {
			places = append(places, p)
		}
	}
	return places, s.Err()
}

// addInOrder goes along the times of a chunk until they are behind a full page, of this chunk or of others.
// Those of the same moment are not in the order of their ids.
func (l *listing) addInOrder(places []place, i int64) ([]place, error) {
	others, own := places, []place(nil)
	s := l.c.Stmt(l.order.ofChunk).Int(i * l.search.rows / chunkSize).Int(l.reach.lo.at).Int(l.reach.hi.at)
	defer s.Done()
	for s.Next() {
		row, at := s.ReadInt(), s.ReadInt()
		if l.isBehind(at, others) || l.isBehind(at, own) {
			break
		}
		if row/l.search.rows != i || !l.search.has(row) {
			continue
		}
		var err error
		if own, err = l.addRow(own, row); err != nil {
			return nil, err
		}
	}
	return append(places, own...), s.Err()
}

var selectNarrow = "SELECT " + narrowColumns.names() + " FROM tasks WHERE row = ?"

// fill reads the page's rows. One place more than the page holds says that there is a next page.
func (l *listing) fill(page tasks.Page, places []place) (tasks.Page, error) {
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
