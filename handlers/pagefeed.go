package handlers

import (
	"bytes"
	"context"
	"time"

	"github.com/a-h/templ"

	"filmroom/tasks"
	"filmroom/views"
)

// soon is how long a page's slower parts wait for company: counts after a change of status, say.
const soon = 300 * time.Millisecond

// pageBeat is a comment for those on the way, and an event for the page: it cannot see comments, and tells by
// beats that a silent stream is alive.
var pageBeat = []byte(":\nevent: beat\ndata:\n\n")

// html renders partials as one message of a page's stream.
func html(ctx context.Context, id string, parts ...templ.Component) ([]byte, error) {
	var b bytes.Buffer
	for _, part := range parts {
		if err := part.Render(ctx, &b); err != nil {
			return nil, err
		}
	}
	return appendFrame(nil, id, "", b.Bytes()), nil
}

// encodeHTML renders what is shared by all pages that show a task in the same way.
func encodeHTML(u *tasks.Update, part func(views.TaskRow) templ.Component) []byte {
	frame, err := html(context.Background(), u.ID, part(views.NewTaskRow(u.Task, u.At)))
	if err != nil {
		return comment // into memory only what a template itself refuses can fail
	}
	return frame
}

func encodeRow(u *tasks.Update) []byte  { return encodeHTML(u, views.TaskRowPartial) }
func encodeHead(u *tasks.Update) []byte { return encodeHTML(u, views.TaskHeadPartial) }

// An alarm goes off once for any number of times it was set before.
type alarm struct{ timer *time.Timer }

func (a *alarm) set(in time.Duration) {
	if a.timer == nil {
		a.timer = time.NewTimer(in)
	}
}

func (a *alarm) late() <-chan time.Time {
	if a.timer == nil {
		return nil
	}
	return a.timer.C
}

func (a *alarm) clear() {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}
