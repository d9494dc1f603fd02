package lite

import (
	"encoding/json"
	"time"

	"zombiezen.com/go/sqlite"
)

// ReadInt reads the next column; NULL reads as 0.
func (s *Stmt) ReadInt() int64 { return s.p.ColumnInt64(s.next()) }

// ReadFloat reads the next column.
func (s *Stmt) ReadFloat() float64 { return s.p.ColumnFloat(s.next()) }

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
func (s *Stmt) Skip() { s.next() }

// ReadNull skips the next column if it is NULL and says whether it was.
func (s *Stmt) ReadNull() bool {
	null := s.p.ColumnType(s.col) == sqlite.TypeNull
	if null {
		s.next()
	}
	return null
}

// ReadText reads the next column; NULL reads as "".
func (s *Stmt) ReadText() string { return s.p.ColumnText(s.next()) }

// ReadBytes reads the next column; NULL reads as nil.
func (s *Stmt) ReadBytes() []byte {
	if s.ReadNull() {
		return nil
	}
	col := s.next()
	data := make([]byte, s.p.ColumnLen(col))
	s.p.ColumnBytes(col, data)
	return data
}

// Decode decodes the next column's JSON into v; NULL leaves v as it is.
func (s *Stmt) Decode(v any) {
	if text := s.ReadBytes(); len(text) > 0 && s.err == nil {
		s.err = json.Unmarshal(text, v)
	}
}

func (s *Stmt) next() int {
	s.col++
	return s.col - 1
}
