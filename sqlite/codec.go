package sqlite

import (
	"bytes"
	"strings"
	"time"

	"filmroom/sqlite/internal/lite"
)

// A column is how one column of a table and one field of a record meet.
type column[T any] struct {
	name string // quoted where SQL needs it
	bind func(*lite.Stmt, *T)
	read func(*lite.Stmt, *T)
	same func(a, b *T) bool
	wide bool // left out of lists
}

// A codec is the columns of a table, in the order in which they are bound and read.
type codec[T any] []column[T]

func (c codec[T]) names() string {
	var out []string
	for i := range c {
		out = append(out, c[i].name)
	}
	return strings.Join(out, ", ")
}

// narrow is the codec without wide columns.
func (c codec[T]) narrow() (out codec[T]) {
	for i := range c {
		if !c[i].wide {
			out = append(out, c[i])
		}
	}
	return out
}

// assignments set every column to what bind binds.
func (c codec[T]) assignments() string {
	var out []string
	for i := range c {
		out = append(out, c[i].name+" = ?")
	}
	return strings.Join(out, ", ")
}

// insertInto is the statement that inserts what bind binds.
func (c codec[T]) insertInto(table string) string {
	return "INSERT INTO " + table + " (" + c.names() + ") VALUES (?" + strings.Repeat(", ?", len(c)-1) + ")"
}

func (c codec[T]) bind(s *lite.Stmt, record *T) *lite.Stmt {
	for i := range c {
		c[i].bind(s, record)
	}
	return s
}

func (c codec[T]) read(s *lite.Stmt) (record T) {
	for i := range c {
		c[i].read(s, &record)
	}
	return record
}

// one reads the only row of a statement; none is the given error.
func (c codec[T]) one(s *lite.Stmt, none error) (record T, err error) {
	if !s.Next() {
		if err := s.Err(); err != nil {
			return record, err
		}
		return record, none
	}
	record = c.read(s)
	return record, s.Err()
}

// all reads every row of a statement.
func (c codec[T]) all(s *lite.Stmt) (records []T, err error) {
	for s.Next() {
		records = append(records, c.read(s))
	}
	return records, s.Err()
}

func textColumn[T any, S ~string](name string, field func(*T) *S) column[T] {
	return column[T]{
		name: name,
		bind: func(s *lite.Stmt, t *T) { s.Text(string(*field(t))) },
		read: func(s *lite.Stmt, t *T) { *field(t) = S(s.ReadText()) },
		same: func(a, b *T) bool { return *field(a) == *field(b) },
	}
}

func intColumn[T any, I int | int64](name string, field func(*T) *I) column[T] {
	return column[T]{
		name: name,
		bind: func(s *lite.Stmt, t *T) { s.Int(int64(*field(t))) },
		read: func(s *lite.Stmt, t *T) { *field(t) = I(s.ReadInt()) },
		same: func(a, b *T) bool { return *field(a) == *field(b) },
	}
}

func timeColumn[T any](name string, field func(*T) *time.Time) column[T] {
	return column[T]{
		name: name,
		bind: func(s *lite.Stmt, t *T) { s.Time(*field(t)) },
		read: func(s *lite.Stmt, t *T) { *field(t) = s.ReadTime() },
		same: func(a, b *T) bool { return field(a).Equal(*field(b)) },
	}
}

func blobColumn[T any](name string, field func(*T) *[]byte) column[T] {
	return column[T]{
		name: name,
		bind: func(s *lite.Stmt, t *T) { s.Blob(*field(t)) },
		read: func(s *lite.Stmt, t *T) { *field(t) = s.ReadBytes() },
		same: func(a, b *T) bool { return bytes.Equal(*field(a), *field(b)) },
		wide: true,
	}
}

func boolColumn[T any](name string, field func(*T) *bool) column[T] {
	return column[T]{
		name: name,
		bind: func(s *lite.Stmt, t *T) { s.Bool(*field(t)) },
		read: func(s *lite.Stmt, t *T) { *field(t) = s.ReadBool() },
		same: func(a, b *T) bool { return *field(a) == *field(b) },
	}
}
