package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"filmroom/imaging"
	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

// A page of a library comes about in one of two ways. Where one of the filters selects few series, which
// its index tells, these are fetched, held against the whole query and sorted. Else the library is walked
// in the order of the list, and soon gives a page, because each filter lets many through.

// A shelf is one query for series under way.
type shelf struct {
	c     *lite.Conn
	q     imaging.SeriesQuery
	most  int // so many are few
	order seriesOrder
	name  string // beginning of the patient's name, in lower case
	after *spot
}

func (s *imagingStore) ListSeries(ctx context.Context, q imaging.SeriesQuery) (page imaging.SeriesPage, err error) {
	if q.Sort == "" {
		q.Sort = imaging.NewestImported
	}
	order, ok := seriesOrders[q.Sort]
	if !ok {
		return page, fmt.Errorf("list series: no such sort %q", q.Sort)
	}
	l := &shelf{q: q, most: s.db.options.tuning.few, order: order, name: strings.ToLower(q.PatientName)}
	if q.Cursor != "" {
		after, ok := s.db.seal.open(q.Cursor, string(q.Sort))
		if !ok {
			return page, wrap(imaging.ErrCursor, "list series", "")
		}
		l.after = &after
	}
	var found []imaging.Series
	err = s.db.read(ctx, func(c *lite.Conn) error {
		l.c = c
		found, page, err = l.page(ctx)
		return err
	})
	if err != nil || q.Limit == 0 {
		return page, wrap(err, "list series", "")
	}
	if len(found) > q.Limit {
		found = found[:q.Limit]
		page.NextCursor = s.db.seal.cursor(string(q.Sort), l.order.spot(&found[q.Limit-1]))
	}
	page.Items = found
	return page, nil
}

// page returns the series of the page and one more if there is a next one.
func (l *shelf) page(ctx context.Context) (found []imaging.Series, page imaging.SeriesPage, err error) {
	rows, few, err := l.few()
	if err != nil {
		return nil, page, err
	}
	if few {
		found, err = l.fetch(rows)
		page.Total, page.TotalExact = len(found), true
		return l.cut(found), page, err
	}
	if l.q.Limit > 0 {
		if found, err = l.walk(ctx, l.after, l.q.Limit+1); err != nil {
			return nil, page, err
		}
	}
	page.Total, page.TotalExact, err = l.total(ctx)
	return found, page, err
}

// fetch reads series by row and keeps those that match, in the order of the list.
func (l *shelf) fetch(rows []int64) (found []imaging.Series, err error) {
	for _, row := range rows {
		s, err := seriesColumns.one(l.c.Stmt(selectSeriesRow).Int(row), imaging.ErrNotFound)
		if err != nil {
			return nil, err
		}
		if l.matches(&s) {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b imaging.Series) int { return l.order.compare(l.order.spot(&a), l.order.spot(&b)) })
	return found, nil
}

// cut leaves out what is before the page and what is far behind it.
func (l *shelf) cut(found []imaging.Series) []imaging.Series {
	if l.after != nil {
		i, _ := slices.BinarySearchFunc(found, *l.after, func(s imaging.Series, at spot) int {
			return cmp.Or(l.order.compare(l.order.spot(&s), at), -1) // the spot itself is before the page
		})
		found = found[i:]
	}
	return found[:min(len(found), l.q.Limit+1)]
}

// walk goes through the library in the order of the list, behind a spot, until n series matched.
func (l *shelf) walk(ctx context.Context, after *spot, n int) (found []imaging.Series, err error) {
	s := l.c.Stmt(l.order.first).Text(l.q.LibraryID)
	if after != nil {
		s = l.order.bind(l.c.Stmt(l.order.next).Text(l.q.LibraryID), *after)
	}
	for len(found) < n && s.Next() {
		series := seriesColumns.read(s)
		if l.matches(&series) {
			found = append(found, series)
		}
		if ctx.Err() != nil {
			break
		}
	}
	s.Done()
	return found, cmp.Or(s.Err(), ctx.Err())
}

// total counts up to [tasks.CountLimit] when no filter selects few.
func (l *shelf) total(ctx context.Context) (n int, exact bool, err error) {
	if l.unfiltered() {
		count, err := number(l.c.Stmt(countSeries).Text(l.q.LibraryID).Int(tasks.CountLimit + 1))
		return min(int(count), tasks.CountLimit), count <= tasks.CountLimit, err
	}
	s := l.c.Stmt(l.order.first).Text(l.q.LibraryID)
	for n <= tasks.CountLimit && s.Next() {
		series := seriesColumns.read(s)
		if l.matches(&series) {
			n++
		}
		if ctx.Err() != nil {
			break
		}
	}
	s.Done()
	return min(n, tasks.CountLimit), n <= tasks.CountLimit, cmp.Or(s.Err(), ctx.Err())
}

const countSeries = "SELECT count(*) FROM (SELECT 1 FROM series WHERE libraryId = ? LIMIT ?)"

// A spot is where a series stands in an order.
type spot struct {
	At   int64  // milliseconds, in an order by time
	Text string // in the others
	ID   string
}

// A seriesOrder is one of [imaging.SeriesSort], as SQL and as a comparison.
type seriesOrder struct {
	time        bool
	descending  bool
	field       func(*imaging.Series) string
	first, next string
}

var seriesOrders = map[imaging.SeriesSort]seriesOrder{
	imaging.NewestImported:  newSeriesOrder("importedAt", "DESC", nil),
	imaging.OldestImported:  newSeriesOrder("importedAt", "ASC", nil),
	imaging.NewestStudied:   newSeriesOrder("studyDate", "DESC", func(s *imaging.Series) string { return s.StudyDate }),
	imaging.OldestStudied:   newSeriesOrder("studyDate", "ASC", func(s *imaging.Series) string { return s.StudyDate }),
	imaging.ByPatientNameUp: newSeriesOrder("patientName", "DESC", func(s *imaging.Series) string { return s.PatientName }),
	imaging.ByPatientName:   newSeriesOrder("patientName", "ASC", func(s *imaging.Series) string { return s.PatientName }),
}

func newSeriesOrder(column, direction string, field func(*imaging.Series) string) seriesOrder {
	o := seriesOrder{time: field == nil, descending: direction == "DESC", field: field}
	sql := "SELECT " + seriesColumns.names() + " FROM series WHERE libraryId = ? @ ORDER BY # ^, seriesId ^"
	beyond := "AND (#, seriesId) > (?, ?)"
	if o.descending {
		beyond = "AND (#, seriesId) < (?, ?)"
	}
	fill := func(sql string) string { return strings.NewReplacer("#", column, "^", direction).Replace(sql) }
	o.first, o.next = fill(strings.Replace(sql, "@", "", 1)), fill(strings.Replace(sql, "@", beyond, 1))
	return o
}

func (o seriesOrder) spot(s *imaging.Series) spot {
	if o.time {
		return spot{At: s.ImportedAt.UnixMilli(), ID: s.ID}
	}
	return spot{Text: o.field(s), ID: s.ID}
}

func (o seriesOrder) bind(s *lite.Stmt, at spot) *lite.Stmt {
	if o.time {
		return s.Time(time.UnixMilli(at.At)).Text(at.ID)
	}
	return s.Text(at.Text).Text(at.ID)
}

func (o seriesOrder) compare(a, b spot) int {
	if o.descending {
		a, b = b, a
	}
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Text, b.Text), cmp.Compare(a.ID, b.ID))
}
