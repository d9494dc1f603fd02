package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"filmroom/tasks"
)

// claimSlack is how many more due tasks a claim reads than it wants, to go on to when others are quicker.
const claimSlack = 16

// Claim implements [tasks.Store]. What was claimed before an error is the answer: its lease runs.
func (s *Tasks) Claim(ctx context.Context, c tasks.Claim) ([]tasks.Task, error) {
	write, done, err := s.db.begun(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var claimed []tasks.Task
	refused := map[string]bool{} // by the move: these stay due and come again
	for len(claimed) < c.Limit {
		wanted := c.Limit - len(claimed) + len(refused) + claimSlack
		due, err := s.due(write, c, wanted)
		if err != nil {
			return answer(claimed, wrap(err, "find tasks that are due in lane %s", c.Lane))
		}
		for _, t := range due {
			if len(claimed) == c.Limit {
				return claimed, nil
			}
			if refused[t.ID] {
				continue
			}
			next, refusal := tasks.Apply(t.Task, c.Move)
			if refusal != nil {
				refused[t.ID] = true
				continue
			}
			written, err := s.replace(write, t.Rev, next)
			if err != nil {
				return answer(claimed, err)
			}
			if written {
				claimed = append(claimed, next)
			}
		}
		if len(due) < wanted {
			break
		}
	}
	return claimed, nil
}

func answer(claimed []tasks.Task, err error) ([]tasks.Task, error) {
	if len(claimed) > 0 {
		return claimed, nil
	}
	return nil, err
}

func (s *Tasks) due(ctx context.Context, c tasks.Claim, limit int) ([]taskDoc, error) {
	filter := bson.D{is("lane", c.Lane), is("status", tasks.StatusQueued), is("availableAt", with("$lte", c.Now))}
	first := bson.D{is("priority", 1), is("availableAt", 1), is("_id", 1)}
	return all[taskDoc](ctx, s.db.tasks, filter, options.Find().SetSort(first).SetLimit(int64(limit)))
}

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
		filter = append(filter, is("$or", bson.A{bson.D{expired}, with("lease.owner", with("$ne", owner))}))
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
