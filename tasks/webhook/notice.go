package webhook

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"filmroom/tasks"
)

// A Notice is the body of a webhook: an end, in our ids and words alone.
type Notice struct {
	Event     string       `json:"event"` // "task.ended"
	TaskID    string       `json:"taskId"`
	Kind      string       `json:"kind"`
	Status    tasks.Status `json:"status"`  // one that is final
	Attempt   int          `json:"attempt"` // how many began until then
	CreatedAt time.Time    `json:"createdAt"`
	StartedAt time.Time    `json:"startedAt,omitzero"` // of the last attempt; absent if none began, or the task was retried since
	EndedAt   time.Time    `json:"endedAt"`
}

var endings = map[tasks.Event]tasks.Status{
	tasks.EventFinished: tasks.StatusFinished, tasks.EventFailed: tasks.StatusError,
	tasks.EventCanceled: tasks.StatusCanceled, tasks.EventInterrupted: tasks.StatusInterrupted,
}

// noticeOf tells of an end of a task, after so many earlier ones. A task that a person has retried meanwhile
// runs again, or has ended in another way, but its journal still knows. Where rows of it were folded the last
// end is the best that can be told.
func noticeOf(t tasks.Task, earlier int) (n Notice, ok bool) {
	all := ends(t)
	if len(all) == 0 {
		return n, false
	}
	e := all[min(earlier, len(all)-1)]
	n = Notice{Event: "task.ended", TaskID: t.ID, Kind: t.Kind, Status: endings[e.Event], Attempt: e.Attempt, CreatedAt: t.CreatedAt, EndedAt: e.At}
	if t.Attempt == e.Attempt {
		n.StartedAt = t.StartedAt
	}
	return n, true
}

// ends are the rows of a task's journal that ended it.
func ends(t tasks.Task) (all []tasks.Entry) {
	for _, e := range t.Journal {
		if endings[e.Event].Final() {
			all = append(all, e)
		}
	}
	return all
}

func argsOf(t tasks.Task) (a args, err error) {
	err = json.Unmarshal(t.Args, &a)
	return a, err
}

const (
	rememberFor = time.Second // how soon a webhook that was set or taken away is heeded
	remembered  = 10_000      // users
)

// Follow returns what [tasks.Config.Follow] wants: the delivery that an ending task is followed by, nil for
// deliveries themselves and for users without a target. Whether a user has one is remembered for a second, so
// that thousands of ends do not ask for it thousands of times. A look-up that fails is told to trouble, and
// the delivery is submitted, for it looks again.
func Follow(lookup Lookup, trouble func(error)) func(context.Context, tasks.Task) *tasks.Successor {
	m := memory{users: map[string]memo{}}
	return func(ctx context.Context, ending tasks.Task) *tasks.Successor {
		if ending.Kind == Kind || !m.has(ctx, ending.UserID, lookup, trouble) {
			return nil
		}
		raw, err := json.Marshal(args{ending.ID, len(ends(ending))})
		if err != nil {
			panic(err) // a string and a number
		}
		return &tasks.Successor{ID: tasks.NewID(), Kind: Kind, Name: "Webhook, " + ending.Kind, Args: raw}
	}
}

type memory struct {
	mu    sync.Mutex
	users map[string]memo
}

type memo struct {
	has   bool
	until time.Time
}

func (m *memory) has(ctx context.Context, userID string, lookup Lookup, trouble func(error)) bool {
	m.mu.Lock()
	known, ok := m.users[userID]
	m.mu.Unlock()
	now := time.Now()
	if ok && now.Before(known.until) {
		return known.has
	}
	target, err := lookup(ctx, userID)
	if err != nil {
		trouble(err)
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.users) >= remembered {
		clear(m.users)
	}
	m.users[userID] = memo{target.URL != "", now.Add(rememberFor)}
	return target.URL != ""
}
