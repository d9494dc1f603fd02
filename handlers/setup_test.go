package handlers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"go.uber.org/goleak"

	"filmroom/accounts"
	"filmroom/handlers"
	"filmroom/imaging"
	"filmroom/sqlite"
	"filmroom/tasks"
)

func TestMain(m *testing.M) {
	if order := os.Getenv(viewersEnv); order != "" {
		beViewers(order)
		return
	}
	goleak.VerifyTestMain(m)
}

const password = "correct horse battery"

// A desk is a whole desk behind a real listener: engine, images, people, one database file.
type desk struct {
	t        testing.TB
	url      string
	dir      string // of the data
	db       *sqlite.DB
	tasks    *tasks.Manager
	accounts *accounts.Service
	server   *handlers.Server
	web      *httptest.Server
	log      *logbook
	gates    gates
}

type options struct {
	config func(*handlers.Config)
	desk   func(*imaging.Config)
	tasks  func(*tasks.Config)
	noRun  bool // tasks wait
}

func setup(t testing.TB, with ...options) *desk {
	t.Helper()
	var o options
	if len(with) > 0 {
		o = with[0]
	}
	d := &desk{t: t, dir: t.TempDir(), log: &logbook{}, gates: gates{open: map[string]chan step{}}}
	logger := slog.New(slog.NewJSONHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	db := must(sqlite.Open(t.Context(), filepath.Join(d.dir, "desk.db"), sqlite.Options{}))
	d.db = db
	t.Cleanup(func() { check(t, db.Close()) })

	images := imaging.Config{Store: db.Imaging(), DataDir: filepath.Join(d.dir, "images"), Key: bytes.Repeat([]byte{7}, 32), Logger: logger,
		Limits: imaging.Limits{MinFree: 1}, Workers: 1}
	if o.desk != nil {
		o.desk(&images)
	}
	imagery := must(imaging.New(images))
	engine := tasks.Config{Store: db.Tasks(), Results: must(tasks.NewResultDir(filepath.Join(d.dir, "results"))), Logger: logger, SoleOwner: true,
		Kinds: must(tasks.NewKinds(append(imagery.Kinds(), d.gates.kind(), tasks.DefineBulk("bulk", func() *tasks.Manager { return d.tasks }, func(ctx context.Context, acted, on tasks.Task, action tasks.BulkAction) {
			handlers.AuditBulk(d.accounts)(ctx, acted, on, action)
		}))...)),
		Lanes:            map[string]int{"import": 2, "export": 2, "test": 4, "bulk": 1, "delete": 1},
		ProgressInterval: time.Millisecond, ShutdownGrace: time.Millisecond, AttemptGrace: time.Minute}
	if o.noRun {
		engine.Lanes = map[string]int{"import": 0, "export": 0, "test": 0, "bulk": 0, "delete": 0}
	}
	if o.tasks != nil {
		o.tasks(&engine)
	}
	d.tasks = must(tasks.NewManager(engine))
	imagery.Attach(d.tasks)
	check(t, imagery.Start(t.Context()))
	check(t, d.tasks.Start(t.Context()))
	d.accounts = accounts.NewService(accounts.ServiceConfig{Store: db.Accounts(), Logger: logger,
		HashParams: &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 16}})
	d.serve(o, imagery, logger)
	t.Cleanup(func() {
		ctx := context.Background()
		check(t, d.tasks.Stop(ctx))
		noRedirects.CloseIdleConnections()
		d.web.Close()
		check(t, d.server.Drain(ctx))
		d.accounts.Close()
		check(t, imagery.Stop(ctx))
	})
	return d
}

// setupLater is setup with a clock that later sets forward past the grace of actions on many tasks.
func setupLater(t testing.TB) (d *desk, later func()) {
	t.Helper()
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	d = setup(t, options{tasks: func(c *tasks.Config) { c.Now = now }, config: func(c *handlers.Config) { c.Now = now }})
	return d, func() {
		ahead.Add(int64(tasks.BulkGrace))
		anybody, n := tasks.Person{UserID: "clock", Admin: true}, 1
		must(d.tasks.SetLane(t.Context(), anybody, "bulk", tasks.LaneChange{Capacity: &n})) // the lane looks again
	}
}

func (d *desk) serve(o options, imagery *imaging.Desk, logger *slog.Logger) {
	config := handlers.Config{Tasks: d.tasks, Desk: imagery, Accounts: d.accounts, Version: "test", StoreName: "sqlite", Logger: logger}
	if o.config != nil {
		o.config(&config)
	}
	d.server = must(handlers.New(config))
	d.web = httptest.NewServer(d.server)
	d.url = d.web.URL
}

// must is for what cannot fail in a test that is worth running.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// A logbook is what the desk has logged.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A gate task does what a test tells it, step by step.
type step struct {
	message    string
	value, max int64
	phase      string
	file       string // leaves this as its download
	end        bool
	err        error
}

type gates struct {
	mu   sync.Mutex
	open map[string]chan step // by task
}

type gateArgs struct {
	File string `json:"file"`
}

func (g *gates) of(taskID string) chan step {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[taskID] == nil {
		g.open[taskID] = make(chan step)
	}
	return g.open[taskID]
}

func (g *gates) kind() tasks.Kind {
	k := tasks.Kind{Name: "gate", Lane: "test", Direct: true, Timeout: time.Hour, Rerunnable: true, Downloadable: "application/zip", Retry: tasks.Retry{MaxAttempts: 1}}
	return tasks.Define(k, func(ctx context.Context, args gateArgs, r *tasks.Run) (tasks.Done, error) {
		for {
			select {
			case <-ctx.Done():
				return tasks.Done{}, context.Cause(ctx)
			case s := <-g.of(r.TaskID()):
				if s.err != nil {
					return tasks.Done{}, s.err
				}
				if s.phase != "" {
					if err := r.Phase(ctx, s.phase); err != nil {
						return tasks.Done{}, err
					}
				}
				if s.end {
					return tasks.Done{Message: s.message}, leave(r, args.File, s.file)
				}
				r.Progress(s.message, s.value, s.max)
			}
		}
	})
}

func leave(r *tasks.Run, name, content string) error {
	if name == "" {
		return nil
	}
	w, err := r.CreateFile(name)
	if err == nil {
		_, err = io.WriteString(w, content)
	}
	return err
}

// A person is somebody with an account, a session and a token.
type person struct {
	*desk
	user   accounts.User
	token  string
	cookie *http.Cookie
}

func (d *desk) person(email string) *person { return d.newPerson(email, false) }
func (d *desk) admin(email string) *person  { return d.newPerson(email, true) }

func (d *desk) newPerson(email string, admin bool) *person {
	d.t.Helper()
	u, err := d.accounts.AddUser(d.t.Context(), email, "", password, admin)
	if err != nil {
		d.t.Fatal(err)
	}
	_, token, err := d.accounts.CreateToken(d.t.Context(), u.ID, "test")
	if err != nil {
		d.t.Fatal(err)
	}
	p := &person{desk: d, user: u, token: token}
	p.cookie = p.signIn()
	return p
}

// signIn opens another session and returns its cookie.
func (p *person) signIn() *http.Cookie {
	p.t.Helper()
	a := p.desk.send("POST", "/api/session", jsonBody(map[string]string{"email": p.user.Email, "password": password}))
	a.wants(http.StatusNoContent)
	for _, c := range a.response.Cookies() {
		if c.MaxAge >= 0 {
			return c
		}
	}
	p.t.Fatal("signing in set no cookie")
	return nil
}

func (p *person) as() tasks.Person {
	return tasks.Person{UserID: p.user.ID, Email: p.user.Email, Admin: p.user.Admin}
}

// An edit changes a request before it is sent.
type edit func(*http.Request)

func header(name, value string) edit { return func(r *http.Request) { r.Header.Set(name, value) } }
func accept(kind string) edit        { return header("Accept", kind) }
func cookie(c *http.Cookie) edit     { return func(r *http.Request) { r.AddCookie(c) } }
func htmx(r *http.Request)           { r.Header.Set("HX-Request", "true") }

func body(kind, text string) edit {
	return func(r *http.Request) {
		r.Header.Set("Content-Type", kind)
		r.Body = io.NopCloser(strings.NewReader(text))
		r.ContentLength = int64(len(text))
	}
}

func jsonBody(v any) edit {
	return body("application/json", string(must(json.Marshal(v))))
}

func formBody(pairs ...string) edit {
	values := []string{}
	for i := 0; i < len(pairs); i += 2 {
		values = append(values, pairs[i]+"="+escape(pairs[i+1]))
	}
	return body("application/x-www-form-urlencoded", strings.Join(values, "&"))
}

// An answer is a response that has been read.
type answer struct {
	t        testing.TB
	response *http.Response
	request  *http.Request
	body     []byte
}

// send makes a request as nobody.
func (d *desk) send(method, path string, edits ...edit) *answer {
	d.t.Helper()
	r := must(http.NewRequestWithContext(d.t.Context(), method, d.url+path, nil))
	for _, e := range edits {
		e(r)
	}
	res, err := noRedirects.Do(r)
	if err != nil {
		d.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatalf("%s %s: %v", method, path, err)
	}
	a := &answer{t: d.t, response: res, request: r, body: content}
	a.fitsTheDocument()
	return a
}

// noRedirects is a client that keeps connections as browsers do, and shows redirects instead of following them.
var noRedirects = &http.Client{
	Transport:     &http.Transport{},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// api makes a request with the person's token.
func (p *person) api(method, path string, edits ...edit) *answer {
	p.t.Helper()
	return p.send(method, path, append([]edit{header("Authorization", "Bearer "+p.token)}, edits...)...)
}

// page makes a request with the person's session, as a browser does.
func (p *person) page(method, path string, edits ...edit) *answer {
	p.t.Helper()
	return p.send(method, path, append([]edit{cookie(p.cookie), accept("text/html,application/xhtml+xml"), header("Sec-Fetch-Site", "same-origin")}, edits...)...)
}

// wants fails the test if the status is another.
func (a *answer) wants(status int) *answer {
	a.t.Helper()
	if a.response.StatusCode != status {
		a.t.Fatalf("%s %s answered %d instead of %d: %s", a.request.Method, a.request.URL.Path, a.response.StatusCode, status, a.body)
	}
	return a
}

// json decodes the body.
func (a *answer) json(into any) *answer {
	a.t.Helper()
	if err := json.Unmarshal(a.body, into); err != nil {
		a.t.Fatalf("the body is not what was expected: %v: %s", err, a.body)
	}
	return a
}

// problem is the body of an error.
type problem struct {
	Type, Title, Detail, Instance, TaskStatus string
	Status                                    int
	Errors                                    []struct{ Field, Reason string }
}

func (a *answer) problem(status int) (p problem) {
	a.t.Helper()
	a.wants(status)
	if kind := a.response.Header.Get("Content-Type"); kind != "application/problem+json" {
		a.t.Fatalf("the error is %s instead of a problem document", kind)
	}
	a.json(&p)
	return p
}

// refuses expects 422 for exactly these fields.
func (a *answer) refuses(fields ...string) {
	a.t.Helper()
	var named []string
	for _, e := range a.problem(http.StatusUnprocessableEntity).Errors {
		named = append(named, e.Field)
	}
	if strings.Join(named, " ") != strings.Join(fields, " ") {
		a.t.Fatalf("refused the fields %q instead of %q: %s", named, fields, a.body)
	}
}

// gate submits a task that does what its test says.
func (p *person) gate(file string) string {
	p.t.Helper()
	t, err := p.tasks.Submit(p.t.Context(), p.as(), tasks.Spec{Kind: "gate", Name: "a gate", Args: gateArgs{File: file}})
	if err != nil {
		p.t.Fatal(err)
	}
	return t.ID
}

// tell makes a gate task take one step.
func (p *person) tell(taskID string, s step) {
	p.t.Helper()
	select {
	case p.gates.of(taskID) <- s:
	case <-time.After(30 * time.Second):
		p.t.Fatal("the task does not listen")
	}
}

// ends waits for a task's end.
func (p *person) ends(taskID string) tasks.Task {
	p.t.Helper()
	sub := p.tasks.Subscribe(p.as(), tasks.Scope{TaskID: taskID})
	defer sub.Close()
	for {
		t, err := p.tasks.Get(p.t.Context(), p.as(), taskID)
		if err != nil {
			p.t.Fatal(err)
		}
		if t.Status.Final() {
			return t
		}
		select {
		case <-sub.Ready():
			sub.Take()
		case <-p.t.Context().Done():
			p.t.Fatal("the test ended before the task")
		}
	}
}

// finished makes a task that has finished, with a file when it has a name.
func (p *person) finished(file, content string) string {
	p.t.Helper()
	taskID := p.gate(file)
	p.tell(taskID, step{end: true, file: content, message: "all of it"})
	if t := p.ends(taskID); t.Status != tasks.StatusFinished {
		p.t.Fatalf("the task ended %s: %s", t.Status, t.Error)
	}
	return taskID
}
