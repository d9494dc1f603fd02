package tasks

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
)

// DefaultPriority is what a task gets that asks for none; lower runs first.
const DefaultPriority = 100

// JournalLimit bounds the rows of one task's journal; older rows are folded into one.
const JournalLimit = 200

// A Task is one record in a [Store]: what was asked for, how far it is, and how it ended. Values are
// plain copies; only a [Move] applied by a store changes a task. Times are UTC in whole milliseconds and
// zero when unset. The JSON names are also the names of BSON fields and SQLite columns.
type Task struct {
	ID        string `json:"taskId"`    // ULID; set at submit
	UserID    string `json:"userId"`    // owner; immutable
	UserEmail string `json:"userEmail"` // owner's address at submit, for people to read
	Kind      string `json:"kind"`      // name of the registered [Kind]
	Name      string `json:"name"`      // for people; never a file's or a patient's name
	Status    Status `json:"status"`
	Phase     string `json:"phase,omitempty"` // what the present attempt is at, in a word; "" before it says so

	Lane         string `json:"lane"`         // the kind's lane
	Priority     int    `json:"priority"`     // lower runs first
	PartitionKey string `json:"partitionKey"` // fair share between these; default the user
	LockKey      string `json:"lockKey,omitempty"`

	// Unique per user in a store. Never empty there: unset, or (dedupe) once the task is final, a key
	// holds the task's own id, so that a plain unique index suffices on every server.
	IdempotencyKey string `json:"idempotencyKey"`
	DedupeKey      string `json:"dedupeKey"`
	FreedKey       string `json:"freedKey,omitempty"` // the DedupeKey that its end gave back, for a person's retry; "" none

	Args       json.RawMessage `json:"args,omitempty"`       // JSON of the kind's arguments, as decoded at submit
	Sealed     []byte          `json:"sealed,omitempty"`     // secret arguments, encrypted by the submitter; in no answer, log or page
	Checkpoint []byte          `json:"checkpoint,omitempty"` // what the last attempt saved for the next; see [Run.SaveCheckpoint]

	Attempt     int       `json:"attempt"`     // counted at claim; 0 before the first
	MaxAttempts int       `json:"maxAttempts"` // no automatic attempt begins beyond this one
	AvailableAt time.Time `json:"availableAt"` // not claimed before

	// Timeout bounds each attempt of this task; 0: what its kind says.
	Timeout time.Duration `json:"timeout,omitempty"`

	Lease             *Lease    `json:"lease,omitempty"`            // set while processing
	HeartbeatAt       time.Time `json:"heartbeatAt,omitzero"`       // set while processing: when the lease was given or renewed
	CancelRequestedAt time.Time `json:"cancelRequestedAt,omitzero"` // a person asked a running task to stop

	Progress Progress        `json:"progress"`         // last stored snapshot; memory knows newer while it runs
	Result   json.RawMessage `json:"result,omitempty"` // set by finished
	Error    string          `json:"error,omitempty"`  // why it ended, for its owner; set by error, canceled and interrupted
	Failures []Failure       `json:"failures,omitempty"`
	Journal  []Entry         `json:"journal,omitempty"`

	Downloadable string `json:"downloadable,omitempty"` // MIME type of the file it leaves, "" when it leaves none
	File         *File  `json:"file,omitempty"`         // set by finished

	// Next is the task to submit once this record stands: the same write that set it ended this task, so a
	// crash before the successor is stored loses nothing, and its id, chosen already, keeps it from
	// being stored twice. Cleared when it is; see [Followed].
	Next *Successor `json:"next,omitempty"`

	Dismissed bool      `json:"dismissed"` // its owner put it out of sight; only final tasks
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`          // of the last move; heartbeats leave it
	StartedAt time.Time `json:"startedAt,omitzero"` // of the present or last attempt
	EndedAt   time.Time `json:"endedAt,omitzero"`   // set with a final status

	// Rev counts the writes to the record, heartbeats included. It is what makes a move one conditional
	// write: a store writes only where Rev still is what the move was computed from.
	Rev int64 `json:"rev"`
}

// A Lease is the right to run a task until it expires. It is renewed by heartbeats; once expired it can
// neither be renewed nor used to write.
type Lease struct {
	Owner     string    `json:"owner"` // boot ULID of the process
	Token     string    `json:"token"` // ULID of this claim; stands with every write of the attempt
	ExpiresAt time.Time `json:"expiresAt"`
}

// Progress is how far an attempt is, in its own words and numbers.
type Progress struct {
	Message string `json:"message,omitempty"`
	Value   int64  `json:"value"`
	Max     int64  `json:"max"` // 0: unknown
}

// A Failure is one attempt that did not succeed.
type Failure struct {
	Attempt int       `json:"attempt"`
	At      time.Time `json:"at"`
	Cause   Cause     `json:"cause"`
	Message string    `json:"message"` // for the owner
}

// A Cause says in one word how an attempt ended without success.
type Cause string

const (
	CauseError     Cause = "error"     // the runner returned an error
	CausePermanent Cause = "permanent" // the runner said that trying again is useless
	CausePanic     Cause = "panic"
	CauseTimeout   Cause = "timeout"
	CauseLost      Cause = "lost"      // its process died or stalled past its lease
	CauseArguments Cause = "arguments" // the stored arguments do not decode, or no such kind is registered
)

// An Entry is one row of a task's journal: a move that happened.
type Entry struct {
	At      time.Time `json:"at"`
	Event   Event     `json:"event"`
	Attempt int       `json:"attempt,omitempty"`
	By      string    `json:"by,omitempty"`   // e-mail of the person who asked, "" for the desk itself
	Note    string    `json:"note,omitempty"` // reason, phase, error: a sentence or less
	Folded  int       `json:"folded,omitempty"`
}

// A Successor is what a task is to be followed by: the fields of a [Spec] and an id.
type Successor struct {
	ID     string          `json:"taskId"`
	Kind   string          `json:"kind"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args,omitempty"`
	Sealed []byte          `json:"sealed,omitempty"`
}

// File is the download a finished task leaves.
type File struct {
	Name      string    `json:"name"` // offered to browsers; any Unicode
	Size      int64     `json:"size"` // bytes
	SHA256    string    `json:"sha256"`
	Path      string    `json:"path"`      // where [Results] keeps it, relative; made from our own ids
	ExpiresAt time.Time `json:"expiresAt"` // afterwards 410
}

// Millis is t in UTC, cut to whole milliseconds: what both stores keep exactly.
func Millis(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

// Leased reports whether t is running under a lease that is valid at now: the only meaning of alive.
func (t *Task) Leased(now time.Time) bool {
	return t.Status == StatusProcessing && t.Lease != nil && now.Before(t.Lease.ExpiresAt)
}

// endOf finds in t's journal how the attempt that running is the record of has ended. The rows that begin
// an attempt tell it from later ones: one that was handed back gives its number to the next.
func (t *Task) endOf(running Task) (event Event, ok bool) {
	for _, e := range slices.Backward(t.Journal) {
		switch e.Event {
		case EventFinished, EventFailed, EventCanceled, EventInterrupted, EventRetryScheduled, EventHandedBack, EventRescued:
			event = e.Event
		case EventClaimed, EventRegistered:
			if e.Attempt == running.Attempt && e.At.Equal(running.StartedAt) {
				return event, event != ""
			}
			event = ""
		}
	}
	return "", false
}

// Clone returns a copy of t that shares no memory a move may write to.
func (t Task) Clone() Task {
	if t.Lease != nil {
		l := *t.Lease
		t.Lease = &l
	}
	if t.File != nil {
		f := *t.File
		t.File = &f
	}
	if t.Next != nil {
		n := *t.Next
		t.Next = &n
	}
	t.Failures = slices.Clone(t.Failures)
	t.Journal = slices.Clone(t.Journal)
	return t
}

// SearchWords are the lower-case words of the task's name and kind that [Query.Words] matches the
// beginnings of, without repeats.
func (t *Task) SearchWords() []string { return Words(t.Name + " " + t.Kind) }

// Words splits text into lower-case runs of letters and digits, sorted and without repeats. Stores
// keep these and a query is cut up the same way, so that both agree about what a word is.
func Words(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	slices.Sort(words)
	return slices.Compact(words)
}
