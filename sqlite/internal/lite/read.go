package lite

import (
	"encoding/json"
	"time"
	"unsafe"

	"modernc.org/libc/sys/types"
	sqlite3 "modernc.org/sqlite/lib"
)

func libcSize(n int) types.Size_t { return types.Size_t(n) }

// ReadInt reads the next column; NULL reads as 0.
func (s *Stmt) ReadInt() int64 {
	v := sqlite3.Xsqlite3_column_int64(s.c.tls, s.p, s.col)
	s.col++
	return v
}

// ReadBool reads the next column.
func (s *Stmt) ReadBool() bool { return s.ReadInt() != 0 }

// ReadTime reads the next column; NULL is the zero time.
func (s *Stmt) ReadTime() time.Time {
	if s.ReadNull() {
		return time.Time{}
	}
	return time.UnixMilli(s.ReadInt()).UTC()
}

// Skip leaves the next column out.
func (s *Stmt) Skip() { s.col++ }

// ReadNull skips the next column if it is NULL and says whether it was.
func (s *Stmt) ReadNull() bool {
	null := sqlite3.Xsqlite3_column_type(s.c.tls, s.p, s.col) == sqlite3.SQLITE_NULL
	if null {
		s.col++
	}
	return null
}

// ReadText reads the next column; NULL reads as "".
func (s *Stmt) ReadText() string { return string(s.peek()) }

// ReadBytes reads the next column; NULL reads as nil.
func (s *Stmt) ReadBytes() []byte {
	if s.ReadNull() {
		return nil
	}
	return append([]byte{}, s.peek()...)
}

// peek is the next column's bytes in SQLite's own memory, valid until the next row.
func (s *Stmt) peek() []byte {
	p := sqlite3.Xsqlite3_column_blob(s.c.tls, s.p, s.col)
	n := sqlite3.Xsqlite3_column_bytes(s.c.tls, s.p, s.col)
	s.col++
	if p == 0 || n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(pointer(p)), int(n))
}

// Decode decodes the next column's JSON into v; NULL leaves v as it is.
func (s *Stmt) Decode(v any) {
	if text := s.peek(); text != nil && s.err == nil {
		s.err = json.Unmarshal(text, v)
	}
}
