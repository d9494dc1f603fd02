package handlers

import (
	"context"
	"sync"
	"time"

	"filmroom/tasks"
)

// A countCache lets a person's open pages share one count: a change of status makes all of them ask at once.
type countCache struct {
	tasks *tasks.Manager
	now   func() time.Time

	mu     sync.Mutex
	byUser map[string]*countEntry
}

type countEntry struct {
	mu     sync.Mutex // held while the store is asked, so that it is asked once
	at     time.Time
	counts []tasks.Count
}

const maxCounted = 1000 // people whose counts are kept

func newCountCache(m *tasks.Manager, now func() time.Time) *countCache {
	return &countCache{tasks: m, now: now, byUser: map[string]*countEntry{}}
}

// get returns counts that were read no longer than soon before it was called.
func (c *countCache) get(ctx context.Context, p tasks.Person) ([]tasks.Count, error) {
	e := c.entry(p.UserID)
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := c.now(); now.Sub(e.at) >= soon {
		counts, err := c.tasks.Counts(ctx, p)
		if err != nil {
			return nil, err
		}
		e.at, e.counts = now, counts
	}
	return e.counts, nil
}

func (c *countCache) entry(userID string) *countEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byUser[userID]; ok {
		return e
	}
	if len(c.byUser) >= maxCounted {
		clear(c.byUser)
	}
	e := &countEntry{}
	c.byUser[userID] = e
	return e
}
