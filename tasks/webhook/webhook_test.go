package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
	"filmroom/tasks/webhook"
)

var ada = tasks.Person{UserID: "ada", Email: "ada@example.org"}

const secret = "frs_a secret that stays here"

// A desk is an engine with one kind of its own, "work", and webhooks.
type desk struct {
	*tasks.Manager
	t      *testing.T
	target webhook.Target
	log    *bytes.Buffer // of the engine; read it once the engine has stopped
	work   func() error
}

// setup returns a desk whose webhooks go to an address.
func setup(t *testing.T, url string, edits ...func(*webhook.Config)) *desk {
	t.Helper()
	d := &desk{t: t, target: webhook.Target{URL: url, Secret: secret}, log: &bytes.Buffer{}, work: func() error { return nil }}
	lookup := func(_ context.Context, userID string) (webhook.Target, error) {
		if userID != ada.UserID {
			return webhook.Target{}, nil
		}
		return d.target, nil
	}
	cfg := webhook.Config{
		Lookup: lookup, AllowPrivate: true, Retry: tasks.Retry{MaxAttempts: 3, Base: time.Millisecond, Cap: time.Millisecond},
		Task: func(ctx context.Context, p tasks.Person, id string) (tasks.Task, error) { return d.Get(ctx, p, id) },
	}
	for _, edit := range edits {
		edit(&cfg)
	}
	work := tasks.Define(tasks.Kind{Name: "work", Lane: "work", Retry: tasks.Retry{MaxAttempts: 1}},
		func(context.Context, struct{}, *tasks.Run) (tasks.Done, error) { return tasks.Done{}, d.work() })
	kinds, err := tasks.NewKinds(webhook.Define(cfg), work)
	check(t, err)
	results, err := tasks.NewResultDir(t.TempDir())
	check(t, err)
	d.Manager, err = tasks.NewManager(tasks.Config{
		Store: taskstest.NewMemory(), Results: results, Kinds: kinds, Lanes: map[string]int{webhook.Lane: 2, "work": 2},
		Follow: webhook.Follow(lookup, func(err error) { t.Error(err) }),
		Logger: slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	check(t, err)
	check(t, d.Start(t.Context()))
	t.Cleanup(d.stop)
	return d
}

func (d *desk) stop() { check(d.t, d.Stop(context.Background())) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// end brings a task to its end and returns it.
func (d *desk) end(p tasks.Person) tasks.Task {
	d.t.Helper()
	submitted, err := d.Submit(d.t.Context(), p, tasks.Spec{Kind: "work", Name: "Mr. Secret's images"})
	check(d.t, err)
	return d.wait(p, submitted.ID)
}

// wait returns a task once it has ended.
func (d *desk) wait(p tasks.Person, id string) tasks.Task {
	d.t.Helper()
	return d.until(func() (tasks.Task, bool) {
		t, err := d.Get(d.t.Context(), p, id)
		check(d.t, err)
		return t, t.Status.Final()
	})
}

// delivery returns the newest webhook task of ada's once it has ended.
func (d *desk) delivery() tasks.Task {
	d.t.Helper()
	return d.until(func() (tasks.Task, bool) {
		page, err := d.List(d.t.Context(), ada, tasks.Query{Kind: webhook.Kind, Limit: 1})
		check(d.t, err)
		if len(page.Items) == 0 || !page.Items[0].Status.Final() {
			return tasks.Task{}, false
		}
		t, err := d.Get(d.t.Context(), ada, page.Items[0].ID)
		check(d.t, err)
		return t, true
	})
}

func (d *desk) until(look func() (tasks.Task, bool)) tasks.Task {
	d.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if t, ok := look(); ok {
			return t
		}
		select {
		case <-tick.C:
		case <-d.t.Context().Done():
			d.t.Fatal("the test ended first")
		}
	}
}

// A call is a request that a receiver got.
type call struct {
	header http.Header
	body   []byte
}

// A receiver answers with its codes one after the other, the last one for good.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	calls []call
}

func receive(t *testing.T, codes ...int) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil || req.Method != http.MethodPost {
			t.Errorf("%s, %v", req.Method, err)
		}
		r.mu.Lock()
		r.calls = append(r.calls, call{req.Header, body})
		code := codes[min(len(r.calls), len(codes))-1]
		r.mu.Unlock()
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "the receiver's own words")
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) got() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

func TestAnEndIsToldSignedAndWithoutNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		work   error
		status tasks.Status
	}{
		"a task that finished": {nil, tasks.StatusFinished},
		"a task that failed":   {tasks.UserError("Mr. Secret's images are gone", nil), tasks.StatusError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := receive(t, 200)
			d := setup(t, r.URL+"/hook?key=42")
			d.work = func() error { return c.work }
			ended := d.end(ada)
			delivery := d.delivery()
			if delivery.Status != tasks.StatusFinished || len(r.got()) != 1 {
				t.Fatalf("the delivery is %s (%s) after %d calls", delivery.Status, delivery.Error, len(r.got()))
			}
			got := r.got()[0]
			var notice webhook.Notice
			check(t, json.Unmarshal(got.body, &notice))
			want := webhook.Notice{
				Event: "task.ended", TaskID: ended.ID, Kind: "work", Status: c.status, Attempt: 1,
				CreatedAt: ended.CreatedAt, StartedAt: ended.StartedAt, EndedAt: ended.EndedAt,
			}
			if diff := cmp.Diff(want, notice); diff != "" {
				t.Errorf("notice (-want +got):\n%s", diff)
			}
			for _, hidden := range []string{"Secret", ada.Email, secret, "key=42"} {
				if bytes.Contains(got.body, []byte(hidden)) {
					t.Errorf("the body tells %q: %s", hidden, got.body)
				}
			}
			timestamp := got.header.Get("Filmroom-Timestamp")
			if s := got.header.Get("Filmroom-Signature"); s != webhook.Sign(secret, timestamp, got.body) || timestamp == "" {
				t.Errorf("signature %q at %q is not that of the body", s, timestamp)
			}
			if got.header.Get("Filmroom-Delivery") != delivery.ID {
				t.Errorf("the delivery is %q, want %q", got.header.Get("Filmroom-Delivery"), delivery.ID)
			}
		})
	}
}

// The value comes from an independent tool: printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac key
func TestTheSignatureIsThatOfOtherTools(t *testing.T) {
	t.Parallel()
	const want = "sha256=a438e398bfafc57e4396bb7fc2304422f0f768e965d073ca313cb52e22e6ad03"
	if got := webhook.Sign("key", "1700000000", []byte(`{"a":1}`)); got != want {
		t.Errorf("signature is %s, want %s", got, want)
	}
	for name, other := range map[string]string{
		"another time":   webhook.Sign("key", "1700000001", []byte(`{"a":1}`)),
		"another body":   webhook.Sign("key", "1700000000", []byte(`{"a":2}`)),
		"another secret": webhook.Sign("yek", "1700000000", []byte(`{"a":1}`)),
	} {
		if other == want {
			t.Errorf("%s gives the same signature", name)
		}
	}
}

func TestWhatIsTriedAgainAndWhatIsNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []int
		status  tasks.Status
		calls   int
	}{
		"any 2xx is success":              {[]int{204}, tasks.StatusFinished, 1},
		"a failing receiver recovers":     {[]int{500, 503, 200}, tasks.StatusFinished, 3},
		"one that never recovers":         {[]int{502}, tasks.StatusError, 3},
		"a time-out on its side":          {[]int{408, 200}, tasks.StatusFinished, 2},
		"too many requests":               {[]int{429, 200}, tasks.StatusFinished, 2},
		"a wrong address is permanent":    {[]int{404, 200}, tasks.StatusError, 1},
		"gone is permanent":               {[]int{410, 200}, tasks.StatusError, 1},
		"an unauthorised one, too":        {[]int{401, 200}, tasks.StatusError, 1},
		"a redirect is not followed":      {[]int{302, 200}, tasks.StatusError, 1},
		"nor one that keeps the method":   {[]int{307, 200}, tasks.StatusError, 1},
		"nor one that is there to stay":   {[]int{308, 200}, tasks.StatusError, 1},
		"an answer that was never asked":  {[]int{304, 200}, tasks.StatusError, 1},
		"a receiver that is not the same": {[]int{421, 200}, tasks.StatusError, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := receive(t, c.answers...)
			d := setup(t, r.URL+"/hook?key=42")
			d.end(ada)
			got := d.delivery()
			if got.Status != c.status || len(r.got()) != c.calls {
				t.Errorf("it is %s after %d calls, want %s after %d: %s", got.Status, len(r.got()), c.status, c.calls, got.Error)
			}
			for i, call := range r.got() {
				if id := call.header.Get("Filmroom-Delivery"); id != got.ID {
					t.Errorf("call %d is delivery %q, want the same each time", i, id)
				}
			}
			d.stop()
			record, err := json.Marshal(got)
			check(t, err)
			for _, hidden := range []string{secret, "key=42", "the receiver's own words"} {
				if strings.Contains(d.log.String(), hidden) || strings.Contains(string(record), hidden) {
					t.Errorf("%q is told by the log or the record:\n%s\n%s", hidden, d.log, record)
				}
			}
		})
	}
}

// Threat: an answer without end keeps a connection and fills memory.
func TestAnEndlessAnswerIsNotRead(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(gone)
		for chunk := make([]byte, 64<<10); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	d := setup(t, s.URL)
	d.end(ada)
	if got := d.delivery(); got.Status != tasks.StatusFinished {
		t.Errorf("it is %s: %s", got.Status, got.Error)
	}
	<-gone // the desk hung up
}

func TestAReceiverThatIsAwayIsTriedAgain(t *testing.T) {
	t.Parallel()
	r := receive(t, 200)
	r.Close()
	d := setup(t, r.URL+"/hook?key=42")
	d.end(ada)
	got := d.delivery()
	d.stop()
	if got.Status != tasks.StatusError || len(got.Failures) != 3 || strings.Contains(d.log.String(), "key=42") {
		t.Errorf("it is %s after %d attempts; log:\n%s", got.Status, len(got.Failures), d.log)
	}
}

func TestWhoIsToldOfWhat(t *testing.T) {
	t.Parallel()
	r := receive(t, 200)
	d := setup(t, r.URL)
	d.end(tasks.Person{UserID: "bob", Email: "bob@example.org"}) // has no webhook
	d.end(ada)
	d.delivery() // whose own end is told to nobody
	d.stop()
	if n := len(r.got()); n != 1 {
		t.Errorf("the receiver was called %d times, want once", n)
	}
}

func TestAWebhookThatWasTakenAwayMeanwhileIsNotSent(t *testing.T) {
	t.Parallel()
	r := receive(t, 200)
	d := setup(t, r.URL, func(c *webhook.Config) {
		c.Lookup = func(context.Context, string) (webhook.Target, error) { return webhook.Target{}, nil }
	})
	d.end(ada)
	if got := d.delivery(); got.Status != tasks.StatusFinished || len(r.got()) != 0 {
		t.Errorf("it is %s (%s) after %d calls", got.Status, got.Error, len(r.got()))
	}
}

func TestWhoHasAWebhookIsAskedOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, target, failure := 0, webhook.Target{}, error(nil)
		lookup := func(context.Context, string) (webhook.Target, error) { asked++; return target, failure }
		var troubles []error
		follow := webhook.Follow(lookup, func(err error) { troubles = append(troubles, err) })
		followed := func() bool {
			return follow(t.Context(), tasks.Task{ID: "01TASK", UserID: "ada", Kind: "work"}) != nil
		}
		for range 1000 {
			if followed() {
				t.Fatal("told of an end to nobody")
			}
		}
		target.URL = "https://example.org"
		time.Sleep(time.Second)
		if !followed() || asked != 2 {
			t.Errorf("a second later the new address was not heeded, or asked for %d times", asked)
		}
		time.Sleep(time.Second)
		failure = errors.New("the disk is gone")
		if !followed() || len(troubles) != 1 {
			t.Errorf("an end is lost when the look-up fails; troubles: %v", troubles)
		}
	})
}

func TestAnEndIsToldAsItWasWhateverCameLater(t *testing.T) {
	t.Parallel()
	r := receive(t, 200)
	d := setup(t, r.URL)
	d.work = func() error { return errors.New("not today") }
	failed := d.end(ada)
	d.delivery()
	d.work = func() error { return nil }
	_, err := d.Retry(t.Context(), ada, failed.ID)
	check(t, err)
	d.wait(ada, failed.ID)
	d.until(func() (tasks.Task, bool) { return d.delivery(), len(r.got()) == 2 })
	var statuses []tasks.Status
	var attempts []int
	for _, c := range r.got() {
		var n webhook.Notice
		check(t, json.Unmarshal(c.body, &n))
		statuses, attempts = append(statuses, n.Status), append(attempts, n.Attempt)
	}
	if diff := cmp.Diff([]tasks.Status{tasks.StatusError, tasks.StatusFinished}, statuses); diff != "" || attempts[0] != 1 || attempts[1] != 2 {
		t.Errorf("ends (-want +got):\n%s of attempts %d", diff, attempts)
	}
}

func TestATaskThatIsNoLongerKeptFailsItsWebhookForGood(t *testing.T) {
	t.Parallel()
	r := receive(t, 200)
	d := setup(t, r.URL, func(c *webhook.Config) {
		c.Task = func(context.Context, tasks.Person, string) (tasks.Task, error) {
			return tasks.Task{}, tasks.ErrNotFound
		}
	})
	d.end(ada)
	got := d.delivery()
	if got.Status != tasks.StatusError || len(got.Failures) != 1 || len(r.got()) != 0 {
		t.Errorf("it is %s after %d attempts and %d calls", got.Status, len(got.Failures), len(r.got()))
	}
	if _, err := d.Retry(t.Context(), ada, got.ID); !errors.Is(err, tasks.ErrInputGone) {
		t.Errorf("retry: %v, want ErrInputGone", err)
	}
}
