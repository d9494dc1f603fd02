package sqlite

import (
	"cmp"
	"container/heap"
	"strings"
	"time"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

// A place is where a task stands in an order.
type place struct {
	at  int64 // milliseconds
	id  string
	row int64

	name, kind string // only where words are looked for
}

func comparePlaces(a, b place) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) }

func (p place) before(q place) bool { return comparePlaces(p, q) < 0 }

// An order is one of [tasks.Sort], as SQL and as a comparison.
type order struct {
	ended, descending bool
	sql               map[streaming]string // places of one group
}

// A streaming is a way to read a group.
type streaming struct {
	named     bool // places come with name and kind
	everybody bool // the group is all tasks of a status and kind, whoever's and wherever
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
	sql := `SELECT @, taskId, row% FROM tasks WHERE $
		AND @ IS NOT NULL AND (@, taskId) > (?, ?) AND (@, taskId) < (?, ?)
		AND createdAt >= ? AND createdAt < ? ORDER BY @ #, taskId # LIMIT ?`
	o := order{ended: column == "endedAt", descending: direction == "DESC", sql: map[streaming]string{}}
	for more, named := range map[string]bool{"": false, ", name": true} {
		for group, everybody := range map[string]bool{groupIs: false, "status = ? AND kind = ?": true} {
			fill := strings.NewReplacer("@", column, "#", direction, "%", more, "$", group)
			o.sql[streaming{named, everybody}] = fill.Replace(sql)
		}
	}
	return o
}

const groupIs = "userId = ? AND status = ? AND kind = ? AND lane = ? AND dismissed = ?"

// bind binds a group, in the order in which the indexes have it.
func (g group) bind(s *lite.Stmt) *lite.Stmt {
	return s.Text(g.userID).Text(string(g.status)).Text(g.kind).Text(g.lane).Bool(g.dismissed)
}

// A merge gives the places of several groups in one order. It is a heap of streams, one a group; each
// reads ahead a little, and more each time it has to read again.
type merge struct {
	c     *lite.Conn
	order order
	reach reach
	streaming
	streams []*stream
	begun   bool
	ahead   int // places a stream reads at first
}

type stream struct {
	group group
	read  []place // the first is the stream's next
	ahead int
	ended bool
}

// A reach bounds a merge: by place, both ends excluded, and by creation, the end excluded.
type reach struct {
	lo, hi   place
	from, to int64
}

// newMerge merges what the groups have within reach. want is about how many places will be asked for.
func newMerge(c *lite.Conn, o order, groups []group, r reach, want int) *merge {
	m := &merge{c: c, order: o, reach: r}
	m.ahead = min(want, max(2, 4*want/max(len(groups), 1)))
	for _, g := range groups {
		m.streams = append(m.streams, &stream{group: g, ahead: m.ahead})
	}
	return m
}

// next returns the next place; ok is false at the end.
func (m *merge) next() (p place, ok bool, err error) {
	if !m.begun {
		if err := m.begin(); err != nil {
			return p, false, err
		}
	}
	if len(m.streams) == 0 {
		return p, false, nil
	}
	first := m.streams[0]
	p, first.read = first.read[0], first.read[1:]
	if len(first.read) == 0 {
		if err := m.fetch(first, p); err != nil {
			return p, false, err
		}
	}
	if len(first.read) == 0 {
		heap.Pop(m)
	} else {
		heap.Fix(m, 0)
	}
	return p, true, nil
}

func (m *merge) begin() error {
	m.begun = true
	start := m.reach.lo
	if m.order.descending {
		start = m.reach.hi
	}
	all := m.streams
	m.streams = nil
	for _, s := range all {
		if err := m.fetch(s, start); err != nil {
			return err
		}
		if len(s.read) > 0 {
			m.streams = append(m.streams, s)
		}
	}
	heap.Init(m)
	return nil
}

// fetch reads a stream on from a place.
func (m *merge) fetch(s *stream, from place) error {
	if s.ended {
		return nil
	}
	lo, hi := from, m.reach.hi
	if m.order.descending {
		lo, hi = m.reach.lo, from
	}
	stmt := m.c.Stmt(m.order.sql[m.streaming])
	if m.everybody {
		stmt.Text(string(s.group.status)).Text(s.group.kind)
	} else {
		s.group.bind(stmt)
	}
	stmt.Int(lo.at).Text(lo.id).Int(hi.at).Text(hi.id)
	stmt.Int(m.reach.from).Int(m.reach.to).Int(int64(s.ahead))
	s.read = s.read[:0]
	for stmt.Next() {
		p := place{at: stmt.ReadInt(), id: stmt.ReadText(), row: stmt.ReadInt()}
		if m.named {
			p.name, p.kind = stmt.ReadText(), s.group.kind
		}
		s.read = append(s.read, p)
	}
	s.ended = len(s.read) < s.ahead
	s.ahead = min(2*s.ahead, 1000)
	return stmt.Err()
}

func (m *merge) Len() int { return len(m.streams) }
func (m *merge) Less(i, j int) bool {
	return m.order.compare(m.streams[i].read[0], m.streams[j].read[0]) < 0
}
func (m *merge) Swap(i, j int) { m.streams[i], m.streams[j] = m.streams[j], m.streams[i] }
func (m *merge) Push(x any)    { m.streams = append(m.streams, x.(*stream)) }
func (m *merge) Pop() any {
	last := m.streams[len(m.streams)-1]
	m.streams = m.streams[:len(m.streams)-1]
	return last
}

// ceilMillis is the first whole millisecond that is not before t.
func ceilMillis(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.After(time.UnixMilli(ms)) {
		ms++
	}
	return ms
}
