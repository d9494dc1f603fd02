package handlers_test

import (
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"filmroom/handlers"
	"filmroom/tasks"
)

// submitted is a task as the API tells of it, with what a submission may ask for.
type submitted struct {
	taskAnswer
	Lane, PartitionKey string
	LockKey            *string
	Priority           int
	MaxAttempts        int
	Waiting            *struct {
		For    string
		Ahead  int
		Holder *struct {
			TaskID *string
			Name   string
		}
		Lane struct {
			Paused    bool
			ChangedBy *string
			Reason    *string
		}
	}
}

type fields map[string]any

func (p *person) submit(given fields, edits ...edit) *answer {
	p.t.Helper()
	return p.api("POST", "/api/tasks", append([]edit{jsonBody(given)}, edits...)...)
}

func TestAProgramSubmitsATaskAndFindsItWhereItIsTold(t *testing.T) {
	t.Parallel()
	ada := setup(t, options{noRun: true}).person("ada@example.org")
	var made, found submitted
	a := ada.submit(fields{"kind": "gate", "name": "look", "args": fields{"file": "x.zip"}, "priority": 200, "lockKey": "k"}).wants(http.StatusCreated).json(&made)
	if made.Priority != 200 || made.Name != "look" || made.Lane != "test" || made.PartitionKey != ada.user.ID {
		t.Errorf("made %+v", made)
	}
	ada.api("GET", a.response.Header.Get("Location")).wants(http.StatusOK).json(&found)
	if found.TaskID != made.TaskID {
		t.Errorf("Location leads to %q instead of %q", found.TaskID, made.TaskID)
	}
}

func TestARetriedTaskIsTheOneThatEqualSubmissionsFind(t *testing.T) {
	t.Parallel()
	ada := setup(t, options{noRun: true}).person("ada@example.org")
	equal := func(status int) (made submitted) {
		t.Helper()
		ada.submit(fields{"kind": "gate", "args": fields{"file": "a"}, "dedupe": true}).wants(status).json(&made)
		return made
	}
	first := equal(http.StatusCreated)
	path := "/api/tasks/" + first.TaskID
	ada.api("POST", path+"/cancel").wants(http.StatusAccepted)
	ada.api("POST", path+"/retry").wants(http.StatusAccepted)
	if again := equal(http.StatusOK); again.TaskID != first.TaskID {
		t.Errorf("an equal submission makes %s beside the retried %s", again.TaskID, first.TaskID)
	}
	ada.api("POST", path+"/cancel").wants(http.StatusAccepted)
	second := equal(http.StatusCreated)
	if p := ada.api("POST", path+"/retry").problem(http.StatusConflict); !strings.Contains(p.Detail, "equal") {
		t.Errorf("the conflict says %q", p.Detail)
	}
	ada.api("POST", "/api/tasks/"+second.TaskID+"/cancel").wants(http.StatusAccepted)
	ada.api("POST", path+"/retry").wants(http.StatusAccepted)
}

func TestTheSameSubmissionMakesOneTaskEvenAtOnce(t *testing.T) {
	t.Parallel()
	ada := setup(t, options{noRun: true}).person("ada@example.org")
	given := fields{"kind": "gate", "args": fields{"file": "a"}, "idempotencyKey": "k1"}
	ids, statuses := sync.Map{}, make(chan int, 8)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			var got submitted
			a := ada.submit(given).json(&got)
			ids.Store(got.TaskID, true)
			statuses <- a.response.StatusCode
		})
	}
	all.Wait()
	close(statuses)
	created := 0
	for s := range statuses {
		if s == http.StatusCreated {
			created++
		} else if s != http.StatusOK {
			t.Errorf("answered %d", s)
		}
	}
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	if n != 1 || created != 1 {
		t.Errorf("%d tasks, %d of them new", n, created)
	}
	bob := ada.desk.person("bob@example.org")
	bob.submit(given).wants(http.StatusCreated) // a key is one person's
}

// Threat: a key that is used again by mistake silently swallows another piece of work.
func TestAKeyWithAnotherBodyIsRefused(t *testing.T) {
	t.Parallel()
	ada := setup(t, options{noRun: true}).person("ada@example.org")
	given := func(more ...any) fields {
		f := fields{"kind": "gate", "args": fields{"file": "a"}, "idempotencyKey": "k1", "priority": 300}
		for i := 0; i < len(more); i += 2 {
			f[more[i].(string)] = more[i+1]
		}
		return f
	}
	var made submitted
	ada.submit(given()).wants(http.StatusCreated).json(&made)
	for _, other := range []fields{given("args", fields{"file": "b"}), given("name", "other"), given("priority", 301), given("lockKey", "l"),
		given("timeout", "5m"), given("kind", "external", "priority", nil), given("availableAt", "2999-01-01")} {
		if other["availableAt"] != nil {
			other["availableAt"] = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		}
		ada.submit(other).refuses("idempotencyKey")
	}
	ada.submit(given("args", fields{"file": " a "})).wants(http.StatusOK) // canonical arguments are the same
	ada.api("POST", "/api/tasks/"+made.TaskID+"/prioritize", jsonBody(fields{"priority": 500})).wants(http.StatusOK)
	ada.submit(given()).wants(http.StatusOK) // what was moved since is still the answer
}

func TestAnEqualTaskThatHasNotEndedIsTheAnswerWhenAskedSo(t *testing.T) {
	t.Parallel()
	ada := setup(t, options{noRun: true}).person("ada@example.org")
	var one, two, three submitted
	ada.submit(fields{"kind": "gate", "args": fields{"file": "a"}, "dedupe": true}).wants(http.StatusCreated).json(&one)
	ada.submit(fields{"kind": "gate", "args": fields{"file": " a"}, "dedupe": true}).wants(http.StatusOK).json(&two)
	ada.submit(fields{"kind": "gate", "args": fields{"file": "b"}, "dedupe": true}).wants(http.StatusCreated).json(&three)
	if one.TaskID != two.TaskID || one.TaskID == three.TaskID {
		t.Errorf("%s, %s, %s", one.TaskID, two.TaskID, three.TaskID)
	}
}

func TestASubmissionMayWaitForTheEnd(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	var late, done submitted
	ada.api("POST", "/api/tasks?wait=1ms", jsonBody(fields{"kind": "gate", "idempotencyKey": "k"})).wants(http.StatusAccepted).json(&late)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ada.tell(late.TaskID, step{end: true, message: "all"})
	}()
	ada.api("POST", "/api/tasks?wait=60s", jsonBody(fields{"kind": "gate", "idempotencyKey": "k"})).wants(http.StatusOK).json(&done)
	<-ended
	if done.TaskID != late.TaskID || done.Status != "finished" {
		t.Errorf("got %+v", done)
	}
	ada.api("POST", "/api/tasks?wait=2h", jsonBody(fields{"kind": "gate"})).refuses("wait")
	ada.api("POST", "/api/tasks?wait=-1s", jsonBody(fields{"kind": "gate"})).refuses("wait")
}

// Threat: somebody pushes ahead of everybody, takes another's share or lock, or parks work where nobody looks.
func TestPeopleStayWithinTheirBounds(t *testing.T) {
	t.Parallel()
	d := setup(t, options{noRun: true})
	ada, root := d.person("ada@example.org"), d.admin("root@example.org")
	year := time.Now().Add(300 * 24 * time.Hour).UTC().Format(time.RFC3339)
	for _, x := range []struct {
		field string
		value any
	}{
		{"priority", 99}, {"priority", 1001}, {"priority", 0}, {"priority", -5}, {"lane", "import"}, {"partitionKey", root.user.ID}, {"timeout", "2h"},
		{"timeout", "1ms"}, {"timeout", "soon"}, {"maxAttempts", 2}, {"maxAttempts", 0}, {"availableAt", year}, {"availableAt", "tomorrow"},
		{"lockKey", "two words"}, {"idempotencyKey", strings.Repeat("k", 201)}, {"name", strings.Repeat("n", 201)}, {"name", "two\nlines"},
		{"args", []int{1}}, {"args", fields{"nonsense": 1}}, {"args", fields{"file": strings.Repeat("x", 70_000)}}, {"owner", "root@example.org"},
	} {
		ada.submit(fields{"kind": "gate", x.field: x.value}).refuses(x.field)
	}
	root.submit(fields{"kind": "gate", "priority": 1, "lane": "import", "partitionKey": "p", "availableAt": year, "maxAttempts": 9}).wants(http.StatusCreated)
	root.submit(fields{"kind": "gate", "lane": "nowhere"}).refuses("lane")
	var hers, theirs submitted
	ada.submit(fields{"kind": "gate", "lockKey": "deidentify"}).wants(http.StatusCreated).json(&hers)
	root.submit(fields{"kind": "gate", "lockKey": "deidentify"}).wants(http.StatusCreated).json(&theirs)
	if *hers.LockKey == *theirs.LockKey {
		t.Errorf("a person's lock %q stands in the way of others", *hers.LockKey)
	}
	ada.api("POST", "/api/tasks/"+hers.TaskID+"/prioritize", jsonBody(fields{"priority": 99})).refuses("priority")
	ada.page("POST", "/tasks/"+hers.TaskID+"/prioritize", formBody("priority", "1")).wants(http.StatusUnprocessableEntity)
	root.api("POST", "/api/tasks/"+hers.TaskID+"/prioritize", jsonBody(fields{"priority": 1})).wants(http.StatusOK)
}

// Threat: kinds whose other ways in check more than arguments are reached around those checks.
func TestKindsWithAWayInOfTheirOwnAreNotSubmittedHere(t *testing.T) {
	t.Parallel()
	root := setup(t).admin("root@example.org")
	for _, kind := range []string{"import", "bulk", "webhook", "nonsense", ""} {
		root.submit(fields{"kind": kind}).refuses("kind")
	}
}

// Threat: one person fills the desk with work.
func TestAPersonHasABoundedNumberOfUnfinishedTasks(t *testing.T) {
	t.Parallel()
	d := setup(t, options{noRun: true, config: func(c *handlers.Config) { c.MaxUnfinished = 2 }})
	ada, bob := d.person("ada@example.org"), d.person("bob@example.org")
	var first submitted
	ada.submit(fields{"kind": "gate"}).wants(http.StatusCreated).json(&first)
	ada.submit(fields{"kind": "external"}).wants(http.StatusCreated)
	a := ada.submit(fields{"kind": "gate"})
	a.problem(http.StatusTooManyRequests)
	if a.response.Header.Get("Retry-After") == "" {
		t.Error("the refusal does not say how long to wait")
	}
	ada.api("POST", "/api/tasks/bulk", jsonBody(fields{"action": "cancel", "filter": fields{}})).problem(http.StatusTooManyRequests)
	bob.submit(fields{"kind": "gate"}).wants(http.StatusCreated)
	ada.api("POST", "/api/tasks/"+first.TaskID+"/cancel").wants(http.StatusAccepted)
	ada.submit(fields{"kind": "gate"}).wants(http.StatusCreated)
}

// Threat: what the bound keeps out comes in by files, exports and deletions, or from a page.
func TestTheBoundOnUnfinishedTasksHoldsAtEveryDoor(t *testing.T) {
	t.Parallel()
	d := setup(t, options{config: func(c *handlers.Config) { c.MaxUnfinished = 1 }})
	ada, root := d.person("ada@example.org"), d.admin("root@example.org")
	series := ada.study()
	key := header("Idempotency-Key", "drop-1")
	sent := ada.brings(multi("files", slices3()...), key)
	ada.gate("")
	out := jsonBody(fields{"seriesIds": []string{series.SeriesID}, "profile": "basic"})
	for _, a := range []*answer{
		ada.api("POST", "/api/exports", out),
		ada.api("POST", "/api/series", multi("files", slices3()...)),
		ada.api("POST", "/api/series", multi("files", slices3()...), header("Idempotency-Key", "drop-2")),
		ada.api("DELETE", "/api/series/"+series.SeriesID),
	} {
		if a.problem(http.StatusTooManyRequests); a.response.Header.Get("Retry-After") == "" {
			t.Error("a refusal does not say how long to wait")
		}
	}
	for path, form := range map[string]edit{
		"/exports": formBody("seriesIds", series.SeriesID, "profile", "basic"), "/sample": nil,
		"/library/delete": formBody("seriesIds", series.SeriesID, "confirmed", "true"), "/bulk": formBody("action", "cancel"),
	} {
		edits := []edit{htmx}
		if form != nil {
			edits = append(edits, form)
		}
		a := ada.page("POST", path, edits...).wants(http.StatusTooManyRequests)
		if !strings.Contains(string(a.body), "You have 1 unfinished task, which is as many as one may have.") {
			t.Errorf("%s says %s", path, a.body)
		}
	}
	ada.staged(0)
	var again struct{ TaskID string }
	if ada.api("POST", "/api/series", multi("files", slices3()...), key).wants(http.StatusOK).json(&again); again.TaskID != sent.ID {
		t.Error("files that were sent before, and need no room, are refused")
	}
	root.gate("")
	root.brings(multi("files", slices3()...))
}

// Threat: many requests at the same moment all see the last place free.
func TestOfManySubmitsAtOnceNoMoreAreTakenThanAPersonMayHave(t *testing.T) {
	t.Parallel()
	d := setup(t, options{noRun: true, config: func(c *handlers.Config) { c.MaxUnfinished, c.Rate = 3, -1 }})
	ada := d.person("ada@example.org")
	var all sync.WaitGroup
	answers := make(chan int, 24)
	for i := range cap(answers) {
		all.Go(func() {
			given := fields{"kind": "gate"}
			if i%3 == 0 {
				given = fields{"kind": "external"}
			}
			answers <- ada.submit(given).response.StatusCode
		})
	}
	all.Wait()
	close(answers)
	got := map[int]int{}
	for status := range answers {
		got[status]++
	}
	if want := (map[int]int{http.StatusCreated: 3, http.StatusTooManyRequests: 21}); !maps.Equal(got, want) {
		t.Errorf("answers by status: %v, want %v", got, want)
	}
}

func TestATaskIsHeldBackAndLetGo(t *testing.T) {
	t.Parallel()
	ada := setup(t, options{noRun: true}).person("ada@example.org")
	var got submitted
	ada.submit(fields{"kind": "gate"}).json(&got)
	path := "/api/tasks/" + got.TaskID
	ada.api("POST", path+"/resume").problem(http.StatusConflict)
	if ada.api("POST", path+"/pause").wants(http.StatusOK).json(&got); got.Status != "paused" {
		t.Errorf("paused is %q", got.Status)
	}
	if p := ada.api("POST", path+"/pause").problem(http.StatusConflict); p.TaskStatus != "paused" {
		t.Errorf("the refusal tells the status %q", p.TaskStatus)
	}
	ada.api("GET", path).json(&got)
	if got.Waiting == nil || got.Waiting.For != "paused" {
		t.Errorf("waits for %+v", got.Waiting)
	}
	ada.page("POST", "/tasks/"+got.TaskID+"/resume").wants(http.StatusSeeOther)
	ada.page("POST", "/tasks/"+got.TaskID+"/pause", htmx).wants(http.StatusOK)
}

// Threat: why a task waits tells of other people's work.
func TestAnothersTaskThatHoldsALockIsNotTold(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, root := d.person("ada@example.org"), d.admin("root@example.org")
	const lock = "shared"
	held := root.locked(lock)
	root.tell(held, step{message: "secret work"})
	waits := ada.locked(lock)
	var mine, theirs submitted
	ada.api("GET", "/api/tasks/"+waits).json(&mine)
	root.api("GET", "/api/tasks/"+waits).json(&theirs)
	if w := mine.Waiting; w == nil || w.For != "lock" || w.Holder == nil || w.Holder.TaskID != nil || w.Holder.Name != "another person's task" {
		t.Errorf("told %+v", w)
	}
	if w := theirs.Waiting; w == nil || w.Holder == nil || w.Holder.TaskID == nil || *w.Holder.TaskID != held {
		t.Errorf("an administrator is told %+v", w)
	}
	root.tell(held, step{end: true})
	ada.tell(waits, step{end: true})
}

// locked submits a gate under a lock of the desk's own.
func (p *person) locked(key string) string {
	p.t.Helper()
	return must(p.tasks.Submit(p.t.Context(), p.as(), tasks.Spec{Kind: "gate", Name: "a gate", Args: gateArgs{}, LockKey: key})).ID
}

func TestProgramsFollowWhatHasFinished(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, bob := d.person("ada@example.org"), d.person("bob@example.org")
	first, second := ada.finished("", ""), ada.finished("", "")
	bob.finished("", "")
	var page, rest taskList
	ada.api("GET", "/api/tasks/ready?limit=1").wants(http.StatusOK).json(&page)
	if len(page.Items) != 1 || page.Items[0].TaskID != first || page.NextCursor == nil {
		t.Fatalf("got %+v", page)
	}
	ada.api("GET", "/api/tasks/ready?limit=5&cursor="+escape(*page.NextCursor)).json(&rest)
	if len(rest.Items) != 1 || rest.Items[0].TaskID != second || rest.NextCursor != nil {
		t.Errorf("got %+v", rest)
	}
	ada.api("GET", "/api/tasks/ready?updatedSince=2999-01-01").json(&rest)
	if len(rest.Items) != 0 {
		t.Errorf("got %+v", rest)
	}
	end := must(d.tasks.Get(t.Context(), ada.as(), first)).EndedAt
	ada.api("GET", "/api/tasks/ready?updatedSince="+end.Format(time.RFC3339Nano)).json(&rest)
	if len(rest.Items) != 2 {
		t.Errorf("what ended at the very moment is left out: %+v", rest)
	}
}

// Threat: an action on everything reaches other people's tasks, or cannot be taken back.
func TestAnActionOnManyReachesOnesOwnAndCanBeUndone(t *testing.T) {
	t.Parallel()
	d := setup(t, options{noRun: true})
	root := d.admin("root@example.org")
	d.person("ada@example.org").gate("")
	root.gate("")
	root.gate("")
	var made, got submitted
	root.api("POST", "/api/tasks/bulk", jsonBody(fields{"action": "cancel", "filter": fields{"status": []string{"queued"}}})).wants(http.StatusAccepted).json(&made)
	root.api("GET", "/api/tasks/"+made.TaskID).json(&got)
	if got.Name != "Cancel 2 tasks" || got.Status != "queued" {
		t.Errorf("made %+v", got)
	}
	root.api("POST", "/api/tasks/"+made.TaskID+"/cancel").wants(http.StatusAccepted).json(&got)
	if got.Status != "canceled" {
		t.Errorf("undone is %q", got.Status)
	}
	root.api("POST", "/api/tasks/bulk", jsonBody(fields{"action": "destroy", "filter": fields{}})).refuses("action")
	root.api("POST", "/api/tasks/bulk", jsonBody(fields{"action": "cancel"})).refuses("filter")
	root.api("POST", "/api/tasks/bulk", jsonBody(fields{"action": "cancel", "filter": fields{"kind": "nonsense"}})).refuses("filter.kind")
	root.api("GET", "/api/tasks?kind=nonsense").refuses("kind")
	root.api("GET", "/api/tasks?kind=external&limit=0").wants(http.StatusOK)
	root.api("POST", "/api/tasks/bulk", jsonBody(fields{"action": "cancel", "filter": fields{"status": []string{"gone"}}})).refuses("filter.status")
	a := root.page("POST", "/bulk", htmx, formBody("action", "cancel", "status", "queued", "view", "queued")).wants(http.StatusOK)
	if !strings.Contains(string(a.body), "Undo") || a.response.Header.Get("HX-Push-Url") != "/?status=queued" {
		t.Error("the board does not offer Undo")
	}
}

func TestAnActionOnManyEndsWithWhatItDid(t *testing.T) {
	t.Parallel()
	d, later := setupLater(t)
	ada, bob := d.person("ada@example.org"), d.person("bob@example.org")
	running, theirs := ada.gate(""), bob.gate("")
	ada.tell(running, step{message: "runs"})
	done := ada.finished("", "")
	var made struct{ TaskID string }
	ada.api("POST", "/api/tasks/bulk", jsonBody(fields{"action": "cancel", "filter": fields{"kind": "gate"}})).wants(http.StatusAccepted).json(&made)
	later()
	ada.ends(made.TaskID)
	var got struct {
		Status   string
		Progress struct{ Message string }
		Result   struct{ Done, Refused int }
	}
	ada.api("GET", "/api/tasks/"+made.TaskID).wants(http.StatusOK).json(&got)
	if got.Status != "finished" || got.Progress.Message != "1 canceled, 1 could not be" || got.Result.Done != 1 || got.Result.Refused != 1 {
		t.Errorf("ended as %+v", got)
	}
	if end := ada.ends(running); end.Status != tasks.StatusCanceled {
		t.Errorf("what ran ended %s", end.Status)
	}
	if kept := must(d.tasks.Get(t.Context(), ada.as(), done)); kept.Status != tasks.StatusFinished {
		t.Errorf("what had finished is %s", kept.Status)
	}
	bob.tell(theirs, step{end: true}) // nobody canceled it
	bob.ends(theirs)
}
