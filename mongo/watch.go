package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"filmroom/tasks"
)

const (
	watchEvery   = time.Second      // between two looks at what others do
	processLease = 10 * time.Second // a process that was not heard of for longer is gone
	watchOverlap = 5 * time.Second  // how far back a look goes again: clocks differ by up to Skew, and writes take a while
	watchBatch   = 500              // tasks read at once
)

// Watch implements [tasks.Watcher]. It registers this process and, while another one is registered, reads each
// second what changed. Where the server has change streams, they say when to look sooner.
func (s *Tasks) Watch(ctx context.Context, owner string, news tasks.News) error {
	clock, err := s.db.Clock(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	hear := make(chan struct{}, 1)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		s.listen(ctx, hear)
	}()
	defer func() {
		cancel()
		<-heard
		s.leave(ctx, owner)
	}()

	f := follower{store: s, owner: owner, clock: clock, news: news, seen: map[string]sighting{}}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		// A look that failed is made up for by the next: each goes back to the last that succeeded.
		_ = f.look(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		case <-hear:
		}
	}
}

// listen says when tasks or lanes change, as long as the server has change streams to hear it from. Without them,
// and after they fail, the look of each second is enough.
func (s *Tasks) listen(ctx context.Context, hear chan<- struct{}) {
	stream, err := s.db.tasks.Database().Watch(ctx, driver.Pipeline{
		with("$match", with("ns.coll", with("$in", bson.A{s.db.tasks.Name(), s.db.lanes.Name()}))),
		with("$project", with("_id", 1)),
	})
	if err != nil {
		return
	}
	defer stream.Close(context.WithoutCancel(ctx))
	for stream.Next(ctx) {
		select {
		case hear <- struct{}{}:
		default: // a look is due already
		}
	}
}

// A follower looks at what other processes change and remembers what it told of.
type follower struct {
	store *Tasks
	owner string
	clock *Clock
	news  tasks.News

	measured  time.Time           // when the clock was
	entered   time.Time           // when this process was registered
	started   bool                // what changed before is known
	following bool                // at the last look another process was registered
	lanes     stamp               // of the lanes that were told of
	newest    time.Time           // the latest change that was read
	seen      map[string]sighting // what was told, by task, as long as it may be read again
}

type sighting struct {
	rev int64
	at  time.Time
}

func (f *follower) look(ctx context.Context) error {
	now, err := f.present(ctx)
	if err != nil {
		return err
	}
	others, err := f.store.others(ctx, f.owner, now)
	if err != nil {
		return err
	}
	if !f.started || !others && !f.following {
		if err := f.skip(ctx, now); err != nil {
			return err
		}
		f.started = true
	}
	if others || f.following { // once more after the last one has left
		if err := f.tell(ctx, now); err != nil {
			return err
		}
		if err := f.tellLanes(ctx, now); err != nil {
			return err
		}
	}
	f.following = others
	return nil
}

// present keeps the clock right and this process registered, and returns the time.
func (f *follower) present(ctx context.Context) (time.Time, error) {
	if now := f.clock.Now(); now.Sub(f.measured) > time.Minute {
		if _, err := f.clock.Measure(ctx); err != nil {
			return now, err
		}
		f.measured = now
	}
	now := f.clock.Now()
	if now.Sub(f.entered) > processLease/4 {
		if err := f.store.enter(ctx, f.owner, now); err != nil {
			return now, err
		}
		f.entered = now
	}
	return now, nil
}

// skip takes what changed until now as known: nobody else changed it.
func (f *follower) skip(ctx context.Context, now time.Time) error {
	last, err := all[taskDoc](ctx, f.store.db.tasks, with("changedAt", with("$gt", time.UnixMilli(0))),
		options.Find().SetSort(with("changedAt", -1)).SetLimit(1).SetProjection(with("changedAt", 1)))
	if err == nil && len(last) == 1 {
		f.newest = earlier(last[0].ChangedAt, now) // a clock far ahead must not hide what others do
	}
	return err
}

// tell reads what changed since shortly before the newest change known, and tells what is new of it.
func (f *follower) tell(ctx context.Context, now time.Time) error {
	since := f.newest.Add(-watchOverlap)
	cursor, err := f.store.db.tasks.Find(ctx, with("changedAt", with("$gt", since)),
		options.Find().SetSort(with("changedAt", 1)).SetBatchSize(watchBatch))
	if err != nil {
		return err
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		var t taskDoc
		if err := cursor.Decode(&t); err != nil {
			return err
		}
		if f.seen[t.ID].rev != t.Rev {
			f.seen[t.ID] = sighting{t.Rev, t.ChangedAt}
			f.news.Task(t.Task)
		}
		if t.ChangedAt.After(f.newest) {
			f.newest = earlier(t.ChangedAt, now)
		}
	}
	for id, s := range f.seen {
		if !s.at.After(f.newest.Add(-watchOverlap)) {
			delete(f.seen, id)
		}
	}
	return cursor.Err()
}

// A stamp is another one when lanes were changed, or when those who share them came or went.
type stamp struct {
	revs      int64 // of all lanes together: they only rise, and no lane goes
	processes int
}

// tellLanes tells when the lanes are not what they were at the last look.
func (f *follower) tellLanes(ctx context.Context, now time.Time) error {
	lanes, err := f.store.Lanes(ctx)
	if err != nil {
		return err
	}
	n, err := f.store.registered(ctx, now)
	if err != nil {
		return err
	}
	seen := stamp{processes: n}
	for _, l := range lanes {
		seen.revs += l.Rev
	}
	if seen != f.lanes {
		f.lanes = seen
		f.news.Lanes()
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// enter registers a process, or says that it still is there, and forgets those that are long gone.
func (s *Tasks) enter(ctx context.Context, owner string, now time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := s.db.processes.UpdateOne(ctx, with("_id", owner),
		with("$set", with("expiresAt", now.Add(processLease))), options.UpdateOne().SetUpsert(true))
	if err != nil {
		return wrap(err, "register this process")
	}
	_, err = s.db.processes.DeleteMany(ctx, with("expiresAt", with("$lte", now.Add(-processLease))))
	return wrap(err, "forget processes that are gone")
}

// leave takes a process off the register, so that others stop looking at once.
func (s *Tasks) leave(ctx context.Context, owner string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = s.db.processes.DeleteOne(ctx, with("_id", owner)) // else its lease runs out
}

// others reports whether another process is registered.
func (s *Tasks) others(ctx context.Context, owner string, now time.Time) (bool, error) {
	others, err := all[bson.D](ctx, s.db.processes,
		bson.D{is("expiresAt", with("$gt", now)), is("_id", with("$ne", owner))}, options.Find().SetLimit(1))
	return len(others) > 0, wrap(err, "look for other processes")
}

// Processes implements [tasks.Watcher].
func (s *Tasks) Processes(ctx context.Context) (int, error) {
	now, err := s.db.serverTime(ctx)
	if err != nil {
		return 0, err
	}
	n, err := s.registered(ctx, now)
	return max(n, 1), err
}

// registered counts the processes there are.
func (s *Tasks) registered(ctx context.Context, now time.Time) (int, error) {
	n, err := count(ctx, s.db.processes, with("expiresAt", with("$gt", now)), tasks.CountLimit)
	return n, wrap(err, "count processes")
}
