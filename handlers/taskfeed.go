package handlers

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"filmroom/tasks"
	"filmroom/views"
)

// detailEvery is how often the page of a running task shows its receipt and log anew.
const detailEvery = 2 * time.Second

// taskPageEvents keeps a task's page up to date until the task has ended.
func (s *Server) taskPageEvents(c echo.Context) error {
	taskID, err := id(c, "taskId")
	if err != nil {
		return err
	}
	if err := query(c).done(); err != nil {
		return err
	}
	return s.stream(c, tasks.Scope{TaskID: taskID}, &taskPageFeed{s: s, frame: s.frame(c), origin: s.origin(c),
		person: who(c).person(), taskID: taskID})
}

type taskPageFeed struct {
	alarm
	s      *Server
	frame  views.Frame
	person tasks.Person
	taskID string
	origin string

	status  tasks.Status // as last shown in full
	phase   string
	attempt int
	said    bool // everything, the end included
}

func (f *taskPageFeed) over() bool   { return f.said }
func (f *taskPageFeed) beat() []byte { return pageBeat }

func (f *taskPageFeed) snapshot(ctx context.Context, sub *tasks.Subscription) ([]byte, error) {
	for {
		t, err := f.s.cfg.Tasks.Get(ctx, f.person, f.taskID)
		if err != nil {
			return nil, err
		}
		joined := sub.Join([]tasks.Task{t})[0]
		if joined.Rev == t.Rev { // else it has moved since it was read, and news does not carry the journal
			return f.whole(ctx, sub.LastID(), joined)
		}
	}
}

// update moves the head at once. The rest follows: soon after a move, now and then after progress.
func (f *taskPageFeed) update(u *tasks.Update) []byte {
	t := u.Task
	if t.Status != f.status || t.Phase != f.phase || t.Attempt != f.attempt {
		f.clear()
		f.set(soon)
	} else {
		f.set(detailEvery)
	}
	return u.Encoded(tasks.EncodingTask, encodeHead)
}

func (f *taskPageFeed) refresh(ctx context.Context) ([]byte, error) {
	f.clear()
	t, err := f.s.cfg.Tasks.Get(ctx, f.person, f.taskID)
	if err != nil {
		return nil, err
	}
	return f.whole(ctx, "", t)
}

// whole shows all of a task, and says so when that was the last of it.
func (f *taskPageFeed) whole(ctx context.Context, id string, t tasks.Task) ([]byte, error) {
	f.frame.Now = f.s.now()
	parts, err := f.s.taskParts(ctx, f.person, t)
	if err != nil {
		return nil, err
	}
	if parts.Origin = f.origin; parts.Wait != nil {
		f.set(waitEvery) // a wait changes with other tasks, without news of this one
	}
	f.status, f.phase, f.attempt = t.Status, t.Phase, t.Attempt
	page := views.NewTask(f.frame, t, parts)
	frames, err := html(ctx, id, views.TaskHeadPartial(page.Row), views.TaskDetailPartials(page))
	if f.said = t.Status.Final(); f.said {
		frames = appendFrame(frames, "", "end", nil)
	}
	return frames, err
}
