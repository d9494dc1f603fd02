package sqlite

import (
	"context"
	"slices"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

// A search finds the rows that a query selects: all of them, as bits, chunk by chunk.
type search struct {
	ctx      context.Context
	c        *lite.Conn
	q        *tasks.Query
	ended    bool  // only tasks that have ended
	from, to int64 // only those created at from or later and before to
	rows     int64 // of a chunk
	chunks   []chunk
	sealed   int64 // the first so many of the chunks have sets
	lo, hi   int64 // sealed chunks from lo up to hi, which is excluded, can have something
	in       []bitset
}

// A chunk is what a search has found among neighbouring rows, and when their tasks were created and ended.
type chunk struct {
	span
	found bitset
}

// A clause is one condition of a query: that a task is in one of some sets, or in none of them.
type clause struct {
	sets []string
	word string // all sets of words that begin so
	none bool
}

// run finds the rows.
func (s *search) run() error {
	if err := s.readChunks(); err != nil {
		return err
	}
	for i, clause := range s.clauses() {
		if err := s.apply(clause, i == 0); err != nil {
			return err
		}
	}
	if err := s.trim(); err != nil {
		return err
	}
	return s.addYoung()
}

// clauses are the query's conditions, beginning with one that has to be met.
func (s *search) clauses() []clause {
	all := []clause{{sets: []string{everyTask}}}
	if s.q.UserID != "" {
		all[0].sets[0] = userSet(s.q.UserID)
	}
	for _, w := range s.q.Words {
		if isShort(w) {
			all = append(all, clause{sets: []string{beginningSet(w)}})
		} else {
			all = append(all, clause{word: w})
		}
	}
	if s.q.Kind != "" {
		all = append(all, clause{sets: []string{kindSet(s.q.Kind)}})
	}
	if s.q.Lane != "" {
		all = append(all, clause{sets: []string{laneSet(s.q.Lane)}})
	}
	if s.q.Dismissed != nil {
		all = append(all, clause{sets: []string{dismissedSet}, none: !*s.q.Dismissed})
	}
	return append(all, s.statuses())
}

// statuses names those that are wanted or those that are not, whichever are fewer.
func (s *search) statuses() clause {
	var wanted, unwanted []string
	for _, status := range tasks.Statuses {
		if s.wants(status) {
			wanted = append(wanted, statusSet(status))
		} else {
			unwanted = append(unwanted, statusSet(status))
		}
	}
	if len(wanted) > len(unwanted) {
		return clause{sets: unwanted, none: true}
	}
	return clause{sets: wanted}
}

func (s *search) wants(status tasks.Status) bool {
	return (len(s.q.Statuses) == 0 || slices.Contains(s.q.Statuses, status)) && (!s.ended || status.Final())
}

const selectChunks = "SELECT chunk, createdMin, createdMax, endedMin, endedMax FROM task_chunks ORDER BY chunk"

// readChunks reads which chunks have sets, and finds between which of them the query's tasks are.
func (s *search) readChunks() error {
	stmt := s.c.Stmt(selectChunks)
	for stmt.Next() {
		i := stmt.ReadInt()
		s.chunks = append(s.chunks, chunk{span: readSpan(stmt)})
		if c := &s.chunks[i]; c.createdMax >= s.from && c.createdMin < s.to {
			if s.hi == 0 {
				s.lo = i
			}
			s.hi = i + 1
		}
	}
	s.sealed, s.in = int64(len(s.chunks)), make([]bitset, len(s.chunks))
	return stmt.Err()
}

// apply keeps what a clause lets through; the first finds it.
func (s *search) apply(c clause, first bool) error {
	clear(s.in)
	if err := s.load(c, first); err != nil {
		return err
	}
	for i := s.lo; i < s.hi; i++ {
		switch found := &s.chunks[i].found; {
		case first:
			*found = s.in[i]
		case c.none:
			found.without(&s.in[i])
		default:
			found.and(&s.in[i])
		}
	}
	return s.ctx.Err()
}

const (
	selectSetChunks  = "SELECT chunk, bits FROM task_sets WHERE name = ? AND chunk >= ? AND chunk < ?"
	selectWordChunks = "SELECT chunk, bits FROM task_sets WHERE name >= ? AND name < ?"
)

// load adds a clause's sets to s.in. Where little was found so far, it looks at that only.
func (s *search) load(c clause, first bool) error {
	if c.word != "" {
		return s.loadFrom(s.c.Stmt(selectWordChunks).Text(wordSet(c.word)).Text(beyond(wordSet(c.word))))
	}
	few := s.some()
	for _, name := range c.sets {
		if first || int64(len(few))*8 > s.hi-s.lo {
			if err := s.loadFrom(s.c.Stmt(selectSetChunks).Text(name).Int(s.lo).Int(s.hi)); err != nil {
				return err
			}
			continue
		}
		for _, i := range few {
			if err := s.loadFrom(s.c.Stmt(selectSetChunks).Text(name).Int(i).Int(i + 1)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *search) loadFrom(stmt *lite.Stmt) error {
	for stmt.Next() {
		s.in[stmt.ReadInt()].orEncoded(stmt.ReadBytes())
	}
	return stmt.Err()
}

// some are the chunks in which something was found.
func (s *search) some() (some []int64) {
	for i := s.lo; i < s.hi; i++ {
		if s.chunks[i].found != (bitset{}) {
			some = append(some, i)
		}
	}
	return some
}

const selectBetween = "SELECT row FROM tasks WHERE row / 1024 = ? AND createdAt >= ? AND createdAt < ?"

// trim drops what was not created in time, from chunks that were begun before or ended after.
func (s *search) trim() error {
	for _, i := range s.some() {
		c := &s.chunks[i]
		if c.createdMin >= s.from && c.createdMax < s.to {
			continue
		}
		var within bitset
		stmt := s.c.Stmt(selectBetween).Int(i * s.rows / chunkSize).Int(s.from).Int(s.to)
		for stmt.Next() {
			if row := stmt.ReadInt(); row/s.rows == i {
				within.add(row % s.rows)
			}
		}
		if err := stmt.Err(); err != nil {
			return err
		}
		c.found.and(&within)
	}
	return nil
}

const selectYoung = "SELECT row, " + setColumns + " FROM tasks WHERE row >= ?"

// addYoung looks through the tasks that are in no set yet.
func (s *search) addYoung() error {
	s.chunks = append(s.chunks, chunk{span: nowhen})
	young := &s.chunks[s.sealed]
	stmt := s.c.Stmt(selectYoung).Int(s.sealed * s.rows)
	for stmt.Next() {
		row, t := stmt.ReadInt(), readSetColumns(stmt)
		if s.selects(&t) {
			young.span = young.span.with(&t)
			young.found.add(row % s.rows)
		}
	}
	return stmt.Err()
}

// selects holds a task against the whole query.
func (s *search) selects(t *tasks.Task) bool {
	q, created := s.q, t.CreatedAt.UnixMilli()
	return (q.UserID == "" || t.UserID == q.UserID) && s.wants(t.Status) &&
		(q.Kind == "" || t.Kind == q.Kind) &&
		(q.Lane == "" || t.Lane == q.Lane) &&
		(q.Dismissed == nil || t.Dismissed == *q.Dismissed) &&
		created >= s.from && created < s.to &&
		haveWords(t.Name+" "+t.Kind, q.Words)
}

// has reports whether a row was found.
func (s *search) has(row int64) bool {
	i := row / s.rows
	return i < int64(len(s.chunks)) && s.chunks[i].found.has(row%s.rows)
}

// total is how many rows were found.
func (s *search) total() (n int) {
	for i := range s.chunks {
		n += s.chunks[i].found.len()
	}
	return n
}
