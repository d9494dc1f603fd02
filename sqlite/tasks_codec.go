package sqlite

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
)

// columns has every column in the order of the table, so that a row is read from front to back.
var columns = codec[tasks.Task]{
	textColumn("taskId", func(t *tasks.Task) *string { return &t.ID }),
	textColumn("userId", func(t *tasks.Task) *string { return &t.UserID }),
	textColumn("status", func(t *tasks.Task) *tasks.Status { return &t.Status }),
	textColumn("kind", func(t *tasks.Task) *string { return &t.Kind }),
	textColumn("lane", func(t *tasks.Task) *string { return &t.Lane }),
	boolColumn("dismissed", func(t *tasks.Task) *bool { return &t.Dismissed }),
	timeColumn("createdAt", func(t *tasks.Task) *time.Time { return &t.CreatedAt }),
	timeColumn("endedAt", func(t *tasks.Task) *time.Time { return &t.EndedAt }),
	intColumn("priority", func(t *tasks.Task) *int { return &t.Priority }),
	timeColumn("availableAt", func(t *tasks.Task) *time.Time { return &t.AvailableAt }),
	leaseExpiryColumn,
	leaseTextColumn("leaseOwner", func(l *tasks.Lease) *string { return &l.Owner }),
	leaseTextColumn("leaseToken", func(l *tasks.Lease) *string { return &l.Token }),
	intColumn("rev", func(t *tasks.Task) *int64 { return &t.Rev }),
	timeColumn("updatedAt", func(t *tasks.Task) *time.Time { return &t.UpdatedAt }),
	timeColumn("startedAt", func(t *tasks.Task) *time.Time { return &t.StartedAt }),
	timeColumn("heartbeatAt", func(t *tasks.Task) *time.Time { return &t.HeartbeatAt }),
	timeColumn("cancelRequestedAt", func(t *tasks.Task) *time.Time { return &t.CancelRequestedAt }),
	intColumn("attempt", func(t *tasks.Task) *int { return &t.Attempt }),
	intColumn("maxAttempts", func(t *tasks.Task) *int { return &t.MaxAttempts }),
	textColumn("progressMessage", func(t *tasks.Task) *string { return &t.Progress.Message }),
	intColumn("progressValue", func(t *tasks.Task) *int64 { return &t.Progress.Value }),
	intColumn("progressMax", func(t *tasks.Task) *int64 { return &t.Progress.Max }),
	textColumn("phase", func(t *tasks.Task) *string { return &t.Phase }),
	textColumn("name", func(t *tasks.Task) *string { return &t.Name }),
	textColumn("userEmail", func(t *tasks.Task) *string { return &t.UserEmail }),
	textColumn("partitionKey", func(t *tasks.Task) *string { return &t.PartitionKey }),
	textColumn("lockKey", func(t *tasks.Task) *string { return &t.LockKey }),
	textColumn("idempotencyKey", func(t *tasks.Task) *string { return &t.IdempotencyKey }),
	textColumn("dedupeKey", func(t *tasks.Task) *string { return &t.DedupeKey }),
	textColumn("downloadable", func(t *tasks.Task) *string { return &t.Downloadable }),
	fileColumn,
	textColumn("error", func(t *tasks.Task) *string { return &t.Error }),
	rawColumn("args", func(t *tasks.Task) *json.RawMessage { return &t.Args }),
	rawColumn("result", func(t *tasks.Task) *json.RawMessage { return &t.Result }),
	journalColumn,
	failuresColumn,
	blobColumn("sealed", func(t *tasks.Task) *[]byte { return &t.Sealed }),
	blobColumn("checkpoint", func(t *tasks.Task) *[]byte { return &t.Checkpoint }),
	timeoutColumn,
	nextColumn,
	freedKeyColumn,
}

// narrowColumns are what lists show.
var narrowColumns = columns.narrow()

// differences has bit i set where columns[i] differs.
func differences(a, b *tasks.Task) (mask uint64) {
	for i := range columns {
		if !columns[i].same(a, b) {
			mask |= 1 << i
		}
	}
	return mask
}

func rawColumn(name string, field func(*tasks.Task) *json.RawMessage) column[tasks.Task] {
	return column[tasks.Task]{
		name: name,
		bind: func(s *lite.Stmt, t *tasks.Task) { s.JSON(*field(t)) },
		read: func(s *lite.Stmt, t *tasks.Task) { *field(t) = s.ReadBytes() },
		same: func(a, b *tasks.Task) bool { return bytes.Equal(*field(a), *field(b)) },
	}
}

var failuresColumn = column[tasks.Task]{
	name: "failures",
	bind: func(s *lite.Stmt, t *tasks.Task) {
		if len(t.Failures) == 0 {
			s.Null()
			return
		}
		s.Encode(t.Failures)
	},
	read: func(s *lite.Stmt, t *tasks.Task) { s.Decode(&t.Failures) },
	same: func(a, b *tasks.Task) bool { return slices.Equal(a.Failures, b.Failures) },
	wide: true,
}

var fileColumn = column[tasks.Task]{
	name: "file",
	bind: func(s *lite.Stmt, t *tasks.Task) {
		if t.File == nil {
			s.Null()
			return
		}
		s.Encode(t.File)
	},
	read: func(s *lite.Stmt, t *tasks.Task) { s.Decode(&t.File) },
	same: func(a, b *tasks.Task) bool { return sameValue(a.File, b.File) },
}

// What most tasks lack is NULL, because it stands last in the row.
var timeoutColumn = column[tasks.Task]{
	name: "timeout",
	bind: func(s *lite.Stmt, t *tasks.Task) {
		if t.Timeout == 0 {
			s.Null()
			return
		}
		s.Int(int64(t.Timeout))
	},
	read: func(s *lite.Stmt, t *tasks.Task) { t.Timeout = time.Duration(s.ReadInt()) },
	same: func(a, b *tasks.Task) bool { return a.Timeout == b.Timeout },
}

var freedKeyColumn = column[tasks.Task]{
	name: "freedKey",
	bind: func(s *lite.Stmt, t *tasks.Task) {
		if t.FreedKey == "" {
			s.Null()
			return
		}
		s.Text(t.FreedKey)
	},
	read: func(s *lite.Stmt, t *tasks.Task) { t.FreedKey = s.ReadText() },
	same: func(a, b *tasks.Task) bool { return a.FreedKey == b.FreedKey },
}

var nextColumn = column[tasks.Task]{
	name: "next",
	bind: func(s *lite.Stmt, t *tasks.Task) {
		if t.Next == nil {
			s.Null()
			return
		}
		s.Encode(t.Next)
	},
	read: func(s *lite.Stmt, t *tasks.Task) { s.Decode(&t.Next) },
	same: func(a, b *tasks.Task) bool { return reflect.DeepEqual(a.Next, b.Next) },
}

// A lease is three columns, because queries look for its parts; they are NULL together.
var leaseExpiryColumn = column[tasks.Task]{
	name: "leaseExpiresAt",
	bind: func(s *lite.Stmt, t *tasks.Task) {
		if t.Lease == nil {
			s.Null()
			return
		}
		s.Time(t.Lease.ExpiresAt)
	},
	read: func(s *lite.Stmt, t *tasks.Task) {
		if at := s.ReadTime(); !at.IsZero() {
			t.Lease = &tasks.Lease{ExpiresAt: at}
		}
	},
	same: func(a, b *tasks.Task) bool { return sameValue(a.Lease, b.Lease) },
}

func leaseTextColumn(name string, field func(*tasks.Lease) *string) column[tasks.Task] {
	return column[tasks.Task]{
		name: name,
		bind: func(s *lite.Stmt, t *tasks.Task) {
			if t.Lease == nil {
				s.Null()
				return
			}
			s.Text(*field(t.Lease))
		},
		read: func(s *lite.Stmt, t *tasks.Task) {
			if text := s.ReadText(); t.Lease != nil {
				*field(t.Lease) = text
			}
		},
		same: func(a, b *tasks.Task) bool {
			return a.Lease == nil && b.Lease == nil || a.Lease != nil && b.Lease != nil && *field(a.Lease) == *field(b.Lease)
		},
	}
}

func sameValue[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
