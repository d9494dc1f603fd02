package sqlite

import (
	"cmp"
	"maps"
	"slices"
	"unicode/utf8"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

// Which tasks a filter selects stands in sets of rows, one for each value that filters name: a status, a
// user, a word. A set is stored as one [bitset] for each chunk of rows that are neighbours.
//
// The youngest tasks are in no set: lists read their rows, fewer than a chunk has, and most moves of a task come
// while it is young. When a chunk is full it is sealed: the sets of its tasks are written, each once for
// the whole chunk. From then on a move of one of its tasks changes the sets of the value it leaves and of the
// one it gets; that is gathered over a transaction, so that many moves of one commit write a set once.

// Names of sets begin with a letter for what they are about.
const (
	everyTask    = "a"
	dismissedSet = "d"
)

func statusSet(s tasks.Status) string { return "s" + string(s) }
func userSet(id string) string        { return "u" + id }
func kindSet(kind string) string      { return "k" + kind }
func laneSet(lane string) string      { return "l" + lane }
func wordSet(word string) string      { return "w" + word }
func beginningSet(word string) string { return "b" + word }

// beginningRunes is up to which length each beginning of a word has a set of its own, because many words
// may share it. Longer ones are a range of the sets of words.
const beginningRunes = 4

// beginnings calls visit with the sets in which a search for a beginning of a word may look.
func beginnings(word string, visit func(name string)) {
	runes := 0
	for i := range word {
		if i > 0 {
			visit(beginningSet(word[:i]))
		}
		if runes++; runes > beginningRunes {
			visit(wordSet(word))
			return
		}
	}
	visit(beginningSet(word))
}

// isShort reports whether a beginning of words has a set of its own.
func isShort(beginning string) bool { return utf8.RuneCountInString(beginning) <= beginningRunes }

// setsOf calls visit with the names of a task's sets, of some more than once.
func setsOf(t *tasks.Task, visit func(name string)) {
	visit(everyTask)
	visit(userSet(t.UserID))
	visit(statusSet(t.Status))
	visit(kindSet(t.Kind))
	visit(laneSet(t.Lane))
	if t.Dismissed {
		visit(dismissedSet)
	}
	for _, w := range t.SearchWords() {
		beginnings(w, visit)
	}
}

// sets gathers what a transaction does to the sets.
type sets struct {
	rows    int64 // of a chunk
	sealed  int64 // chunks; 0 before it was asked for
	asked   bool
	newest  int64 // row that was inserted
	changes map[setKey]*setChange
	spans   map[int64]span
}

type setKey struct {
	name  string
	chunk int64
}

type setChange struct{ on, off bitset }

// isSealed reports whether a row's sets are kept. Chunks are sealed at the end of a transaction.
func (s *sets) isSealed(c *lite.Conn, row int64) (bool, error) {
	if !s.asked {
		n, err := sealedChunks(c)
		if err != nil {
			return false, err
		}
		s.sealed, s.asked = n, true
	}
	return row/s.rows < s.sealed, nil
}

const selectSealed = "SELECT max(chunk) + 1 FROM task_chunks"

func sealedChunks(c *lite.Conn) (n int64, err error) {
	s := c.Stmt(selectSealed)
	if s.Next() {
		n = s.ReadInt()
	}
	return n, s.Err()
}

// insert notes a new task. Mostly its row is above all others and so in no sealed chunk; a row whose task was
// deleted may be given out again.
func (s *sets) insert(c *lite.Conn, row int64, t *tasks.Task) error {
	s.newest = max(s.newest, row)
	sealed, err := s.isSealed(c, row)
	if sealed {
		setsOf(t, func(name string) { s.put(name, row, true) })
		s.widen(row, t)
	}
	return err
}

// move notes what a write to a task means for the sets.
func (s *sets) move(c *lite.Conn, was, next *tasks.Task) error {
	if was.Status == next.Status && was.Dismissed == next.Dismissed && was.EndedAt.Equal(next.EndedAt) {
		return nil
	}
	row, err := rowOf(c, next.ID)
	if err != nil {
		return err
	}
	sealed, err := s.isSealed(c, row)
	if !sealed {
		return err
	}
	if was.Status != next.Status {
		s.put(statusSet(was.Status), row, false)
		s.put(statusSet(next.Status), row, true)
	}
	if was.Dismissed != next.Dismissed {
		s.put(dismissedSet, row, next.Dismissed)
	}
	s.widen(row, next)
	return nil
}

// remove notes that a task is deleted.
func (s *sets) remove(c *lite.Conn, row int64, t *tasks.Task) error {
	sealed, err := s.isSealed(c, row)
	if sealed {
		setsOf(t, func(name string) { s.put(name, row, false) })
	}
	return err
}

const selectRow = "SELECT row FROM tasks WHERE taskId = ?"

func rowOf(c *lite.Conn, id string) (row int64, err error) {
	s := c.Stmt(selectRow).Text(id)
	if s.Next() {
		row = s.ReadInt()
	}
	return row, s.Err()
}

func (s *sets) put(name string, row int64, in bool) {
	if s.changes == nil {
		s.changes = map[setKey]*setChange{}
	}
	key := setKey{name, row / s.rows}
	change := s.changes[key]
	if change == nil {
		change = &setChange{}
		s.changes[key] = change
	}
	if i := row % s.rows; in {
		change.on.add(i)
		change.off.drop(i)
	} else {
		change.off.add(i)
		change.on.drop(i)
	}
}

func (s *sets) widen(row int64, t *tasks.Task) {
	if s.spans == nil {
		s.spans = map[int64]span{}
	}
	chunk := row / s.rows
	had, ok := s.spans[chunk]
	if !ok {
		had = nowhen
	}
	s.spans[chunk] = had.with(t)
}

// store writes what was gathered.
func (s *sets) store(c *lite.Conn) error {
	for key, change := range s.changes {
		if err := change.store(c, key); err != nil {
			return err
		}
	}
	for chunk, span := range s.spans {
		if err := span.bind(c.Stmt(widenChunk)).Int(chunk).Run(); err != nil {
			return err
		}
	}
	if s.newest == 0 {
		return nil
	}
	if _, err := s.isSealed(c, 0); err != nil {
		return err
	}
	for ; s.sealed < s.newest/s.rows; s.sealed++ {
		if err := sealChunk(c, s.sealed, s.rows); err != nil {
			return err
		}
	}
	return nil
}

const (
	selectSet = "SELECT bits FROM task_sets WHERE name = ? AND chunk = ?"
	putSet    = "INSERT INTO task_sets (bits, name, chunk) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET bits = excluded.bits"
	dropSet   = "DELETE FROM task_sets WHERE name = ? AND chunk = ?"

	putChunk   = "INSERT INTO task_chunks (createdMin, createdMax, endedMin, endedMax, chunk) VALUES (?, ?, ?, ?, ?)"
	widenChunk = `UPDATE task_chunks SET createdMin = min(createdMin, ?), createdMax = max(createdMax, ?),
		endedMin = min(endedMin, ?), endedMax = max(endedMax, ?) WHERE chunk = ?`
)

func (change *setChange) store(c *lite.Conn, key setKey) error {
	var set bitset
	s := c.Stmt(selectSet).Text(key.name).Int(key.chunk)
	if s.Next() {
		set.orEncoded(s.ReadBytes())
	}
	if err := s.Err(); err != nil {
		return err
	}
	set.without(&change.off)
	set.or(&change.on)
	if set == (bitset{}) {
		return c.Stmt(dropSet).Text(key.name).Int(key.chunk).Run()
	}
	return c.Stmt(putSet).Blob(set.encode()).Text(key.name).Int(key.chunk).Run()
}

// setColumns are what setsOf looks at, and the times.
const setColumns = "userId, status, kind, lane, dismissed, createdAt, endedAt, name"

func readSetColumns(s *lite.Stmt) tasks.Task {
	return tasks.Task{UserID: s.ReadText(), Status: tasks.Status(s.ReadText()), Kind: s.ReadText(), Lane: s.ReadText(),
		Dismissed: s.ReadBool(), CreatedAt: s.ReadTime(), EndedAt: s.ReadTime(), Name: s.ReadText()}
}

const selectChunk = "SELECT row, " + setColumns + " FROM tasks WHERE row >= ? AND row < ?"

// sealChunk writes the sets of a chunk from its tasks as they are.
func sealChunk(c *lite.Conn, chunk, rows int64) error {
	found, times := map[string]*bitset{}, nowhen
	s := c.Stmt(selectChunk).Int(chunk * rows).Int((chunk + 1) * rows)
	for s.Next() {
		row, t := s.ReadInt(), readSetColumns(s)
		times = times.with(&t)
		setsOf(&t, func(name string) {
			if found[name] == nil {
				found[name] = &bitset{}
			}
			found[name].add(row % rows)
		})
	}
	err := cmp.Or(s.Err(), times.bind(c.Stmt(putChunk)).Int(chunk).Run())
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if err == nil {
			err = c.Stmt(putSet).Blob(found[name].encode()).Text(name).Int(chunk).Run()
		}
	}
	return err
}

const selectNewest = "SELECT max(row) FROM tasks"

// sealAll seals what a database of an earlier version has.
func sealAll(c *lite.Conn) error {
	s := c.Stmt(selectNewest)
	newest := int64(0)
	if s.Next() {
		newest = s.ReadInt()
	}
	if err := s.Err(); err != nil {
		return err
	}
	all := sets{rows: chunkSize, newest: newest}
	return all.store(c)
}
