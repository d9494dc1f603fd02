package lite

import "zombiezen.com/go/sqlite"

// Primary result codes that callers tell apart.
const (
	Busy = sqlite.ResultBusy
	Full = sqlite.ResultFull
)

// Code returns the primary result code of err, or [sqlite.ResultError] when it is not SQLite's.
func Code(err error) sqlite.ResultCode { return sqlite.ErrCode(err).ToPrimary() }

// Unique reports whether err says that a row breaks a unique index or primary key.
func Unique(err error) bool {
	code := sqlite.ErrCode(err)
	return code == sqlite.ResultConstraintUnique || code == sqlite.ResultConstraintPrimaryKey
}
