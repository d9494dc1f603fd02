package tasks

import (
	"context"
	"time"
)

// A Store keeps tasks. Its methods are small atomic promises; policy (who retries what and when) lives
// above it, in [Manager] and the moves. All methods may be called at once from many goroutines and, where
// the store is shared, from many processes. now is always an argument, so that a store reads no clock.
//
// A method whose context is cancelled before its write began changes nothing; afterwards it reports what
// became of the write. Errors other than the sentinels named here mean that the outcome is unknown.
type Store interface {
	// Insert stores a new record. If a record of the same user holds its IdempotencyKey or DedupeKey,
	// nothing is written and the result is that record with [ErrDuplicate], the holder of IdempotencyKey
	// before that of DedupeKey; of two inserts at once exactly one succeeds.
	Insert(ctx context.Context, t Task) (Task, error)

	// Get returns the whole record, or [ErrNotFound].
	Get(ctx context.Context, id string) (Task, error)

	// Keyed returns the record of a user that a caller gave this idempotency key, or [ErrNotFound].
	Keyed(ctx context.Context, userID, key string) (Task, error)

	// Update makes one move. It tries the move on known, the record as a store last gave it, and
	// writes only where the revision still is known.Rev; when that was stale it reads the record again and
	// tries the move on that, as often as it takes. So the common move is one conditional write without
	// a read. It returns the record as it now is. A move's own refusal ([ErrConflict], [ErrLeaseLost],
	// [ErrUnchanged]) is returned with the newest record and nothing is written; a refusal seen on a
	// stale record is never the answer. So is [ErrDuplicate], when the move gives the record a DedupeKey that
	// another record of the same user holds.
	Update(ctx context.Context, known Task, m Move) (Task, error)

	// Claim takes up to c.Limit waiting tasks of a lane and applies c.Move to each; each is one conditional
	// write. A task is never returned to two callers. The move may be tried more than once for one task.
	//
	// Which: tasks that are queued, whose AvailableAt is not after c.Now, and whose LockKey, if any, no other
	// task holds. A task holds its lock, and a slot of its lane, while its lease is valid at c.Now; so
	// both are free again the moment a lease ends or runs out, and nothing has to be given back.
	//
	// How many: none while the lane, as it is stored, is paused; else so many that never more than its
	// Capacity hold a slot, over all processes. A lane that is not stored has no capacity.
	//
	// In which order: by Priority; then the partition that holds the fewest slots of this lane, and among
	// equals the one served longest ago; then by AvailableAt and ID. Among tasks of one LockKey, too, where they
	// are of one lane; those of several lanes run one at a time as well, in the order in which the lanes claim.
	Claim(ctx context.Context, c Claim) ([]Task, error)

	// NextAvailable returns the earliest AvailableAt of a lane's queued tasks, due or not; ok is false
	// when none is queued.
	NextAvailable(ctx context.Context, lane string) (at time.Time, ok bool, err error)

	// Renew extends leases and stores progress, all in one batch: for each beat what [Renewed] says. The
	// answers are in the order of the beats.
	Renew(ctx context.Context, beats []Beat, until, now time.Time) ([]Renewal, error)

	// Stale returns up to limit processing tasks whose lease has run out at now, oldest first; and, when
	// owner is not empty, those that are held by any other owner than that one and [External] as well.
	Stale(ctx context.Context, owner string, now time.Time, limit int) ([]Task, error)

	// List returns one page. Its items leave out Journal, Failures, Sealed and Checkpoint.
	List(ctx context.Context, q Query) (Page, error)

	// Counts returns how many tasks a user has, by status, kind and dismissed; exact, and cheap however
	// many there are. An empty userID counts everybody's, by lane as well.
	Counts(ctx context.Context, userID string) ([]Count, error)

	// Lanes returns the stored lanes by name.
	Lanes(ctx context.Context) ([]Lane, error)

	// PutLane stores a lane: a new one when l.Rev is 1 and there is none of this name, else in place of
	// the one whose Rev is one less. [ErrConflict]: somebody else was quicker.
	PutLane(ctx context.Context, l Lane) error

	// Loads counts, for each lane that has any, the tasks that wait or run at now.
	Loads(ctx context.Context, now time.Time) ([]Load, error)

	// Ahead counts the tasks of t's lane that are due at now and that Claim would take before t if there were
	// slots for all, no further than [CountLimit]: those of a more urgent priority, those of t's own partition
	// that come before it, and of each other partition what [Contender.Lets] says. Slots are counted as they
	// are held at now, and whether locks are held does not matter. A t that does not wait, or is not due, is
	// counted for as if it did.
	Ahead(ctx context.Context, t Task, now time.Time) (int, error)

	// Holder returns the task that holds a lock at now, or [ErrNotFound].
	Holder(ctx context.Context, lockKey string, now time.Time) (Task, error)

	// Unfollowed returns up to limit records whose Next is set, by ID, from after the ID given; "" from the first.
	Unfollowed(ctx context.Context, after string, limit int) ([]Task, error)

	// Delete removes a final task with its log, where its revision still is t.Rev; else [ErrConflict].
	Delete(ctx context.Context, t Task) error

	// AppendLog keeps lines of attempts, in the order given.
	AppendLog(ctx context.Context, lines []LogLine) error

	// Log returns up to limit lines of one task after the given sequence, in order.
	Log(ctx context.Context, taskID string, after int64, limit int) ([]LogLine, error)
}

// A Watcher is a [Store] that several processes may share. Watch tells of what the others do, soon after (a
// second at most, and only while another process is registered under an owner other than ours), until ctx
// ends. It may repeat itself and may leave out intermediate states, never the last.
type Watcher interface {
	Watch(ctx context.Context, owner string, news News) error
	// Processes counts the processes that are registered, ours included: at least 1.
	Processes(ctx context.Context) (int, error)
}

// News is what a [Watcher] calls.
type News struct {
	Task  func(Task) // the newest record of a task that changed
	Lanes func()     // the settings of lanes may have changed
}

// A Claim asks for waiting tasks.
type Claim struct {
	Lane  string
	Limit int
	Now   time.Time
	Move  Move // [Claimed] with a lease of its own for each task
}

// External is the owner of leases of tasks whose work is done by another program, through the API: they
// outlive the process that took them down.
const External = "external"

// A Lane is a named queue as people have set it, shared by all processes.
type Lane struct {
	Name      string    `json:"name"`
	Capacity  int       `json:"capacity"` // how many of its tasks run at once, over all processes; 0 starts nothing
	Paused    bool      `json:"paused"`   // nothing is started; what runs goes on
	Rate      float64   `json:"rate"`     // tasks started a second at most, 0: no limit
	Burst     int       `json:"burst"`    // tasks that may start at once under Rate; at least 1 where there is a rate
	By        string    `json:"by"`       // who changed it last, "" for the configuration
	Reason    string    `json:"reason"`   // and why
	ChangedAt time.Time `json:"changedAt"`
	Rev       int64     `json:"rev"` // counts the changes, from 1
}

// A Load is what a lane has to do.
type Load struct {
	Lane           string
	Queued         int       // due
	Scheduled      int       // queued, but for later
	Processing     int       // under a valid lease
	OldestQueuedAt time.Time // AvailableAt of the due task that waits longest, zero when none does
}

// A Beat renews one running task.
type Beat struct {
	TaskID   string
	Token    string
	Progress Progress
}

// A Renewal answers a [Beat].
type Renewal struct {
	Lost            bool // the token no longer holds a valid lease: the attempt must stop and write nothing
	CancelRequested bool // a person asked for a cancel, perhaps through another process
}

// Sort is an order of a list; ties are broken by id in the same direction.
type Sort string

const (
	NewestFirst     Sort = "-createdAt"
	OldestFirst     Sort = "createdAt"
	LastEndedFirst  Sort = "-endedAt" // tasks that have not ended are left out
	FirstEndedFirst Sort = "endedAt"  // the same, the other way round
)

// A Query selects tasks for a list. The zero value of a field does not filter.
type Query struct {
	UserID    string // whose; "" is everybody's
	Statuses  []Status
	Kind      string
	Lane      string
	Words     []string  // each is the beginning of one of the task's [Task.SearchWords]
	From, To  time.Time // CreatedAt in [From, To)
	EndedFrom time.Time // EndedAt not before; under FirstEndedFirst alone, and unknown to Total
	Dismissed *bool
	Sort      Sort   // "" is NewestFirst
	Limit     int    // 0 asks for the count alone
	Cursor    string // from Page.NextCursor, under the same sort; [ErrCursor] when it is not
	NoTotal   bool   // the caller does not need Total
}

// A Page is part of a list.
type Page struct {
	Items      []Task
	Total      int    // over all pages
	TotalExact bool   // false: there are more than Total, which then is CountLimit
	NextCursor string // "" on the last page
}

// CountLimit is how far a store counts what its counters do not know.
const CountLimit = 10_000

// A Count is a number of tasks that are alike.
type Count struct {
	Status    Status
	Kind      string
	Lane      string // only when everybody's are counted
	Dismissed bool
	N         int
}

// A LogLine is what a runner had to say while it worked.
type LogLine struct {
	TaskID  string    `json:"taskId"`
	Attempt int       `json:"attempt"`
	Seq     int64     `json:"seq"` // rises within a task, over all attempts
	At      time.Time `json:"at"`
	Level   string    `json:"level"` // info, warn, error
	Text    string    `json:"text"`
}
