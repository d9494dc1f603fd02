package sqlite

import (
	"cmp"
	"strings"
	"time"

	"filmroom/tasks"
)

// A place is where a task stands in an order.
type place struct {
	at  int64 // milliseconds
	id  string
	row int64
}

func comparePlaces(a, b place) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) }

func (p place) before(q place) bool { return comparePlaces(p, q) < 0 }

// A reach is a part of an order; both ends are excluded.
type reach struct{ lo, hi place }

func (r reach) has(p place) bool { return r.lo.before(p) && p.before(r.hi) }

// An order is one of [tasks.Sort], as SQL and as a comparison.
type order struct {
	ended, descending bool
	ofRow             string // a row's place
	ofChunk           string // rows and times of a chunk, in order
}

func (o order) compare(a, b place) int {
	if o.descending {
		a, b = b, a
	}
	return comparePlaces(a, b)
}

var orders = map[tasks.Sort]order{
	tasks.NewestFirst:     newOrder("createdAt", "DESC"),
	tasks.OldestFirst:     newOrder("createdAt", "ASC"),
	tasks.LastEndedFirst:  newOrder("endedAt", "DESC"),
	tasks.FirstEndedFirst: newOrder("endedAt", "ASC"),
}

func newOrder(column, direction string) order {
	fill := func(sql string) string { return strings.NewReplacer("@", column, "#", direction).Replace(sql) }
	return order{ended: column == "endedAt", descending: direction == "DESC",
		ofRow:   fill("SELECT row, @, taskId FROM tasks WHERE row = ?"),
		ofChunk: fill("SELECT row, @ FROM tasks WHERE row / 1024 = ? AND @ >= ? AND @ <= ? ORDER BY @ #"),
	}
}

// first is the time of a span that comes first in the order.
func (o order) first(s span) int64 {
	least, most := o.bounds(s)
	if o.descending {
		return most
	}
	return least
}

// bounds are the least and the greatest time of a span by which the order sorts.
func (o order) bounds(s span) (least, most int64) {
	if o.ended {
		return s.endedMin, s.endedMax
	}
	return s.createdMin, s.createdMax
}

// ceilMillis is the first whole millisecond that is not before t.
func ceilMillis(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.After(time.UnixMilli(ms)) {
		ms++
	}
	return ms
}
