package handlers_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"filmroom/dicom/tag"
)

// export is a submission that takes one series out.
func export(series seriesAnswer, more fields) fields {
	args := fields{"seriesIds": []string{series.SeriesID}, "profile": "basic", "pixelsReviewed": []string{series.SeriesID}}
	given := fields{"kind": "export", "args": args}
	for name, value := range more {
		if inner, ok := strings.CutPrefix(name, "args."); ok {
			args[inner] = value
		} else {
			given[name] = value
		}
	}
	return given
}

func TestAnExportIsSubmittedWithItsPlaceInTheOrderAndAwaited(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, root := d.person("ada@example.org"), d.admin("root@example.org")
	series := ada.study()
	var done submitted
	given := export(series, fields{"priority": 300, "idempotencyKey": "e1", "args.pseudonyms": fields{series.PatientID: "VOLUNTEER-7"}, "args.name": "trial"})
	a := ada.api("POST", "/api/tasks?wait=60s", jsonBody(given)).wants(http.StatusOK).json(&done)
	if done.Status != "finished" || done.Name != "trial" || done.Lane != "export" || done.Priority != 300 {
		t.Errorf("ended as %+v", done)
	}
	if strings.Contains(string(a.body), series.PatientID) || strings.Contains(string(a.body), "VOLUNTEER-7") {
		t.Errorf("the task tells who is who: %s", a.body)
	}
	for name, d := range ada.images(done.TaskID) {
		if got := valueOf(d, tag.PatientID); got != "VOLUNTEER-7" {
			t.Errorf("%s belongs to %q", name, got)
		}
	}
	var again submitted
	if ada.submit(given).wants(http.StatusOK).json(&again); again.TaskID != done.TaskID {
		t.Error("the same submission made another export")
	}
	if _, out := root.actions("&action=exported&userId=ada@example.org"); len(out.Items) != 1 || out.Items[0].Note != "1 series, profile basic" {
		t.Errorf("that series went out stands in the log as %+v", out.Items)
	}
}

// Threat: what POST /api/exports refuses comes in through the other door.
func TestAnExportIsCheckedAlikeThroughEitherDoor(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, bob := d.person("ada@example.org"), d.person("bob@example.org")
	series := ada.study()
	for field, value := range map[string]any{
		"args.seriesIds": []string{}, "args.profile": "none", "args.images": 3, "args.naming": "x", "args.key": " a ", "args.name": strings.Repeat("n", 201),
		"args.options": "all", "args.pseudonyms": fields{series.PatientID: "a^b"}, "args.blackout": fields{series.SeriesID: [][]int{{1}}},
		"args": []int{1}, "priority": 1, "lane": "import", "name": "two\nlines", "timeout": "1000h",
	} {
		ada.submit(export(series, fields{field: value})).refuses(field)
	}
	ada.submit(fields{"kind": "export"}).refuses("args.profile", "args.seriesIds")
	ada.submit(export(series, fields{"args.profile": "all", "priority": 1})).refuses("args.profile", "priority") // told together
	ada.submit(export(series, fields{"args.key": "trial", "lockKey": "mine"})).refuses("lockKey")
	ada.submit(export(series, fields{"args.seriesIds": []string{nowhere}})).problem(http.StatusNotFound)
	bob.submit(export(series, nil)).problem(http.StatusNotFound)
	p := ada.submit(fields{"kind": "nonsense"}).problem(http.StatusUnprocessableEntity)
	if p.Errors[0].Reason != "must be one of gate, export, external" {
		t.Errorf("an unknown kind is told %q", p.Errors[0].Reason)
	}
}

// Threat: two exports that differ in what is kept secret are taken for one, and a person gets the other's pseudonyms.
func TestOneExportIsMadeOfEqualOnesAndTwoOfDifferent(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, root := d.person("ada@example.org"), d.admin("root@example.org")
	series := ada.study()
	root.api("PATCH", "/api/lanes/export", jsonBody(fields{"capacity": 0})).wants(http.StatusOK)
	var all sync.WaitGroup
	ids := make(chan string, 8)
	for range cap(ids) {
		all.Go(func() {
			var got submitted
			ada.submit(export(series, fields{"idempotencyKey": "k", "args.pseudonymPrefix": "A-"})).json(&got)
			ids <- got.TaskID
		})
	}
	all.Wait()
	close(ids)
	first := <-ids
	for other := range ids {
		if other != first || first == "" {
			t.Errorf("one key made %q and %q", first, other)
		}
	}
	ada.submit(export(series, fields{"idempotencyKey": "k", "args.pseudonymPrefix": "B-"})).refuses("idempotencyKey")
	ada.submit(export(series, fields{"idempotencyKey": "k"})).refuses("idempotencyKey")

	var one, same, other submitted
	ada.submit(export(series, fields{"dedupe": true, "args.pseudonyms": fields{series.PatientID: "X"}})).wants(http.StatusCreated).json(&one)
	ada.submit(export(series, fields{"dedupe": true, "args.pseudonyms": fields{series.PatientID: "X"}})).wants(http.StatusOK).json(&same)
	ada.submit(export(series, fields{"dedupe": true, "args.pseudonyms": fields{series.PatientID: "Y"}})).wants(http.StatusCreated).json(&other)
	if same.TaskID != one.TaskID || other.TaskID == one.TaskID {
		t.Errorf("asked for %s, then %s, then %s", one.TaskID, same.TaskID, other.TaskID)
	}
}

func TestAnExportBeginsWhenItIsToAndNotBefore(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	series := ada.study()
	at := time.Now().Add(400 * time.Millisecond).UTC().Truncate(time.Millisecond)
	var early, done submitted
	given := export(series, fields{"availableAt": at.Format(time.RFC3339Nano), "idempotencyKey": "later"})
	ada.api("POST", "/api/tasks?wait=1ms", jsonBody(given)).wants(http.StatusAccepted).json(&early)
	if early.Status != "queued" {
		t.Errorf("before its time it is %s", early.Status)
	}
	ada.api("POST", "/api/tasks?wait=60s", jsonBody(given)).wants(http.StatusOK).json(&done)
	began := ada.ends(done.TaskID).StartedAt
	if done.TaskID != early.TaskID || done.Status != "finished" || began.Before(at) {
		t.Errorf("%+v began at %v, which is to be %v or later", done, began, at)
	}
}

func TestExportsRunInTheirOrderAndOneAtATimeUnderALock(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, root := d.person("ada@example.org"), d.admin("root@example.org")
	series := ada.study()
	root.api("PATCH", "/api/lanes/export", jsonBody(fields{"capacity": 0})).wants(http.StatusOK)
	var holder, late, soon, waits submitted
	ada.submit(export(series, fields{"priority": 500})).json(&late)
	ada.submit(export(series, fields{"priority": 200})).json(&soon)
	ada.submit(fields{"kind": "gate", "lockKey": "scanner"}).json(&holder)
	ada.tell(holder.TaskID, step{message: "runs"})
	ada.submit(export(series, fields{"lockKey": "scanner", "priority": 100})).json(&waits)
	root.api("PATCH", "/api/lanes/export", jsonBody(fields{"capacity": 1})).wants(http.StatusOK)
	first, second := ada.ends(soon.TaskID), ada.ends(late.TaskID)
	if second.StartedAt.Before(first.StartedAt) {
		t.Errorf("priority 500 started at %v, priority 200 at %v", second.StartedAt, first.StartedAt)
	}
	if ada.api("GET", "/api/tasks/"+waits.TaskID).json(&waits); waits.Waiting == nil || waits.Waiting.For != "lock" {
		t.Errorf("while another task has its lock it waits for %+v", waits.Waiting)
	}
	ada.tell(holder.TaskID, step{end: true})
	if end := ada.ends(waits.TaskID); end.Status != "finished" || end.StartedAt.Before(ada.ends(holder.TaskID).EndedAt) {
		t.Errorf("after the lock was free it ended %s, started at %v", end.Status, end.StartedAt)
	}
}

// Threat: a program that lost the answer sends the same again after the series was deleted, and takes its export for failed.
func TestAnExportSentAgainIsTheSameThoughItsSeriesIsGone(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, bob := d.person("ada@example.org"), d.person("bob@example.org")
	series := ada.study()
	given := export(series, fields{"idempotencyKey": "once", "args.pseudonyms": fields{series.PatientID: "X"}, "args.key": "trial"})
	var first, again submitted
	ada.submit(given).wants(http.StatusCreated).json(&first)
	ada.ends(first.TaskID)
	ada.api("DELETE", "/api/series/"+series.SeriesID+"?wait=60s").wants(http.StatusNoContent)
	if ada.submit(given).wants(http.StatusOK).json(&again); again.TaskID != first.TaskID {
		t.Errorf("sent again it is %s instead of %s", again.TaskID, first.TaskID)
	}
	ada.submit(export(series, fields{"idempotencyKey": "once", "args.pseudonyms": fields{series.PatientID: "Y"}, "args.key": "trial"})).refuses("idempotencyKey")
	ada.submit(export(series, fields{"idempotencyKey": "once"})).refuses("idempotencyKey")
	ada.submit(export(series, fields{"idempotencyKey": "twice"})).problem(http.StatusNotFound)
	ada.submit(export(series, nil)).problem(http.StatusNotFound)
	bob.submit(given).problem(http.StatusNotFound)
}
