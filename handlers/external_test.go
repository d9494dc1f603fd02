package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"filmroom/handlers"
	"filmroom/imaging"
)

// external begins a task whose work the test does.
func (p *person) external() (path string) {
	p.t.Helper()
	var made submitted
	p.submit(fields{"kind": "external", "name": "a script"}).wants(http.StatusCreated).json(&made)
	return "/api/tasks/" + made.TaskID
}

func TestAScriptReportsABarAndLeavesAFile(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	path := ada.external()
	ada.api("POST", path+"/progress", jsonBody(fields{"message": "Copying", "value": 3, "max": 7, "phase": "Copy"})).wants(http.StatusNoContent)
	ada.api("POST", path+"/progress", jsonBody(fields{"value": 4})).wants(http.StatusNoContent)
	ada.api("POST", path+"/progress", jsonBody(fields{})).wants(http.StatusNoContent)
	var got submitted
	ada.api("GET", path).json(&got)
	if got.Status != "processing" || got.Phase != "Copy" || got.Progress.Message != "Copying" || got.Progress.Value != 4 || got.Progress.Max != 7 {
		t.Errorf("got %+v", got)
	}
	ada.api("POST", path+"/log", jsonBody(fields{"lines": []string{"one", "two"}, "level": "warn"})).wants(http.StatusNoContent)
	if log := ada.api("GET", path+"/log"); !strings.Contains(string(log.body), `"two"`) {
		t.Errorf("the log is %s", log.body)
	}
	ada.api("PUT", path+"/file", body("text/csv", "a,b\r\n"), header("Content-Disposition", `attachment; filename="sums.csv"`)).wants(http.StatusNoContent)
	ada.api("GET", path+"/download").problem(http.StatusConflict)
	ada.api("POST", path+"/finish", jsonBody(fields{"message": "7 copied", "result": fields{"n": 7}})).wants(http.StatusOK).json(&got)
	if got.Status != "finished" || got.Progress.Message != "7 copied" {
		t.Errorf("ended %+v", got)
	}
	ada.api("POST", path+"/progress", jsonBody(fields{"value": 5})).problem(http.StatusConflict)
	if a := ada.api("GET", path+"/download").wants(http.StatusOK); string(a.body) != "a,b\r\n" {
		t.Errorf("the file is %q", a.body)
	}
}

// Threat: what a script leaves is a page that runs in the desk's name.
func TestAnExternalFileIsNeverShownAsAPage(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	path := ada.external()
	ada.api("PUT", path+"/file", body("text/html", "<script>alert(1)</script>"), header("Content-Disposition", `attachment; filename="../../x.html"`)).wants(http.StatusNoContent)
	ada.api("POST", path+"/finish", jsonBody(fields{})).wants(http.StatusOK)
	h := ada.api("GET", path+"/download").wants(http.StatusOK).response.Header
	if !strings.HasPrefix(h.Get("Content-Disposition"), "attachment;") || strings.Contains(h.Get("Content-Disposition"), "/") ||
		!strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox") || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers %v", h)
	}
	other := ada.external()
	ada.api("PUT", other+"/file", body("nonsense", "x")).refuses("Content-Type")
	ada.api("PUT", other+"/file", body("text/plain", "x"), header("Content-Disposition", "attachment")).refuses("Content-Disposition")
}

// Threat: reports move tasks that the desk runs, or that belong to somebody else.
func TestOnlyTheReportersOwnExternalTasksAreReported(t *testing.T) {
	t.Parallel()
	d := setup(t, options{noRun: true})
	ada, bob := d.person("ada@example.org"), d.person("bob@example.org")
	theirs, inside := ada.external(), "/api/tasks/"+ada.gate("")
	for suffix, given := range map[string]edit{"/progress": jsonBody(fields{"value": 1}), "/log": jsonBody(fields{"lines": []string{"x"}}),
		"/finish": jsonBody(fields{}), "/fail": jsonBody(fields{"message": "x"})} {
		bob.api("POST", theirs+suffix, given).problem(http.StatusNotFound)
		ada.api("POST", inside+suffix, given).problem(http.StatusConflict)
	}
	bob.api("PUT", theirs+"/file", body("text/plain", "x")).problem(http.StatusNotFound)
	ada.api("PUT", inside+"/file", body("text/plain", "x")).problem(http.StatusConflict)
}

// Threat: reports without end or bound.
func TestReportsHaveBounds(t *testing.T) {
	t.Parallel()
	ada := setup(t, options{config: func(c *handlers.Config) { c.MaxUpload = 1000 }}).person("ada@example.org")
	path := ada.external()
	ada.api("POST", path+"/progress", jsonBody(fields{"value": -1})).refuses("value")
	ada.api("POST", path+"/log", jsonBody(fields{"lines": make([]string, 101)})).refuses("lines")
	ada.api("POST", path+"/log", jsonBody(fields{"lines": []string{}})).refuses("lines")
	ada.api("POST", path+"/log", jsonBody(fields{"lines": []string{"x"}, "level": "loud"})).refuses("level")
	ada.api("POST", path+"/finish", jsonBody(fields{"result": strings.Repeat("x", 70_000)})).refuses("result")
	ada.api("POST", path+"/fail", jsonBody(fields{"message": " "})).refuses("message")
	ada.api("PUT", path+"/file", body("text/plain", strings.Repeat("x", 2000))).problem(http.StatusRequestEntityTooLarge)
	ada.submit(fields{"kind": "external", "lockKey": "k", "timeout": "5m", "priority": 100}).refuses("priority", "lockKey", "timeout")
}

// Threat: files of external tasks fill the disk, and the database with it.
func TestAnExternalFileLeavesTheDiskItsRoom(t *testing.T) {
	t.Parallel()
	ada := setup(t, options{desk: func(c *imaging.Config) { c.Limits.MinFree = 1 << 60 }}).person("ada@example.org")
	path := ada.external()
	ada.api("PUT", path+"/file", body("text/plain", "x")).problem(http.StatusInsufficientStorage)
	ada.api("POST", path+"/finish", jsonBody(fields{})).wants(http.StatusOK)
	ada.api("GET", path+"/download").problem(http.StatusNotFound)
}

func TestAPersonsCancelReachesTheScript(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	path := ada.external()
	ada.api("POST", path+"/cancel").wants(http.StatusAccepted)
	a := ada.api("POST", path+"/progress", jsonBody(fields{"value": 1})).wants(http.StatusNoContent)
	if a.response.Header.Get("Filmroom-Cancel-Requested") != "true" {
		t.Error("the script is not told")
	}
	var got submitted
	ada.api("POST", path+"/finish", jsonBody(fields{})).wants(http.StatusOK).json(&got)
	if got.Status != "canceled" {
		t.Errorf("ended %q", got.Status)
	}
}
