package handlers_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"filmroom/handlers"
	"filmroom/tasks"
)

type laneAnswer struct {
	Name               string
	Capacity, Queued   int
	Paused             bool
	Rate               float64
	Burst              int
	ChangedBy, Reason  *string
	Processing         int
	OldestQueuedAt     *string
	Scheduled          int
	ChangedAt          *string
	AnythingUnexpected *string
}

func (p *person) lane(name string) laneAnswer {
	p.t.Helper()
	var all []laneAnswer
	p.api("GET", "/api/lanes").wants(http.StatusOK).json(&all)
	for _, l := range all {
		if l.Name == name {
			return l
		}
	}
	p.t.Fatalf("there is no lane %q in %+v", name, all)
	return laneAnswer{}
}

func TestAnAdministratorSteersALaneWhileItRuns(t *testing.T) {
	t.Parallel()
	d := setup(t, options{noRun: true})
	ada, root := d.person("ada@example.org"), d.admin("root@example.org")
	taskID := ada.gate("")
	if l := ada.lane("test"); l.Capacity != 0 || l.Queued != 1 || l.OldestQueuedAt == nil {
		t.Errorf("got %+v", l)
	}
	var set laneAnswer
	root.api("PATCH", "/api/lanes/test", jsonBody(fields{"capacity": 1, "reason": "let it go"})).wants(http.StatusOK).json(&set)
	if set.Capacity != 1 || *set.ChangedBy != root.user.Email || *set.Reason != "let it go" {
		t.Errorf("set %+v", set)
	}
	ada.tell(taskID, step{end: true}) // it started
	root.api("POST", "/api/lanes/pause").wants(http.StatusOK)
	if !ada.lane("test").Paused || !ada.lane("import").Paused {
		t.Error("not all lanes are paused")
	}
	var waits submitted
	ada.api("GET", "/api/tasks/"+ada.gate("")).json(&waits)
	if w := waits.Waiting; w == nil || w.For != "lane" || !w.Lane.Paused || *w.Lane.ChangedBy != root.user.Email {
		t.Errorf("waits for %+v", w)
	}
	root.api("POST", "/api/lanes/resume", jsonBody(fields{"reason": "done"})).wants(http.StatusOK)
	if l := ada.lane("test"); l.Paused || *l.Reason != "done" {
		t.Errorf("resumed %+v", l)
	}
}

// Threat: a lane is set to what stops or floods the desk, or by somebody who may not.
func TestALaneIsSetByAdministratorsAndWithinBounds(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, root := d.person("ada@example.org"), d.admin("root@example.org")
	ada.api("PATCH", "/api/lanes/test", jsonBody(fields{"capacity": 9})).problem(http.StatusForbidden)
	ada.api("POST", "/api/lanes/pause").problem(http.StatusForbidden)
	ada.api("POST", "/api/lanes/resume").problem(http.StatusForbidden)
	ada.page("POST", "/lanes/test/set", formBody("capacity", "9")).wants(http.StatusForbidden)
	ada.page("POST", "/lanes/test/pause", formBody("reason", "x")).wants(http.StatusForbidden)
	ada.page("POST", "/lanes/retry", formBody("key", "x", "until", "1")).wants(http.StatusForbidden)
	for field, value := range map[string]any{"capacity": -1, "rate": -0.5, "burst": 0} {
		root.api("PATCH", "/api/lanes/test", jsonBody(fields{field: value})).refuses(field)
	}
	root.api("PATCH", "/api/lanes/test", jsonBody(fields{"capacity": 1001})).refuses("capacity")
	root.api("PATCH", "/api/lanes/test", jsonBody(fields{"reason": "x"})).refuses("capacity")
	root.api("PATCH", "/api/lanes/nowhere", jsonBody(fields{"capacity": 1})).problem(http.StatusNotFound)
	a := root.page("POST", "/lanes/test/set", htmx, formBody("capacity", "many", "rate", "", "burst", "", "reason", "why")).wants(http.StatusUnprocessableEntity)
	if !strings.Contains(string(a.body), `value="many"`) {
		t.Error("what was typed is lost")
	}
	if l := ada.lane("test"); l.Capacity != 4 || l.Paused || l.ChangedBy != nil {
		t.Errorf("the lane is now %+v", l)
	}
}

func TestThePageOfLanesSteersAndRetries(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, root := d.person("ada@example.org"), d.admin("root@example.org")
	running := ada.external()
	root.page("POST", "/lanes/test/set", formBody("capacity", "3", "rate", "0.5", "burst", "2", "reason", "slow disk")).wants(http.StatusSeeOther)
	if l := ada.lane("test"); l.Capacity != 3 || l.Rate != 0.5 || l.Burst != 2 {
		t.Errorf("set %+v", l)
	}
	root.page("POST", "/lanes/test/pause", htmx, formBody("capacity", "3", "rate", "0.5", "burst", "2", "reason", "")).wants(http.StatusOK)
	page := string(root.page("GET", "/lanes").wants(http.StatusOK).body)
	if !strings.Contains(page, "a script") || !strings.Contains(page, ada.user.Email) {
		t.Error("an administrator does not see what runs")
	}
	if page := string(ada.page("GET", "/lanes").wants(http.StatusOK).body); strings.Contains(page, "a script") {
		t.Error("the page shows everybody's tasks to everybody")
	}
	ada.api("POST", running+"/fail", jsonBody(fields{"message": "x"})).wants(http.StatusOK)
}

// Threat: a lane with an unlucky name cannot be stopped when it has to be.
func TestALaneMayHaveAnyName(t *testing.T) {
	t.Parallel()
	names := []string{"retry", "pause", "resume", "events", "set"}
	d := setup(t, options{tasks: func(c *tasks.Config) {
		for _, name := range names {
			c.Lanes[name] = 1
		}
	}})
	root := d.admin("root@example.org")
	for _, name := range names {
		root.page("POST", "/lanes/"+name+"/set", formBody("capacity", "7", "rate", "", "burst", "", "reason", "")).wants(http.StatusSeeOther)
		root.page("POST", "/lanes/"+name+"/pause", formBody("reason", "stop")).wants(http.StatusSeeOther)
		if l := root.lane(name); l.Capacity != 7 || !l.Paused {
			t.Errorf("from its page %s is set to %+v", name, l)
		}
		root.page("POST", "/lanes/"+name+"/resume", formBody("reason", "")).wants(http.StatusSeeOther)
		root.api("PATCH", "/api/lanes/"+name, jsonBody(fields{"capacity": 8})).wants(http.StatusOK)
		if l := root.lane(name); l.Capacity != 8 || l.Paused {
			t.Errorf("through the API %s is set to %+v", name, l)
		}
	}
}

func TestFailuresThatAreAlikeAreRetriedByATask(t *testing.T) {
	t.Parallel()
	d, later := setupLater(t)
	ada, bob, root := d.person("ada@example.org"), d.person("bob@example.org"), d.admin("root@example.org")
	fail := func(p *person, why string) string {
		taskID := p.gate("")
		p.tell(taskID, step{err: tasks.Permanent(tasks.UserError(why, nil))})
		p.ends(taskID)
		return taskID
	}
	one, two, other := fail(ada, "disk 1 is full at 98%"), fail(bob, "disk 22 is full at 99%"), fail(ada, "the scanner is off")
	page := string(root.page("GET", "/lanes").wants(http.StatusOK).body)
	group := regexp.MustCompile(`(?s)name="key" value="(\w+)".{1,200}name="until" value="(\d+)".{1,200}Retry these 2<`).FindStringSubmatch(page)
	if group == nil || strings.Count(page, `name="until"`) != 2 {
		t.Fatalf("the failures are not in two groups: %s", page)
	}
	a := root.page("POST", "/lanes/retry", htmx, formBody("key", group[1], "until", group[2])).wants(http.StatusOK)
	made := regexp.MustCompile(`/tasks/(\w{26})`).FindStringSubmatch(string(a.body))
	if made == nil {
		t.Fatalf("no task is named: %s", a.body)
	}
	var bulk submitted
	if root.api("GET", "/api/tasks/"+made[1]).json(&bulk); bulk.Name != "Retry 2 failed tasks" || bulk.Status != "queued" {
		t.Errorf("made %+v", bulk)
	}
	if did, _ := root.actions("&action=task-retried"); len(did) != 0 {
		t.Errorf("before anything is retried the log has %v", did)
	}
	later()
	if end := root.ends(made[1]); end.Status != tasks.StatusFinished || end.Progress.Message != "2 retried" {
		t.Errorf("ended %s: %s", end.Status, end.Progress.Message)
	}
	for p, taskID := range map[*person]string{ada: one, bob: two} {
		p.tell(taskID, step{end: true})
		if end := p.ends(taskID); end.Status != tasks.StatusFinished {
			t.Errorf("retried, it ended %s", end.Status)
		}
	}
	if left := must(d.tasks.Get(t.Context(), ada.as(), other)); left.Status != tasks.StatusError {
		t.Errorf("another failure is now %s", left.Status)
	}
	if _, did := root.actions("&action=task-retried&target=" + two); len(did.Items) != 1 || did.Items[0].Note != "by task "+made[1] {
		t.Errorf("the log has %+v", did.Items)
	}
	a = root.page("POST", "/lanes/retry", htmx, formBody("key", group[1], "until", group[2])).wants(http.StatusOK)
	if !strings.Contains(string(a.body), "nothing left") {
		t.Errorf("a second time: %s", a.body)
	}
}

// Threat: what administrators do to other people's tasks cannot be found out afterwards.
func TestEveryMoveOfSomebodyElsesTaskIsAudited(t *testing.T) {
	t.Parallel()
	d := setup(t, options{noRun: true})
	ada, root := d.person("ada@example.org"), d.admin("root@example.org")
	own := root.gate("")
	root.api("POST", "/api/tasks/"+own+"/pause").wants(http.StatusOK) // one's own tasks tell it themselves
	for _, door := range []func(path string, with ...edit){
		func(path string, with ...edit) { root.api("POST", "/api"+path, with...) },
		func(path string, _ ...edit) { root.page("POST", path, formBody("priority", "7")) },
	} {
		path := "/tasks/" + ada.gate("")
		for _, move := range []string{"pause", "resume", "prioritize", "cancel", "retry"} {
			door(path+"/"+move, jsonBody(fields{"priority": 7}))
		}
		root.api("POST", "/api"+path+"/cancel").wants(http.StatusAccepted)
		root.api("PATCH", "/api"+path, jsonBody(fields{"dismissed": true})).wants(http.StatusOK)
		root.page("POST", path+"/dismiss", formBody("dismissed", "false")).wants(http.StatusSeeOther)
		did, _ := root.actions("&target=" + strings.TrimPrefix(path, "/tasks/"))
		want := []string{"task-paused", "task-resumed", "task-prioritized", "task-canceled", "task-retried", "task-canceled", "task-dismissed", "task-dismissed"}
		if !slices.Equal(did, want) {
			t.Errorf("the log has\n%v instead of\n%v", did, want)
		}
	}
	if did, _ := root.actions("&target=" + own); len(did) != 0 {
		t.Errorf("moves of one's own task: %v", did)
	}
}

// Threat: one script asks so often that nobody else is served.
func TestACredentialMayAskSoOftenAndNoMore(t *testing.T) {
	t.Parallel()
	d := setup(t, options{config: func(c *handlers.Config) { c.Rate, c.Burst = 0.001, 3 }})
	ada, bob := d.person("ada@example.org"), d.person("bob@example.org")
	for left := 2; left >= 0; left-- {
		h := ada.api("GET", "/api/me").wants(http.StatusOK).response.Header
		if h.Get("RateLimit-Limit") != "3" || h.Get("RateLimit-Remaining") != string(rune('0'+left)) || h.Get("RateLimit-Reset") == "0" {
			t.Errorf("with %d left told %v", left, h)
		}
	}
	a := ada.api("GET", "/api/me")
	a.problem(http.StatusTooManyRequests)
	if a.response.Header.Get("Retry-After") == "" || a.response.Header.Get("RateLimit-Remaining") != "0" {
		t.Errorf("told %v", a.response.Header)
	}
	ada.api("GET", "/api/tasks/"+nowhere, accept("text/event-stream")).problem(http.StatusTooManyRequests)
	ada.page("GET", "/account").wants(http.StatusOK) // the person is another credential than their token
	bob.api("GET", "/api/me").wants(http.StatusOK)
	ada.cookie = ada.signIn()
	ada.page("GET", "/account").wants(http.StatusOK)
	ada.page("GET", "/account").wants(http.StatusOK)
	ada.page("GET", "/account").wants(http.StatusTooManyRequests) // and all their sessions are one
	d.send("GET", "/healthz").wants(http.StatusOK)
}

// Threat: memory grows with the number of tokens that ever asked, or a credential starts afresh once many others have.
func TestTheRationBookIsBoundedAndForgetsNobodyWhoHasJustAsked(t *testing.T) {
	t.Parallel()
	b := handlers.NewRationBook()
	if !b.Ask("ada") || b.Ask("ada") {
		t.Fatal("a ration of one is not one")
	}
	b.AskAs(handlers.MaxRemembered / 2)
	if b.Ask("ada") {
		t.Error("others' asking gave a credential a new ration")
	}
	b.AskAs(3 * handlers.MaxRemembered)
	if n := b.Size(); n > handlers.MaxRemembered {
		t.Errorf("%d credentials are remembered", n)
	}
}
