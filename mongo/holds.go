package mongo

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"filmroom/tasks"
)

// claimTakes is how long a claim under way keeps what it has taken, should its process die on the way.
const claimTakes = 10 * time.Second

// A holdDoc is a slot of a lane or a lock, taken for one task under one token. Nothing has to free it: it is
// free again as soon as that task does not hold a valid lease under that token and never will.
//
// It never will once its revision has left Rev, for that is what the claim's last write demands. So a claim
// that died leaves nothing in doubt: who wants what it took, counts the task's revision on, after which
// even a write that is still on its way is refused.
type holdDoc struct {
	ID         string    `bson:"_id"`
	Lane       string    `bson:"lane"` // of a slot, "" of a lock
	N          int       `bson:"n"`    // the slot's number, from 0
	Claim      string    `bson:"claim"`
	TaskID     string    `bson:"taskId"`
	Token      string    `bson:"token"`
	Rev        int64     `bson:"rev"` // of the task before it was claimed
	ClaimUntil time.Time `bson:"claimUntil"`
}

func slotID(lane string, n int) string { return fmt.Sprintf("slot/%s/%d", lane, n) }

func lockID(key string) string { return "lock/" + key }

// holds reports whether t has a valid lease under the hold's token.
func (h *holdDoc) holds(t tasks.Task, now time.Time) bool {
	return t.ID == h.TaskID && t.Leased(now) && t.Lease.Token == h.Token
}

// free reports whether a hold may be given away, its task being t; a task that is gone has no id.
func (s *Tasks) free(ctx context.Context, h *holdDoc, t tasks.Task, now time.Time) (bool, error) {
	switch {
	case h.holds(t, now):
		return false, nil
	case t.ID == "" || t.Rev != h.Rev:
		return true, nil
	case h.ClaimUntil.After(now):
		return false, nil
	}
	result, err := s.db.tasks.UpdateOne(ctx, bson.D{is("_id", h.TaskID), is("rev", h.Rev)}, with("$inc", with("rev", 1)))
	return err == nil && result.MatchedCount == 1, err
}

// take gives a slot or a lock away, where it still is as it was; nil when it was not there.
func (s *Tasks) take(ctx context.Context, was *holdDoc, next holdDoc) (bool, error) {
	if was == nil {
		_, err := s.db.holds.InsertOne(ctx, next)
		if driver.IsDuplicateKeyError(err) {
			return false, nil
		}
		return err == nil, err
	}
	result, err := s.db.holds.ReplaceOne(ctx, bson.D{is("_id", was.ID), is("claim", was.Claim)}, next)
	return err == nil && result.MatchedCount == 1, err
}

// handBack gives back what a claim took in vain.
func (s *Tasks) handBack(ctx context.Context, h holdDoc) error {
	_, err := s.db.holds.DeleteOne(ctx, bson.D{is("_id", h.ID), is("claim", h.Claim)})
	return err
}

// lock returns a lock as it stands, and whether it is free.
func (s *Tasks) lock(ctx context.Context, key string, now time.Time) (was *holdDoc, free bool, err error) {
	found, err := all[holdDoc](ctx, s.db.holds, with("_id", lockID(key)))
	if err != nil {
		return nil, false, err
	}
	// A task that was registered as running has its lock without having taken it.
	holders, err := all[taskDoc](ctx, s.db.tasks, append(bson.D{is("lockKey", key)}, leased(now)...))
	if err != nil || len(holders) > 0 {
		return nil, false, err
	}
	if len(found) == 0 {
		return nil, true, nil
	}
	doc, err := one[taskDoc](ctx, s.db.tasks, with("_id", found[0].TaskID), nil)
	if err != nil {
		return nil, false, err
	}
	free, err = s.free(ctx, &found[0], doc.Task, now)
	return &found[0], free, err
}

// Holder implements [tasks.Store].
func (s *Tasks) Holder(ctx context.Context, lockKey string, now time.Time) (tasks.Task, error) {
	held := append(bson.D{is("lockKey", lockKey)}, leased(now)...)
	doc, err := one[taskDoc](ctx, s.db.tasks, held, tasks.ErrNotFound)
	return doc.Task, wrap(err, "find who holds a lock")
}
