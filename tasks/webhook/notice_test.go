package webhook

import (
	"testing"

	"filmroom/tasks"
)

func TestALateNoticeTellsOfItsOwnEnd(t *testing.T) {
	t.Parallel()
	retried := tasks.Task{ID: "01TASK", Attempt: 3, StartedAt: fixed(), Journal: []tasks.Entry{
		{Event: tasks.EventFailed, Attempt: 1}, {Event: tasks.EventRetried, Attempt: 1},
		{Event: tasks.EventCanceled, Attempt: 2}, {Event: tasks.EventRetried, Attempt: 2}, {Event: tasks.EventFinished, Attempt: 3},
	}}
	for earlier, want := range []tasks.Status{tasks.StatusError, tasks.StatusCanceled, tasks.StatusFinished, tasks.StatusFinished} {
		n, ok := noticeOf(retried, earlier)
		if !ok || n.Status != want || n.StartedAt.IsZero() != (want != tasks.StatusFinished) {
			t.Errorf("after %d ends: %+v, want %s with the start of its own attempt or none", earlier, n, want)
		}
	}
	if n, ok := noticeOf(tasks.Task{ID: "01TASK"}, 0); ok {
		t.Errorf("an end that nobody wrote down: %+v", n)
	}
}
