package handlers_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"filmroom/handlers"
	"filmroom/tasks"
)

// A frame is one event of a stream.
type frame struct {
	id, event, data string
}

func (f frame) task(t *testing.T) (e struct {
	TaskID, Status, Phase, Message, At string
	Value, Max                         *int64
	Attempt                            int
}) {
	t.Helper()
	if err := json.Unmarshal([]byte(f.data), &e); err != nil {
		t.Fatalf("the event's data is not JSON: %v: %q", err, f.data)
	}
	return e
}

// A listener reads a stream. Comments are left out.
type listener struct {
	t        *testing.T
	response *http.Response
	lines    *bufio.Scanner
	stop     context.CancelFunc
}

func (d *desk) listen(t *testing.T, path string, edits ...edit) *listener {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	r := must(http.NewRequestWithContext(ctx, "GET", d.url+path, nil))
	r.Header.Set("Accept", "text/event-stream")
	for _, e := range edits {
		e(r)
	}
	res, err := noRedirects.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{t, res, bufio.NewScanner(res.Body), stop}
	l.lines.Buffer(nil, 1<<20)
	t.Cleanup(l.close)
	return l
}

func (p *person) listen(t *testing.T, path string, edits ...edit) *listener {
	t.Helper()
	return p.desk.listen(t, path, append([]edit{cookie(p.cookie)}, edits...)...)
}

func (l *listener) close() {
	l.stop()
	l.response.Body.Close()
}

// next is the next event; ok is false when the stream has ended.
func (l *listener) next() (f frame, ok bool) {
	l.t.Helper()
	var data []string
	for l.lines.Scan() {
		field, value, _ := strings.Cut(l.lines.Text(), ": ")
		switch {
		case field == "id":
			f.id = value
		case field == "event":
			f.event = value
		case strings.HasPrefix(field, "data"):
			data = append(data, value)
		case field == "" && (data != nil || f.event != ""):
			f.data = strings.Join(data, "\n")
			if f.event != "beat" {
				return f, true
			}
			f, data = frame{}, nil
		}
	}
	return f, false
}

// until reads up to the first event for which found is true, and fails when the stream ends before it.
func (l *listener) until(what string, found func(frame) bool) (seen []frame) {
	l.t.Helper()
	for {
		f, ok := l.next()
		if !ok {
			l.t.Fatalf("the stream ended before %s; it said %v", what, seen)
		}
		if seen = append(seen, f); found(f) {
			return seen
		}
	}
}

// ended fails the test unless the server ends the stream, with nothing more on it.
func (l *listener) ended() {
	l.t.Helper()
	if f, ok := l.next(); ok {
		l.t.Fatalf("the stream went on with %v", f)
	}
	if err := l.lines.Err(); err != nil {
		l.t.Fatalf("the stream did not end but broke: %v", err)
	}
}

func TestATasksStreamBeginsWithItsStateAndEndsWithItsEnd(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	taskID := ada.gate("")
	ada.tell(taskID, step{message: "1 of 9", value: 1, max: 9})
	ada.tell(taskID, step{message: "2 of 9", value: 2, max: 9})

	l := ada.listen(t, "/api/tasks/"+taskID)
	h := l.response.Header
	if h.Get("Content-Type") != "text/event-stream" || h.Get("Cache-Control") != "no-store" || h.Get("X-Accel-Buffering") != "no" || h.Get("Content-Encoding") != "" {
		t.Errorf("the stream's header is %v", h)
	}
	first, _ := l.next()
	if e := first.task(t); first.event != "progress" || e.TaskID != taskID || e.Status != "processing" || *e.Max != 9 || *e.Value < 1 {
		t.Errorf("the snapshot is %+v", first)
	}
	ada.tell(taskID, step{message: "8 of 9", value: 8, max: 9})
	ada.tell(taskID, step{end: true, message: "all nine"})
	frames := l.until("the end", func(f frame) bool { return f.event == "finish" })
	l.ended()
	last := frames[len(frames)-1]
	if e := last.task(t); e.Status != "finished" || e.Message != "all nine" || *e.Value != 8 {
		t.Errorf("the end is %+v: the last value counts", last)
	}
	value := int64(0)
	for _, f := range frames {
		if e := f.task(t); *e.Value < value {
			t.Errorf("the bar went back from %d to %d", value, *e.Value)
		} else {
			value = *e.Value
		}
		if f.id == "" {
			t.Errorf("%+v has no id", f)
		}
	}
	ada.api("GET", "/api/tasks/"+taskID, accept("text/event-stream"), header("Last-Event-ID", last.id)).wants(http.StatusNoContent)
	again := ada.listen(t, "/api/tasks/"+taskID)
	if f, _ := again.next(); f.event != "finish" {
		t.Errorf("a stream of an ended task begins with %+v", f)
	}
	again.ended()
}

func TestAnEndWithoutSuccessIsAFailureEvent(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	taskID := ada.gate("")
	l := ada.listen(t, "/api/tasks/"+taskID)
	ada.tell(taskID, step{err: tasks.UserError("The disk is full.", nil)})
	frames := l.until("the end", func(f frame) bool { return f.event == "failure" })
	if e := frames[len(frames)-1].task(t); e.Status != "error" || e.Message != "The disk is full." {
		t.Errorf("the end is %+v", e)
	}
	l.ended()
}

func TestAStreamOfAllOwnTasksBeginsWithWhatRunsAndWhatHasEnded(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, bob := d.person("ada@example.org"), d.person("bob@example.org")
	ended, running := ada.finished("", ""), ada.gate("")
	bob.finished("", "")
	ada.tell(running, step{message: "under way"})
	l := ada.listen(t, "/api/events")
	var seen []string
	for range 2 {
		f, _ := l.next()
		seen = append(seen, f.task(t).TaskID)
	}
	slices.Sort(seen)
	if want := []string{ended, running}; !slices.Equal(seen, want) {
		t.Errorf("the snapshot is of %v instead of %v", seen, want)
	}
	next := ada.gate("")
	l.until("the new task", func(f frame) bool {
		if e := f.task(t); e.TaskID != next && e.TaskID != running {
			t.Errorf("heard of %s", e.TaskID)
		}
		return f.task(t).TaskID == next
	})
}

func TestAClientThatComesBackHearsOfEveryEndItMissed(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	l := ada.listen(t, "/api/events")
	first := ada.finished("", "")
	frames := l.until("the end", func(f frame) bool { return f.event == "finish" })
	l.close()
	missed := ada.finished("", "")
	again := ada.listen(t, "/api/events", header("Last-Event-ID", frames[len(frames)-1].id))
	again.until("the end it missed", func(f frame) bool {
		return f.event == "finish" && f.task(t).TaskID == missed && f.task(t).TaskID != first
	})
}

// Whoever opens a stream of a task that nobody runs any more must not wait for news that never come.
func TestAStreamOfATaskThatNobodyRunsBeginsWithItsInterruption(t *testing.T) {
	t.Parallel()
	for what, path := range map[string]func(taskID string) string{
		"the task's stream":   func(id string) string { return "/api/tasks/" + id },
		"the person's stream": func(string) string { return "/api/events" },
		"the task's page":     func(id string) string { return "/tasks/" + id + "/events" },
		"the board":           func(string) string { return "/events?sort=-createdAt" },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var ahead atomic.Int64
			now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
			ada := setup(t, options{
				tasks:  func(c *tasks.Config) { c.Now, c.RescueInterval = now, time.Hour },
				config: func(c *handlers.Config) { c.Now = now },
			}).person("ada@example.org")
			id := strings.TrimPrefix(ada.external(), "/api/tasks/")
			ahead.Add(int64(2 * time.Minute)) // no report comes
			l := ada.listen(t, path(id))
			l.until("its interruption", func(f frame) bool {
				return strings.Contains(f.data, id) && strings.Contains(strings.ToLower(f.data), "interrupted")
			})
		})
	}
}

// Threat: someone with thousands of tasks makes each of their pages cost megabytes.
func TestASnapshotThatDoesNotFitSaysSoFirst(t *testing.T) {
	t.Parallel()
	ada := setup(t, options{noRun: true}).person("ada@example.org")
	for range 501 {
		ada.gate("")
	}
	l := ada.listen(t, "/api/events")
	if f, _ := l.next(); f.event != "reset" || f.id == "" {
		t.Errorf("the stream begins with %+v instead of reset", f)
	}
}

// Threat: a stream that was opened in time goes on for somebody who was shut out.
func TestAStreamEndsWithWhatItWasOpenedWith(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *person){
		"the session":  func(p *person) { p.send("DELETE", "/api/session", cookie(p.cookie)).wants(http.StatusNoContent) },
		"the account":  func(p *person) { check(p.t, p.accounts.Disable(p.t.Context(), p.user.ID)) },
		"all sessions": func(p *person) { p.page("POST", "/account/sign-out-everywhere").wants(http.StatusSeeOther) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ada := setup(t).person("ada@example.org")
			l, page := ada.listen(t, "/api/events"), ada.listen(t, "/events")
			page.next() // the snapshot
			end(ada)
			l.ended()
			page.ended()
			ada.send("GET", "/api/events", cookie(ada.cookie)).problem(http.StatusUnauthorized)
		})
	}
	t.Run("the token", func(t *testing.T) {
		t.Parallel()
		ada := setup(t).person("ada@example.org")
		l := ada.desk.listen(t, "/api/events", header("Authorization", "Bearer "+ada.token))
		var mine struct{ Items []struct{ ID string } }
		ada.api("GET", "/api/tokens").json(&mine)
		ada.api("DELETE", "/api/tokens/"+mine.Items[0].ID).wants(http.StatusNoContent)
		l.ended()
	})
}

func TestStreamsEndWhenTheDeskStops(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	l := ada.listen(t, "/api/events")
	check(t, ada.tasks.Stop(t.Context()))
	l.ended()
}

func TestASilentStreamBeats(t *testing.T) {
	t.Parallel()
	ada := setup(t, options{config: func(c *handlers.Config) { c.Heartbeat = 10 * time.Millisecond }}).person("ada@example.org")
	for path, beat := range map[string]string{"/api/events": ":\n", "/events": "event: beat\n"} {
		l := ada.listen(t, path)
		lines := bufio.NewReader(l.response.Body)
		for line, beats := "", 0; beats < 3; {
			var err error
			if line, err = lines.ReadString('\n'); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if line == beat {
				beats++
			}
		}
	}
}

// Threat: a viewer that opens a stream and never reads holds up the task, or everybody else's news.
func TestAViewerThatNeverReadsCostsTheOthersNothing(t *testing.T) {
	t.Parallel()
	ada := setup(t, options{config: func(c *handlers.Config) { c.Heartbeat = 200 * time.Millisecond }}).person("ada@example.org")
	stuck := must(net.Dial("tcp", strings.TrimPrefix(ada.url, "http://")))
	defer stuck.Close()
	check(t, stuck.(*net.TCPConn).SetReadBuffer(1))
	fmt.Fprintf(stuck, "GET /api/events HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer %s\r\n\r\n", ada.token)
	taskID := ada.gate("")
	l := ada.listen(t, "/api/tasks/"+taskID)
	long := strings.Repeat("x", 400)
	for i := range int64(2000) {
		ada.tell(taskID, step{message: long, value: i, max: 2000})
	}
	ada.tell(taskID, step{end: true})
	l.until("the end", func(f frame) bool { return f.event == "finish" })
	l.ended()
}

func TestAnEventsDataCannotBreakOutOfIt(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	taskID := ada.gate("")
	l := ada.listen(t, "/api/tasks/"+taskID)
	page := ada.listen(t, "/tasks/"+taskID+"/events")
	ada.tell(taskID, step{message: "a\r\n\r\nevent: finish\ndata: {}\n\n<script>", value: 1})
	ada.tell(taskID, step{end: true, message: "done"})
	frames := l.until("the end", func(f frame) bool { return f.event == "finish" })
	if e := frames[len(frames)-1].task(t); e.Message != "done" {
		t.Errorf("an event was made out of a message: %+v", e)
	}
	for _, f := range page.until("the end", func(f frame) bool { return f.event == "end" }) {
		if strings.Contains(f.data, "<script>") {
			t.Errorf("markup was made out of a message: %s", f.data)
		}
	}
	page.ended()
}

func TestABoardsStreamSendsRowsCountsAndHowMuchIsNew(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, bob := d.person("ada@example.org"), d.person("bob@example.org")
	shown := ada.finished("", "")
	l := ada.listen(t, "/events?sort=-createdAt")
	snapshot, _ := l.next()
	if snapshot.event != "" || !strings.Contains(snapshot.data, `hx-target="#task-`+shown) || !strings.Contains(snapshot.data, `hx-target="#chips"`) {
		t.Errorf("the snapshot is %+v", snapshot)
	}
	bobs := bob.finished("", "")
	fresh := ada.gate("")
	seen := l.until("the new task's id", func(f frame) bool {
		return strings.Contains(f.data, `data-ids="`+fresh+" "+shown+`"`) && strings.Contains(f.data, "#chips")
	})
	for _, f := range seen {
		if strings.Contains(f.data, bobs) {
			t.Errorf("ada hears of bob's task: %s", f.data)
		}
	}
}

func TestABoardCountsOnlyWhatItsFilterLetsThrough(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	l := ada.listen(t, "/events?status=error&kind=gate&q=gat")
	l.next()
	ada.finished("", "")
	failed := ada.gate("")
	ada.tell(failed, step{err: tasks.UserError("no", nil)})
	l.until("the failed task", func(f frame) bool {
		if strings.Contains(f.data, `data-new="2"`) {
			t.Errorf("a task that the filter leaves out is counted: %s", f.data)
		}
		return strings.Contains(f.data, `data-new="1"`) && strings.Contains(f.data, `data-ids="`+failed+`"`)
	})
}

func TestATasksPageFollowsItToItsEnd(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	taskID := ada.gate("")
	l := ada.listen(t, "/tasks/"+taskID+"/events")
	if f, _ := l.next(); !strings.Contains(f.data, `hx-target="#task-head"`) || !strings.Contains(f.data, `hx-target="#task-journal"`) {
		t.Errorf("the snapshot is %+v", f)
	}
	ada.tell(taskID, step{phase: "Looking", message: "half"})
	l.until("the phase in the journal", func(f frame) bool {
		return strings.Contains(f.data, "task-journal") && strings.Contains(f.data, "Looking")
	})
	ada.tell(taskID, step{end: true, message: "all of it"})
	frames := l.until("the end", func(f frame) bool { return f.event == "end" })
	l.ended()
	if last := frames[len(frames)-2]; !strings.Contains(last.data, "all of it") || !strings.Contains(last.data, "task-journal") {
		t.Errorf("before the end the whole page was not shown: %+v", last)
	}
}

func TestAStreamOfSomebodyElsesTaskIsNowhere(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, bob := d.person("ada@example.org"), d.person("bob@example.org")
	taskID := ada.gate("")
	bob.api("GET", "/api/tasks/"+taskID, accept("text/event-stream")).problem(http.StatusNotFound)
	bob.page("GET", "/tasks/"+taskID+"/events").wants(http.StatusNotFound)
}

func TestNothingOfAStreamIsKeptBack(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	r := must(http.NewRequestWithContext(t.Context(), "GET", ada.url+"/api/events", nil))
	r.Header.Set("Accept-Encoding", "gzip")
	r.AddCookie(ada.cookie)
	res := must(noRedirects.Do(r))
	defer res.Body.Close()
	if got := res.Header.Get("Content-Encoding"); got != "" {
		t.Errorf("the stream is encoded %s", got)
	}
	if _, err := io.ReadFull(res.Body, make([]byte, 1)); err != nil {
		t.Errorf("an empty snapshot is kept back: %v", err)
	}
}
