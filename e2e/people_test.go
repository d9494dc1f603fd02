package e2e_test

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"
)

func TestTwoPeopleSeeNothingOfEachOther(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	ada, bob := d.newPerson("ada@example.org"), d.newPerson("bob@example.org")
	id := ada.finished(ada.bringIn(study(t, 1, 30, 32))).TaskID
	mine := ada.library()
	export := ada.finished(ada.takeOut(mine[0].SeriesID)).TaskID

	unknown := func(path string) []byte {
		res, body := bob.do("GET", path, nil)
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s answers %d, want 404", path, res.StatusCode)
		}
		return body
	}
	for _, path := range []string{
		"/api/tasks/" + id, "/api/tasks/" + id + "/receipt", "/api/tasks/" + id + "/log", "/api/tasks/" + export + "/download",
		"/api/series/" + mine[0].SeriesID, "/api/series/" + mine[0].SeriesID + "/instances", "/api/series/" + mine[0].SeriesID + "/preview.png",
	} {
		unknown(path)
	}
	// What is somebody else's and what does not exist look the same.
	const nobody = "01JD0000000000000000000000"
	theirs, none := unknown("/api/tasks/"+id), unknown("/api/tasks/"+nobody)
	if !bytes.Equal(bytes.ReplaceAll(theirs, []byte(id), nil), bytes.ReplaceAll(none, []byte(nobody), nil)) {
		t.Errorf("the answers differ:\n%s\n%s", theirs, none)
	}
	for _, action := range []string{"cancel", "retry"} {
		bob.want(http.StatusNotFound, nil, "POST", "/api/tasks/"+id+"/"+action, nil)
	}
	bob.want(http.StatusNotFound, nil, "PATCH", "/api/tasks/"+id, map[string]bool{"dismissed": true})
	bob.want(http.StatusNotFound, nil, "DELETE", "/api/series/"+mine[0].SeriesID, nil)
	bob.want(http.StatusNotFound, nil, "POST", "/api/exports", map[string]any{"seriesIds": []string{mine[0].SeriesID}, "profile": "basic"})
	var list struct {
		Items []task
		Total int
	}
	bob.want(http.StatusOK, &list, "GET", "/api/tasks", nil)
	if len(list.Items) != 0 || list.Total != 0 || len(bob.library()) != 0 {
		t.Errorf("bob sees %d tasks and %d series", list.Total, len(bob.library()))
	}
	if len(ada.library()) != len(mine) {
		t.Error("bob took something away from ada")
	}
}

func TestOnBoardsSideBySideNothingCrosses(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	ada := d.newPerson("ada@example.org")
	bob := d.newPerson("bob@example.org")
	hers, his := d.open().signIn("ada@example.org"), d.open().signIn("bob@example.org")
	his.until("a live stream", `document.getElementById("connection").dataset.state === "live"`)
	id := ada.finished(ada.bringIn(study(t, 1, 100, 32))).TaskID
	hers.until("her news", `document.querySelector("#new a") || `+taskRow(id))
	own := bob.finished(bob.bringIn(study(t, 2, 10, 16))).TaskID
	his.until("his own news", `document.querySelector("#new[data-new='1'] a") || `+taskRow(own))
	if text := get[string](his, "document.documentElement.outerHTML"); bytes.Contains([]byte(text), []byte(id)) {
		t.Error("his page holds her task")
	}
	his.visit("/tasks/" + id)
	if status := get[int](his, `performance.getEntriesByType("navigation")[0].responseStatus`); status != http.StatusNotFound {
		t.Errorf("her task's page answers him %d", status)
	}
	his.shoot("not found")
}

func TestWithoutSignInThereIsNothing(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	d.newPerson("ada@example.org")
	stranger := &program{t, d, "frm_nonsense"}
	for _, path := range []string{"/api/me", "/api/tasks", "/api/events", "/api/series", "/status"} {
		if res, body := stranger.do("GET", path, nil); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("GET %s answers %d: %s", path, res.StatusCode, body)
		}
	}
	res, body := stranger.do("POST", "/api/series", bytes.NewReader(make([]byte, 1<<20)), "Content-Type", "application/zip")
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("an upload answers %d: %s", res.StatusCode, body)
	}
	stranger.token = ""
	for _, path := range []string{"/healthz", "/readyz"} {
		if res, body := stranger.do("GET", path, nil); res.StatusCode != http.StatusOK {
			t.Errorf("GET %s answers %d: %s", path, res.StatusCode, body)
		}
	}
	b := d.open()
	for _, path := range []string{"/", "/library", "/account"} {
		b.visit(path)
		b.until(fmt.Sprintf("the sign-in page instead of %s", path), `location.pathname === "/login"`)
	}
}
