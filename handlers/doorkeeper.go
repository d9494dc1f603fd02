package handlers

import (
	"context"
	"sync"
)

// A doorkeeper lets one caller of a key through at a time. It remembers nobody who is not there.
type doorkeeper struct {
	mu    sync.Mutex
	doors map[string]*door
}

type door struct {
	inside chan struct{} // holds one
	there  int           // inside or waiting
}

// enter waits until nobody of the key is inside, or ctx ends. Who entered leaves.
func (d *doorkeeper) enter(ctx context.Context, key string) (leave func(), err error) {
	at := d.come(key)
	select {
	case at.inside <- struct{}{}:
		return func() {
			<-at.inside
			d.depart(key, at)
		}, nil
	case <-ctx.Done():
		d.depart(key, at)
		return nil, ctx.Err()
	}
}

func (d *doorkeeper) come(key string) *door {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.doors == nil {
		d.doors = map[string]*door{}
	}
	at := d.doors[key]
	if at == nil {
		at = &door{inside: make(chan struct{}, 1)}
		d.doors[key] = at
	}
	at.there++
	return at
}

func (d *doorkeeper) depart(key string, at *door) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at.there--; at.there == 0 {
		delete(d.doors, key)
	}
}
