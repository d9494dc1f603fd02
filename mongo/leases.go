package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"filmroom/tasks"
)

// NextAvailable implements [tasks.Store].
func (s *Tasks) NextAvailable(ctx context.Context, lane string) (at time.Time, ok bool, err error) {
	waiting := bson.D{is("lane", lane), is("status", tasks.StatusQueued)}
	found, err := all[taskDoc](ctx, s.db.tasks, waiting,
		options.Find().SetSort(with("availableAt", 1)).SetProjection(with("availableAt", 1)).SetLimit(1))
	if err != nil || len(found) == 0 {
		return time.Time{}, false, wrap(err, "find when a task of lane %s is due", lane)
	}
	return found[0].AvailableAt, true, nil
}

// Renew implements [tasks.Store]: one write for all beats, each conditional on its lease, and one read to learn
// which of them still hold it.
func (s *Tasks) Renew(ctx context.Context, beats []tasks.Beat, until, now time.Time) ([]tasks.Renewal, error) {
	write, done, err := s.db.begun(ctx)
	if err != nil || len(beats) == 0 {
		return nil, err
	}
	defer done()
	ids := make([]string, len(beats))
	renewals := make([]driver.WriteModel, len(beats))
	for i, b := range beats {
		ids[i] = b.TaskID
		held := append(bson.D{is("_id", b.TaskID), is("lease.token", b.Token)}, leased(now)...)
		renewals[i] = driver.NewUpdateOneModel().SetFilter(held).SetUpdate(renewal(b, until, now))
	}
	if _, err := s.db.tasks.BulkWrite(write, renewals, options.BulkWrite().SetOrdered(false)); err != nil {
		return nil, wrap(err, "renew %d leases", len(beats))
	}
	return s.renewed(write, ids, beats, now)
}

func leased(now time.Time) bson.D {
	return bson.D{is("status", tasks.StatusProcessing), is("lease.expiresAt", with("$gt", now))}
}

// renewal is what [tasks.Renewed] does to a record, as an update.
func renewal(b tasks.Beat, until, now time.Time) bson.D {
	return bson.D{
		is("$set", bson.D{
			is("lease.expiresAt", tasks.Millis(until)), is("heartbeatAt", tasks.Millis(now)),
			is("progress", b.Progress), is("changedAt", tasks.Millis(now)),
		}),
		is("$inc", with("rev", 1)),
	}
}

func (s *Tasks) renewed(ctx context.Context, ids []string, beats []tasks.Beat, now time.Time) ([]tasks.Renewal, error) {
	held := append(bson.D{is("_id", with("$in", ids))}, leased(now)...)
	kept, err := all[taskDoc](ctx, s.db.tasks, held,
		options.Find().SetProjection(bson.D{is("lease", 1), is("cancelRequestedAt", 1)}))
	if err != nil {
		return nil, wrap(err, "learn which of %d leases were renewed", len(beats))
	}
	byID := make(map[string]taskDoc, len(kept))
	for _, t := range kept {
		byID[t.ID] = t
	}
	answers := make([]tasks.Renewal, len(beats))
	for i, b := range beats {
		t := byID[b.TaskID]
		answers[i].Lost = t.Lease == nil || t.Lease.Token != b.Token
		answers[i].CancelRequested = !answers[i].Lost && !t.CancelRequestedAt.IsZero()
	}
	return answers, nil
}

// Stale implements [tasks.Store].
func (s *Tasks) Stale(ctx context.Context, owner string, now time.Time, limit int) ([]tasks.Task, error) {
	filter := bson.D{is("status", tasks.StatusProcessing)}
	expired := is("lease.expiresAt", with("$lte", now))
	if owner == "" {
		filter = append(filter, expired)
	} else {
		filter = append(filter, is("$or", bson.A{bson.D{expired}, with("lease.owner", with("$nin", bson.A{owner, tasks.External}))}))
	}
	found, err := all[taskDoc](ctx, s.db.tasks, filter,
		options.Find().SetSort(with("lease.expiresAt", 1)).SetLimit(int64(limit)))
	return tasksOf(found), wrap(err, "find stale tasks")
}

func tasksOf(docs []taskDoc) []tasks.Task {
	list := make([]tasks.Task, len(docs))
	for i, d := range docs {
		list[i] = d.Task
	}
	return list
}
