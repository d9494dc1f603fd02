package taskstest

import (
	"context"
	"sync"
	"time"

	"filmroom/tasks"
)

// A Shared is a [Memory] that several processes use: a [tasks.Watcher] that tells everybody of every write at
// once, the writer too, as a change stream does.
type Shared struct {
	*Memory

	mu      sync.Mutex
	present map[string]*mailbox // by owner
}

// NewShared shares a store.
func NewShared(m *Memory) *Shared { return &Shared{Memory: m, present: map[string]*mailbox{}} }

// A mailbox holds what one process has not been told yet.
type mailbox struct {
	tasks []tasks.Task
	lanes bool
	post  chan struct{} // holds one
}

// Watch implements [tasks.Watcher].
func (s *Shared) Watch(ctx context.Context, owner string, news tasks.News) error {
	box := &mailbox{post: make(chan struct{}, 1)}
	s.tell(func() { s.present[owner] = box }, nil)
	defer s.tell(func() { delete(s.present, owner) }, nil)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-box.post:
		}
		s.mu.Lock()
		changed, lanes := box.tasks, box.lanes
		box.tasks, box.lanes = nil, false
		s.mu.Unlock()
		for _, t := range changed {
			news.Task(t)
		}
		if lanes {
			news.Lanes()
		}
	}
}

// Processes implements [tasks.Watcher].
func (s *Shared) Processes(ctx context.Context) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(len(s.present), 1), ctx.Err()
}

// tell posts tasks that changed; without any, that the lanes, or who shares them, did. first, if given, is
// done under the lock.
func (s *Shared) tell(first func(), changed []tasks.Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first != nil {
		first()
	}
	for _, box := range s.present {
		box.tasks = append(box.tasks, changed...)
		box.lanes = box.lanes || len(changed) == 0
		select {
		case box.post <- struct{}{}:
		default:
		}
	}
}

func (s *Shared) Insert(ctx context.Context, t tasks.Task) (tasks.Task, error) {
	stored, err := s.Memory.Insert(ctx, t)
	if err == nil {
		s.tell(nil, []tasks.Task{stored})
	}
	return stored, err
}

func (s *Shared) Update(ctx context.Context, known tasks.Task, m tasks.Move) (tasks.Task, error) {
	stored, err := s.Memory.Update(ctx, known, m)
	if err == nil {
		s.tell(nil, []tasks.Task{stored})
	}
	return stored, err
}

func (s *Shared) Claim(ctx context.Context, c tasks.Claim) ([]tasks.Task, error) {
	claimed, err := s.Memory.Claim(ctx, c)
	if len(claimed) > 0 {
		s.tell(nil, claimed)
	}
	return claimed, err
}

func (s *Shared) Renew(ctx context.Context, beats []tasks.Beat, until, now time.Time) ([]tasks.Renewal, error) {
	answers, err := s.Memory.Renew(ctx, beats, until, now)
	for _, b := range beats {
		if t, missing := s.Memory.Get(ctx, b.TaskID); missing == nil {
			s.tell(nil, []tasks.Task{t})
		}
	}
	return answers, err
}

func (s *Shared) PutLane(ctx context.Context, l tasks.Lane) error {
	err := s.Memory.PutLane(ctx, l)
	if err == nil {
		s.tell(nil, nil)
	}
	return err
}
