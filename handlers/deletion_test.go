package handlers_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"filmroom/tasks"
)

// seriesIDs are those of a person's library.
func (p *person) seriesIDs() (ids []string) {
	var list seriesList
	p.api("GET", "/api/series").wants(http.StatusOK).json(&list)
	for _, s := range list.Items {
		ids = append(ids, s.SeriesID)
	}
	return ids
}

func TestADeletionThatWaitsIsATaskToLookAt(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada := d.person("ada@example.org")
	series := ada.study()
	d.admin("root@example.org").api("PATCH", "/api/lanes/delete", jsonBody(map[string]any{"capacity": 0, "reason": "held"})).wants(http.StatusOK)
	var got struct{ TaskID string }
	a := ada.api("DELETE", "/api/series/"+series.SeriesID+"?wait=1ms").wants(http.StatusAccepted)
	a.json(&got)
	if where := a.response.Header.Get("Location"); where != "/api/tasks/"+got.TaskID {
		t.Errorf("it is at %q", where)
	}
	ada.api("GET", "/api/series/"+series.SeriesID).wants(http.StatusOK)
	ada.api("DELETE", "/api/series/"+series.SeriesID+"?wait=1h").refuses("wait")
	ada.api("DELETE", "/api/series/"+series.SeriesID+"?x=1").refuses("x")
	d.admin("root2@example.org").api("PATCH", "/api/lanes/delete", jsonBody(map[string]any{"capacity": 1, "reason": "on"})).wants(http.StatusOK)
	if end := ada.ends(got.TaskID); end.Status != tasks.StatusFinished {
		t.Fatalf("ended %s: %s", end.Status, end.Error)
	}
	ada.api("GET", "/api/series/"+series.SeriesID).problem(http.StatusNotFound)
}

func TestSeriesAreDeletedFromTheLibraryOnceThatIsConfirmed(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, bob, root := d.person("ada@example.org"), d.person("bob@example.org"), d.admin("root@example.org")
	series := ada.study()
	ada.page("POST", "/library/delete", htmx, formBody("seriesIds", series.SeriesID)).wants(http.StatusOK).shows("Delete 1 series", "cannot be undone", `name="confirmed"`)
	ada.page("POST", "/library/delete", formBody("seriesIds", series.SeriesID)).wants(http.StatusOK).shows("<!doctype html>", "Delete 1 series")
	ada.page("POST", "/library/delete", formBody("confirmed", "true")).wants(http.StatusOK).shows("Nothing is selected")
	bob.page("POST", "/library/delete", formBody("seriesIds", series.SeriesID, "confirmed", "true")).wants(http.StatusNotFound)
	if ids := ada.seriesIDs(); !slices.Equal(ids, []string{series.SeriesID}) {
		t.Fatalf("before it is confirmed the library has %v", ids)
	}
	a := ada.page("POST", "/library/delete", htmx, formBody("seriesIds", series.SeriesID, "confirmed", "true")).wants(http.StatusOK)
	taskID := strings.TrimPrefix(a.response.Header.Get("HX-Redirect"), "/tasks/")
	if end := ada.ends(taskID); end.Status != tasks.StatusFinished || end.Kind != "delete" || end.Name != "Delete 1 series" {
		t.Fatalf("%s %q ended %s: %s", end.Kind, end.Name, end.Status, end.Error)
	}
	if ids := ada.seriesIDs(); len(ids) != 0 {
		t.Errorf("the library has %v", ids)
	}
	if _, read := root.actions("&action=series-deleted&target=" + series.SeriesID); len(read.Items) != 1 || read.Items[0].Note != "task "+taskID {
		t.Errorf("the audit log says %+v", read.Items)
	}
	ada.page("GET", "/tasks/"+taskID).wants(http.StatusOK).shows("Delete 1 series")
	ada.api("POST", "/api/tasks", jsonBody(map[string]any{"kind": "delete", "args": map[string]any{"seriesIds": []string{series.SeriesID}}})).refuses("kind")
}
