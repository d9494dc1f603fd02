package sqlite

import (
	"math"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

// A span is when the tasks of a chunk were created and ended, in milliseconds; Min is above Max where none did.
type span struct{ createdMin, createdMax, endedMin, endedMax int64 }

// nowhen is the span of no tasks.
var nowhen = span{math.MaxInt64, math.MinInt64, math.MaxInt64, math.MinInt64}

// with is the span when a task is added.
func (s span) with(t *tasks.Task) span {
	created := t.CreatedAt.UnixMilli()
	s.createdMin, s.createdMax = min(s.createdMin, created), max(s.createdMax, created)
	if !t.EndedAt.IsZero() {
		ended := t.EndedAt.UnixMilli()
		s.endedMin, s.endedMax = min(s.endedMin, ended), max(s.endedMax, ended)
	}
	return s
}

func (s span) bind(stmt *lite.Stmt) *lite.Stmt {
	return stmt.Int(s.createdMin).Int(s.createdMax).Int(s.endedMin).Int(s.endedMax)
}

func readSpan(s *lite.Stmt) span { return span{s.ReadInt(), s.ReadInt(), s.ReadInt(), s.ReadInt()} }
