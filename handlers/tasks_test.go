package handlers_test

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"testing"

	"filmroom/tasks"
)

func escape(text string) string { return url.QueryEscape(text) }

type taskAnswer struct {
	TaskID, Status, Phase, Name, UserEmail string
	Downloadable                           *string
	IdempotencyKey, Error                  *string
	Retryable, Dismissed                   bool
	Attempt                                int
	Lease                                  map[string]any
	File                                   map[string]any
	Progress                               struct {
		Message    string
		Value, Max int64
	}
	Journal   []struct{ Event, By string }
	CreatedAt string
}

type taskList struct {
	Items      []taskAnswer
	Total      int
	TotalExact bool
	NextCursor *string
}

func TestATaskIsToldWithItsLiveProgressAndItsJournal(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	taskID := ada.gate("")
	ada.tell(taskID, step{phase: "Looking"})
	ada.tell(taskID, step{message: "3 of 7", value: 3, max: 7})
	ada.tell(taskID, step{message: "4 of 7", value: 4, max: 7}) // so the one before has been taken in
	var got taskAnswer
	ada.api("GET", "/api/tasks/"+taskID).wants(http.StatusOK).json(&got)
	if got.Status != "processing" || got.Phase != "Looking" || got.Progress.Value < 3 || got.Progress.Max != 7 {
		t.Errorf("got %+v", got)
	}
	if got.Lease["token"] != nil || got.Lease["owner"] == nil {
		t.Errorf("the lease is told as %v: its token is the right to write the task", got.Lease)
	}
	if got.IdempotencyKey != nil {
		t.Errorf("a key that nobody chose is told: %s", *got.IdempotencyKey)
	}
	if events := eventsOf(got); !slices.Equal(events, []string{"queued", "claimed", "phase"}) {
		t.Errorf("the journal has %v", events)
	}
	if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`).MatchString(got.CreatedAt) {
		t.Errorf("createdAt is %q instead of RFC 3339 with milliseconds", got.CreatedAt)
	}
}

func eventsOf(t taskAnswer) (events []string) {
	for _, e := range t.Journal {
		events = append(events, e.Event)
	}
	return events
}

func TestAListPagesThroughAPersonsOwnTasks(t *testing.T) {
	t.Parallel()
	d := setup(t, options{noRun: true})
	ada, bob := d.person("ada@example.org"), d.person("bob@example.org")
	bob.gate("")
	want := []string{ada.gate(""), ada.gate(""), ada.gate("")}
	slices.Reverse(want)
	var got []string
	for path := "/api/tasks?limit=2"; path != ""; {
		var page taskList
		a := ada.api("GET", path).wants(http.StatusOK).json(&page)
		if page.Total != 3 || !page.TotalExact || a.response.Header.Get("X-Total-Count") != "3" {
			t.Errorf("counted %d of 3, header %q", page.Total, a.response.Header.Get("X-Total-Count"))
		}
		for _, x := range page.Items {
			got = append(got, x.TaskID)
		}
		if path = ""; page.NextCursor != nil {
			path = "/api/tasks?limit=2&cursor=" + escape(*page.NextCursor)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAListFilters(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, root := d.person("ada@example.org"), d.admin("root@example.org")
	ada.finished("", "")
	waiting := ada.gate("")
	for filter, want := range map[string]int{
		"limit=0": 0, "status=finished": 1, "status=finished&status=processing&status=queued": 2, "kind=gate": 2, "kind=import": 0, "lane=test": 2,
		"q=GAT": 2, "q=gate+x": 0, "from=2999-01-01": 0, "to=2999-01-01T00:00:00Z": 2, "dismissed=true": 0, "dismissed=false": 2,
		"sort=-endedAt": 1, "sort=createdAt": 2,
	} {
		var page taskList
		ada.api("GET", "/api/tasks?"+filter).wants(http.StatusOK).json(&page)
		if len(page.Items) != want {
			t.Errorf("%s finds %d tasks instead of %d", filter, len(page.Items), want)
		}
	}
	for owner, want := range map[string]int{"": 0, "owner=*": 2, "owner=ada@example.org": 2, "owner=root@example.org": 0} {
		var page taskList
		root.api("GET", "/api/tasks?"+owner).wants(http.StatusOK).json(&page)
		if len(page.Items) != want {
			t.Errorf("an administrator's %q finds %d tasks instead of %d", owner, len(page.Items), want)
		}
	}
	ada.api("GET", "/api/tasks?owner=*").problem(http.StatusForbidden)
	ada.api("GET", "/api/tasks?owner=root@example.org").problem(http.StatusForbidden)
	ada.api("POST", "/api/tasks/"+waiting+"/cancel").wants(http.StatusAccepted)
}

func TestAnUnknownOrWrongFilterIsRefusedByName(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	for filter, fields := range map[string][]string{
		"staus=finished":        {"staus"},
		"status=done":           {"status"},
		"limit=201":             {"limit"},
		"limit=-1":              {"limit"},
		"limit=ten":             {"limit"},
		"limit=1&limit=2":       {"limit"},
		"from=yesterday":        {"from"},
		"dismissed=maybe":       {"dismissed"},
		"sort=name":             {"sort"},
		"cursor=nonsense":       {"cursor"},
		"a=1&b=2&status=":       {"status", "a", "b"},
		"status=finished;limit": {"query"},
	} {
		ada.api("GET", "/api/tasks?"+filter).refuses(fields...)
	}
	ada.api("GET", "/api/events?since=now").refuses("since")
	setupRoot := ada.admin("root@example.org")
	setupRoot.api("GET", "/api/tasks?owner=nobody@example.org").refuses("owner")
}

func TestARunningTaskIsCanceledAndRetried(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	taskID := ada.gate("")
	ada.tell(taskID, step{message: "under way"})
	ada.api("POST", "/api/tasks/"+taskID+"/cancel").wants(http.StatusAccepted)
	if end := ada.ends(taskID); end.Status != tasks.StatusCanceled {
		t.Fatalf("ended %s", end.Status)
	}
	if p := ada.api("POST", "/api/tasks/"+taskID+"/cancel").problem(http.StatusConflict); p.TaskStatus != "canceled" {
		t.Errorf("the conflict names the status %q", p.TaskStatus)
	}
	var got taskAnswer
	ada.api("GET", "/api/tasks/"+taskID).json(&got)
	if !got.Retryable {
		t.Error("a canceled task is not retryable")
	}
	ada.api("POST", "/api/tasks/"+taskID+"/retry").wants(http.StatusAccepted)
	ada.tell(taskID, step{end: true})
	if end := ada.ends(taskID); end.Status != tasks.StatusFinished {
		t.Errorf("the retry ended %s", end.Status)
	}
	ada.api("POST", "/api/tasks/"+taskID+"/retry").problem(http.StatusConflict)
}

func TestOnlyAnEndedTaskIsDismissed(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	running, ended := ada.gate(""), ada.finished("", "")
	ada.api("PATCH", "/api/tasks/"+running, jsonBody(map[string]bool{"dismissed": true})).problem(http.StatusConflict)
	var got taskAnswer
	ada.api("PATCH", "/api/tasks/"+ended, jsonBody(map[string]bool{"dismissed": true})).wants(http.StatusOK).json(&got)
	if !got.Dismissed {
		t.Error("the task is not dismissed")
	}
	ada.api("PATCH", "/api/tasks/"+ended, jsonBody(map[string]any{})).refuses("dismissed")
	ada.api("PATCH", "/api/tasks/"+ended, jsonBody(map[string]any{"dismissed": "yes"})).refuses("dismissed")
	ada.api("PATCH", "/api/tasks/"+ended, jsonBody(map[string]any{"dismissed": true, "name": "x", "kind": "y"})).refuses("kind", "name")
}

func TestAnErrorReachesItsOwnerAndItsCauseOnlyTheLog(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	taskID := ada.gate("")
	ada.tell(taskID, step{err: tasks.UserError("The archive ends too early.", errors.New("secret /srv/path"))})
	ada.ends(taskID)
	var got taskAnswer
	ada.api("GET", "/api/tasks/"+taskID).json(&got)
	if got.Status != "error" || got.Error == nil || *got.Error != "The archive ends too early." {
		t.Errorf("told %+v", got)
	}
}

func TestALogIsToldLineByLine(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	taskID := ada.finished("", "")
	var got struct {
		Items     []struct{ Text string }
		NextAfter *int64
	}
	ada.api("GET", "/api/tasks/"+taskID+"/log").wants(http.StatusOK).json(&got)
	if got.NextAfter != nil {
		t.Error("a short log says that there is more")
	}
	ada.api("GET", "/api/tasks/"+taskID+"/log?limit=0").refuses("limit")
}
