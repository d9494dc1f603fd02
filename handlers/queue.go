package handlers

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"filmroom/tasks"
	"filmroom/views"
)

// maxPlaced is how many waiting tasks, everybody's together, are put in order to tell places.
const maxPlaced = 500

// A queueCache lets all boards share one reading of what waits, so that a board costs the same however many rows it has,
// and many boards hardly more than one.
type queueCache struct {
	mu    sync.Mutex // held while the store is asked, so that it is asked once
	at    time.Time
	queue views.Queue
}

// queueFor is what to tell the waiting ones of these tasks: lanes as everyone may see them, and places.
func (s *Server) queueFor(ctx context.Context, items []tasks.Task) (views.Queue, error) {
	now := s.now()
	if !slices.ContainsFunc(items, func(t tasks.Task) bool { return views.Due(t, now) }) {
		return views.Queue{}, nil
	}
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	if now.Sub(s.queue.at) < soon {
		return s.queue.queue, nil
	}
	queue, err := s.readQueue(ctx, now)
	if err == nil {
		s.queue.at, s.queue.queue = now, queue
	}
	return queue, err
}

func (s *Server) readQueue(ctx context.Context, now time.Time) (q views.Queue, err error) {
	if q.Lanes, err = s.cfg.Tasks.Lanes(ctx); err != nil {
		return q, err
	}
	page, err := s.cfg.Tasks.List(ctx, everybodys, tasks.Query{UserID: tasks.Everybody, Statuses: []tasks.Status{tasks.StatusQueued},
		Sort: tasks.OldestFirst, Limit: maxPlaced, NoTotal: true})
	if err != nil || page.NextCursor != "" { // more: a place among some would not be one among all
		return q, err
	}
	slices.SortFunc(page.Items, func(a, b tasks.Task) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.AvailableAt.Compare(b.AvailableAt), cmp.Compare(a.ID, b.ID))
	})
	q.Places = map[string]int{}
	last := map[string]int{} // by lane
	for _, t := range page.Items {
		if views.Due(t, now) {
			last[t.Lane]++
			q.Places[t.ID] = last[t.Lane]
		}
	}
	return q, nil
}
