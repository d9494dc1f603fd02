package lite

import (
	"errors"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"
)

// An Error is what SQLite answered. Text names tables and columns, never values.
type Error struct {
	Code int // extended result code
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("sqlite: %s (%d)", e.Text, e.Code) }

// Primary result codes that callers tell apart.
const (
	Busy = sqlite3.SQLITE_BUSY
	Full = sqlite3.SQLITE_FULL
)

// Code returns the primary result code of err, or 0 when it is not SQLite's.
func Code(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code & 0xff
	}
	return 0
}

// Unique reports whether err says that a row breaks a unique index or primary key.
func Unique(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Code == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}
