package taskstest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"filmroom/tasks"
)

// A Memory is a [tasks.Store] in a map under one lock: the reference that reads like the promises, for tests
// of what stands above a store. It passes the suite.
type Memory struct {
	mu     sync.Mutex
	tasks  map[string]tasks.Task
	lines  []tasks.LogLine
	lanes  map[string]tasks.Lane
	served map[string]int // when a partition of a lane was served last, by lane and partition
	turn   int
	fail   func(method string) error
}

// NewMemory makes an empty store.
func NewMemory() *Memory {
	return &Memory{tasks: map[string]tasks.Task{}, lanes: map[string]tasks.Lane{}, served: map[string]int{}}
}

// Fail has every later call ask f, with the method's name, for an error to return; nil ends that.
func (m *Memory) Fail(f func(method string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = f
}

// enter begins a call: the lock is held unless there is an error.
func (m *Memory) enter(ctx context.Context, method string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	if m.fail != nil {
		if err := m.fail(method); err != nil {
			m.mu.Unlock()
			return err
		}
	}
	return nil
}

func (m *Memory) Insert(ctx context.Context, t tasks.Task) (tasks.Task, error) {
	if err := m.enter(ctx, "Insert"); err != nil {
		return tasks.Task{}, err
	}
	defer m.mu.Unlock()
	for _, holds := range []func(o tasks.Task) bool{
		func(o tasks.Task) bool { return o.IdempotencyKey == t.IdempotencyKey },
		func(o tasks.Task) bool { return o.DedupeKey == t.DedupeKey },
	} {
		for _, o := range m.tasks {
			if o.UserID == t.UserID && holds(o) {
				return o.Clone(), tasks.ErrDuplicate
			}
		}
	}
	m.tasks[t.ID] = t.Clone()
	return t, nil
}

func (m *Memory) Get(ctx context.Context, id string) (tasks.Task, error) {
	if err := m.enter(ctx, "Get"); err != nil {
		return tasks.Task{}, err
	}
	defer m.mu.Unlock()
	t, ok := m.tasks[id]
	if !ok {
		return tasks.Task{}, tasks.ErrNotFound
	}
	return t.Clone(), nil
}

func (m *Memory) Keyed(ctx context.Context, userID, key string) (tasks.Task, error) {
	if err := m.enter(ctx, "Keyed"); err != nil {
		return tasks.Task{}, err
	}
	defer m.mu.Unlock()
	for _, t := range m.tasks {
		if t.UserID == userID && t.IdempotencyKey == key && t.ID != key {
			return t.Clone(), nil
		}
	}
	return tasks.Task{}, tasks.ErrNotFound
}

func (m *Memory) Update(ctx context.Context, known tasks.Task, mv tasks.Move) (tasks.Task, error) {
	if err := m.enter(ctx, "Update"); err != nil {
		return tasks.Task{}, err
	}
	defer m.mu.Unlock()
	t, ok := m.tasks[known.ID]
	if !ok {
		return tasks.Task{}, tasks.ErrNotFound
	}
	if known.Rev == t.Rev && known.Progress != t.Progress {
		// A store may write only what a move made different from known.
		panic("Update: known carries live progress; it must be the record that a store gave")
	}
	next, err := tasks.Apply(t, mv)
	if err == nil && next.DedupeKey != t.DedupeKey && len(m.where(func(o *tasks.Task) bool {
		return o.ID != t.ID && o.UserID == t.UserID && o.DedupeKey == next.DedupeKey
	}, nil)) > 0 {
		return t.Clone(), tasks.ErrDuplicate
	}
	if err == nil {
		m.tasks[t.ID] = next
	}
	return next.Clone(), err
}

func (m *Memory) Claim(ctx context.Context, c tasks.Claim) ([]tasks.Task, error) {
	if err := m.enter(ctx, "Claim"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	l := m.lanes[c.Lane]
	if l.Paused {
		return nil, nil
	}
	var claimed []tasks.Task
	for len(claimed) < c.Limit && len(m.holders(c.Lane, c.Now)) < l.Capacity {
		next, ok := m.claimNext(c)
		if !ok {
			break
		}
		claimed = append(claimed, next.Clone())
	}
	return claimed, nil
}

// holders are the tasks that hold a slot of a lane; the lock is held.
func (m *Memory) holders(lane string, now time.Time) []tasks.Task {
	return m.where(func(t *tasks.Task) bool { return t.Lane == lane && t.Leased(now) }, nil)
}

// claimNext claims the one task whose turn it is.
func (m *Memory) claimNext(c tasks.Claim) (tasks.Task, bool) {
	slots := map[string]int{}
	for _, t := range m.holders(c.Lane, c.Now) {
		slots[t.PartitionKey]++
	}
	due := m.where(func(t *tasks.Task) bool {
		return t.Lane == c.Lane && t.Status == tasks.StatusQueued && !t.AvailableAt.After(c.Now) && !m.locked(t.LockKey, c.Now)
	}, func(a, b tasks.Task) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(slots[a.PartitionKey], slots[b.PartitionKey]),
			cmp.Compare(m.served[c.Lane+"/"+a.PartitionKey], m.served[c.Lane+"/"+b.PartitionKey]),
			a.AvailableAt.Compare(b.AvailableAt), cmp.Compare(a.ID, b.ID))
	})
	for _, t := range due {
		if next, err := tasks.Apply(t, c.Move); err == nil {
			m.tasks[t.ID] = next
			m.turn++
			m.served[c.Lane+"/"+t.PartitionKey] = m.turn
			return next, true
		}
	}
	return tasks.Task{}, false
}

func (m *Memory) locked(key string, now time.Time) bool {
	return key != "" && len(m.where(func(t *tasks.Task) bool { return t.LockKey == key && t.Leased(now) }, nil)) > 0
}

func (m *Memory) NextAvailable(ctx context.Context, lane string) (at time.Time, ok bool, err error) {
	if err := m.enter(ctx, "NextAvailable"); err != nil {
		return at, false, err
	}
	defer m.mu.Unlock()
	for _, t := range m.tasks {
		if t.Lane == lane && t.Status == tasks.StatusQueued && (!ok || t.AvailableAt.Before(at)) {
			at, ok = t.AvailableAt, true
		}
	}
	return at, ok, nil
}

func (m *Memory) Renew(ctx context.Context, beats []tasks.Beat, until, now time.Time) ([]tasks.Renewal, error) {
	if err := m.enter(ctx, "Renew"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	answers := make([]tasks.Renewal, len(beats))
	for i, b := range beats {
		next, err := tasks.Apply(m.tasks[b.TaskID], tasks.Renewed(b.Token, b.Progress, until, now))
		if errors.Is(err, tasks.ErrLeaseLost) {
			answers[i].Lost = true
			continue
		}
		m.tasks[b.TaskID] = next
		answers[i].CancelRequested = !next.CancelRequestedAt.IsZero()
	}
	return answers, nil
}

func (m *Memory) Stale(ctx context.Context, owner string, now time.Time, limit int) ([]tasks.Task, error) {
	if err := m.enter(ctx, "Stale"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	stale := m.where(func(t *tasks.Task) bool {
		return t.Status == tasks.StatusProcessing && (!t.Leased(now) || owner != "" && t.Lease.Owner != owner && t.Lease.Owner != tasks.External)
	}, func(a, b tasks.Task) int {
		return cmp.Or(a.Lease.ExpiresAt.Compare(b.Lease.ExpiresAt), cmp.Compare(a.ID, b.ID))
	})
	return stale[:min(limit, len(stale))], nil
}

func (m *Memory) List(ctx context.Context, q tasks.Query) (tasks.Page, error) {
	if err := m.enter(ctx, "List"); err != nil {
		return tasks.Page{}, err
	}
	defer m.mu.Unlock()
	all := selected(m.where(func(*tasks.Task) bool { return true }, nil), q)
	page := tasks.Page{Total: len(all), TotalExact: true}
	from := 0
	if q.Cursor != "" {
		sort, id, _ := strings.Cut(q.Cursor, " ")
		last, known := m.tasks[id]
		if !known || sort != string(q.Sort) {
			return tasks.Page{}, tasks.ErrCursor
		}
		// Among what is listed now the last one shown may no longer be: it is put back to find its place.
		with := selected(append(all, last), tasks.Query{Sort: q.Sort})
		from = slices.IndexFunc(with, func(t tasks.Task) bool { return t.ID == id })
		for from < len(all) && all[from].ID == id {
			from++
		}
	}
	for _, t := range all[from:min(from+q.Limit, len(all))] {
		t.Journal, t.Failures, t.Sealed, t.Checkpoint = nil, nil, nil, nil
		page.Items = append(page.Items, t)
	}
	if n := len(page.Items); n > 0 && from+n < len(all) {
		page.NextCursor = string(q.Sort) + " " + page.Items[n-1].ID
	}
	return page, nil
}

func (m *Memory) Counts(ctx context.Context, userID string) ([]tasks.Count, error) {
	if err := m.enter(ctx, "Counts"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	return counted(m.where(func(*tasks.Task) bool { return true }, nil), userID), nil
}

func (m *Memory) AppendLog(ctx context.Context, lines []tasks.LogLine) error {
	if err := m.enter(ctx, "AppendLog"); err != nil {
		return err
	}
	defer m.mu.Unlock()
	m.lines = append(m.lines, lines...)
	return nil
}

func (m *Memory) Log(ctx context.Context, taskID string, after int64, limit int) ([]tasks.LogLine, error) {
	if err := m.enter(ctx, "Log"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	var out []tasks.LogLine
	for _, l := range m.lines {
		if l.TaskID == taskID && l.Seq > after {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b tasks.LogLine) int { return cmp.Compare(a.Seq, b.Seq) })
	return out[:min(limit, len(out))], nil
}

// where returns copies of the tasks that fit, in order where one is given; the lock is held.
func (m *Memory) where(fits func(*tasks.Task) bool, order func(a, b tasks.Task) int) []tasks.Task {
	var out []tasks.Task
	for _, t := range m.tasks {
		if fits(&t) {
			out = append(out, t.Clone())
		}
	}
	if order != nil {
		slices.SortFunc(out, order)
	}
	return out
}

func (m *Memory) Lanes(ctx context.Context) ([]tasks.Lane, error) {
	if err := m.enter(ctx, "Lanes"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.lanes), func(a, b tasks.Lane) int { return cmp.Compare(a.Name, b.Name) }), nil
}

func (m *Memory) PutLane(ctx context.Context, l tasks.Lane) error {
	if err := m.enter(ctx, "PutLane"); err != nil {
		return err
	}
	defer m.mu.Unlock()
	if m.lanes[l.Name].Rev != l.Rev-1 {
		return tasks.ErrConflict
	}
	m.lanes[l.Name] = l
	return nil
}

func (m *Memory) Loads(ctx context.Context, now time.Time) ([]tasks.Load, error) {
	if err := m.enter(ctx, "Loads"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	loads := map[string]tasks.Load{}
	for _, t := range m.tasks {
		l := loads[t.Lane]
		l.Lane = t.Lane
		switch {
		case t.Leased(now):
			l.Processing++
		case t.Status != tasks.StatusQueued:
			continue
		case t.AvailableAt.After(now):
			l.Scheduled++
		default:
			l.Queued++
			if l.OldestQueuedAt.IsZero() || t.AvailableAt.Before(l.OldestQueuedAt) {
				l.OldestQueuedAt = t.AvailableAt
			}
		}
		loads[t.Lane] = l
	}
	return slices.SortedFunc(maps.Values(loads), func(a, b tasks.Load) int { return cmp.Compare(a.Lane, b.Lane) }), nil
}

func (m *Memory) Ahead(ctx context.Context, t tasks.Task, now time.Time) (int, error) {
	if err := m.enter(ctx, "Ahead"); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	due := func(o *tasks.Task) bool {
		return o.Lane == t.Lane && o.ID != t.ID && o.Status == tasks.StatusQueued && !o.AvailableAt.After(now)
	}
	ahead := len(m.where(func(o *tasks.Task) bool { return due(o) && o.Priority < t.Priority }, nil))
	rivals := m.where(func(o *tasks.Task) bool { return due(o) && o.Priority == t.Priority }, nil)
	return min(ahead+m.turnsBefore(t, rivals, now), tasks.CountLimit), nil
}

// turnsBefore plays through who is served, one after the other, until it is t's turn.
func (m *Memory) turnsBefore(t tasks.Task, rivals []tasks.Task, now time.Time) (n int) {
	slots, served := map[string]int{}, map[string]int{}
	for _, h := range m.holders(t.Lane, now) {
		slots[h.PartitionKey]++
	}
	waiting := append(rivals, t)
	for _, w := range waiting {
		served[w.PartitionKey] = m.served[t.Lane+"/"+w.PartitionKey]
	}
	for ; ; n++ {
		next := slices.MinFunc(waiting, func(a, b tasks.Task) int {
			return cmp.Or(cmp.Compare(slots[a.PartitionKey], slots[b.PartitionKey]), cmp.Compare(served[a.PartitionKey], served[b.PartitionKey]),
				a.AvailableAt.Compare(b.AvailableAt), cmp.Compare(a.ID, b.ID))
		})
		if next.ID == t.ID {
			return n
		}
		slots[next.PartitionKey]++
		served[next.PartitionKey] = m.turn + n + 1
		waiting = slices.DeleteFunc(waiting, func(w tasks.Task) bool { return w.ID == next.ID })
	}
}

func (m *Memory) Holder(ctx context.Context, lockKey string, now time.Time) (tasks.Task, error) {
	if err := m.enter(ctx, "Holder"); err != nil {
		return tasks.Task{}, err
	}
	defer m.mu.Unlock()
	holders := m.where(func(t *tasks.Task) bool { return t.LockKey == lockKey && t.Leased(now) }, nil)
	if len(holders) == 0 {
		return tasks.Task{}, tasks.ErrNotFound
	}
	return holders[0], nil
}

func (m *Memory) Unfollowed(ctx context.Context, after string, limit int) ([]tasks.Task, error) {
	if err := m.enter(ctx, "Unfollowed"); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	left := m.where(func(t *tasks.Task) bool { return t.Next != nil && t.ID > after }, func(a, b tasks.Task) int { return cmp.Compare(a.ID, b.ID) })
	return left[:min(limit, len(left))], nil
}

func (m *Memory) Delete(ctx context.Context, t tasks.Task) error {
	if err := m.enter(ctx, "Delete"); err != nil {
		return err
	}
	defer m.mu.Unlock()
	stored, ok := m.tasks[t.ID]
	if !ok || stored.Rev != t.Rev || !stored.Status.Final() {
		return tasks.ErrConflict
	}
	delete(m.tasks, t.ID)
	m.lines = slices.DeleteFunc(m.lines, func(l tasks.LogLine) bool { return l.TaskID == t.ID })
	return nil
}
