package sqlite

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

// Each move writes the journal, so it is written without reflection. It is read rarely.
var journalColumn = column[tasks.Task]{
	name: "journal",
	bind: func(s *lite.Stmt, t *tasks.Task) {
		if len(t.Journal) == 0 {
			s.Null()
			return
		}
		s.JSON(appendJournal(make([]byte, 0, 128*len(t.Journal)), t.Journal))
	},
	read: func(s *lite.Stmt, t *tasks.Task) { s.Decode(&t.Journal) },
	same: func(a, b *tasks.Task) bool { return slices.Equal(a.Journal, b.Journal) },
	wide: true,
}

// appendJournal writes what [json.Marshal] does.
func appendJournal(to []byte, rows []tasks.Entry) []byte {
	for i := range rows {
		e := &rows[i]
		to = append(to, before(i), '{')
		to = e.At.AppendFormat(append(to, `"at":"`...), time.RFC3339Nano)
		to = appendString(append(to, `","event":`...), string(e.Event))
		if e.Attempt != 0 {
			to = strconv.AppendInt(append(to, `,"attempt":`...), int64(e.Attempt), 10)
		}
		if e.By != "" {
			to = appendString(append(to, `,"by":`...), e.By)
		}
		if e.Note != "" {
			to = appendString(append(to, `,"note":`...), e.Note)
		}
		if e.Folded != 0 {
			to = strconv.AppendInt(append(to, `,"folded":`...), int64(e.Folded), 10)
		}
		to = append(to, '}')
	}
	return append(to, ']')
}

func before(i int) byte {
	if i == 0 {
		return '['
	}
	return ','
}

func appendString(to []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string always is JSON
			return append(to, quoted...)
		}
	}
	return append(append(append(to, '"'), s...), '"')
}
