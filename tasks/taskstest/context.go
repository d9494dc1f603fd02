package taskstest

import (
	"context"
	"testing"
	"time"

	"filmroom/tasks"
)

var contextScenarios = []scenario{
	{"a cancelled context writes nothing", cancelledContext},
}

func cancelledContext(t *testing.T, s tasks.Store) {
	queued, running := insert(t, s, Queued()), insert(t, s, Running())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fresh := Queued()
	_, err := s.Insert(ctx, fresh)
	refused(t, "insert", err, context.Canceled)
	_, err = s.Update(ctx, queued, tasks.PausedBy("", Epoch))
	refused(t, "update", err, context.Canceled)
	_, err = s.Claim(ctx, claiming("import", 1, Epoch))
	refused(t, "claim", err, context.Canceled)
	_, err = s.Renew(ctx, []tasks.Beat{{TaskID: running.ID, Token: Token}}, After(time.Hour), Epoch)
	refused(t, "renew", err, context.Canceled)
	err = s.AppendLog(ctx, lines(queued.ID, 1, 1))
	refused(t, "append log", err, context.Canceled)

	_, err = s.Get(t.Context(), fresh.ID)
	refused(t, "get", err, tasks.ErrNotFound)
	unchanged(t, s, queued)
	unchanged(t, s, running)
	if got, err := s.Log(t.Context(), queued.ID, 0, 9); len(got) != 0 || err != nil {
		t.Errorf("%d lines were kept (%v)", len(got), err)
	}
	rightCounts(t, s, []tasks.Task{queued, running}, queued.UserID)
}
