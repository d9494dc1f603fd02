package sqlite

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

const (
	insertWord = "INSERT INTO task_words (userId, word, row) VALUES (?, ?, ?)"
	// DISTINCT: two words of one task may have the same beginning.
	selectRows = "SELECT row FROM task_words WHERE userId = ? AND word >= ? AND word < ? LIMIT ?"
)

// beyond is greater than every word that has the prefix: no text sorts behind U+10FFFF.
func beyond(prefix string) string { return prefix + "\U0010FFFF" }

func addWords(tx *tx, row int64, t *tasks.Task) error {
	for _, w := range t.SearchWords() {
		if err := tx.Stmt(insertWord).Text(t.UserID).Text(w).Int(row).Run(); err != nil {
			return err
		}
	}
	return nil
}

// few returns the places of all tasks that match, when an index says that they are few.
func (l *listing) few(ctx context.Context) (places []place, ok bool, err error) {
	var rows []int64
	switch {
	case len(l.q.Words) > 0:
		rows, ok, err = l.rowsOfWords()
	case l.order.ended && (!l.q.From.IsZero() || !l.q.To.IsZero()):
		rows, ok, err = l.rowsOfRange()
	}
	if err != nil || !ok {
		return nil, false, err
	}
	slices.Sort(rows)
	for _, row := range slices.Compact(rows) {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		f, err := l.facts(row)
		if err != nil {
			return nil, false, err
		}
		if l.accepts(&f) {
			places = append(places, f.place(l.order))
		}
	}
	return places, true, nil
}

// rowsOfWords returns the rows that match the rarest of the query's words, when they are few.
func (l *listing) rowsOfWords() (rarest []int64, ok bool, err error) {
	for _, word := range l.q.Words {
		rows, err := l.rowsOfWord(word, l.tuning.few+1)
		if err != nil {
			return nil, false, err
		}
		if len(rows) <= l.tuning.few && (!ok || len(rows) < len(rarest)) {
			rarest, ok = rows, true
		}
	}
	return rarest, ok, nil
}

func (l *listing) rowsOfWord(word string, limit int) (rows []int64, err error) {
	for _, user := range l.users() {
		s := l.c.Stmt(selectRows).Text(user).Text(word).Text(beyond(word)).Int(int64(limit - len(rows)))
		for s.Next() {
			rows = append(rows, s.ReadInt())
		}
		if err := s.Err(); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// users are those whose tasks the query may select.
func (l *listing) users() (users []string) {
	for _, g := range l.groups {
		users = append(users, g.userID)
	}
	slices.Sort(users)
	return slices.Compact(users)
}

// rowsOfRange returns the rows of tasks created in the query's range, when they are few: more than for
// words, since the other way may walk far before it comes to the first of them.
func (l *listing) rowsOfRange() (rows []int64, ok bool, err error) {
	few := 5 * l.tuning.few
	r := l.everywhere()
	r.lo.at, r.hi.at = r.from, r.to
	m := newMerge(l.c, orders[tasks.OldestFirst], l.groups, r, few+1)
	for range few + 1 {
		p, more, err := m.next()
		if err != nil || !more {
			return rows, err == nil, err
		}
		rows = append(rows, p.row)
	}
	return nil, false, nil
}

// facts are what filters and orders look at.
type facts struct {
	group              group
	name               string
	createdAt, endedAt time.Time
	row                int64
	id                 string
}

const (
	factsColumns = "tasks.row, taskId, tasks.userId, status, kind, lane, dismissed, createdAt, endedAt, name"
	selectFacts  = "SELECT " + factsColumns + " FROM tasks WHERE row = ?"
)

func readFacts(s *lite.Stmt) facts {
	return facts{
		row: s.ReadInt(), id: s.ReadText(),
		group:     group{s.ReadText(), tasks.Status(s.ReadText()), s.ReadText(), s.ReadText(), s.ReadBool()},
		createdAt: s.ReadTime(), endedAt: s.ReadTime(), name: s.ReadText(),
	}
}

func (l *listing) facts(row int64) (f facts, err error) {
	s := l.c.Stmt(selectFacts).Int(row)
	if s.Next() {
		f = readFacts(s)
	}
	return f, s.Err()
}

func (f *facts) place(o order) place {
	if o.ended {
		return place{at: f.endedAt.UnixMilli(), id: f.id, row: f.row}
	}
	return place{at: f.createdAt.UnixMilli(), id: f.id, row: f.row}
}

// accepts holds a task against the whole query.
func (l *listing) accepts(f *facts) bool {
	at := f.createdAt.UnixMilli()
	return l.selects(f.group) && at >= l.reach.from && at < l.reach.to && haveWords(f.name+" "+f.group.kind, l.q.Words)
}

// haveWords reports whether each of words is the beginning of one of a text's words, as [tasks.Words]
// cuts it.
func haveWords(text string, words []string) bool {
	if len(words) == 0 {
		return true
	}
	text = strings.ToLower(text)
	return !slices.ContainsFunc(words, func(w string) bool { return !hasWord(text, w) })
}

func hasWord(text, beginning string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], beginning)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:from+i])
		if from+i == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return true
		}
		from += i + 1
	}
}
