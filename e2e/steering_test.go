package e2e_test

import (
	"fmt"
	"testing"

	cd "github.com/chromedp/chromedp"
)

// fill types into a form's fields and presses the button that reads so, as a person would.
func (b *tab) fill(form string, fields map[string]string, button string) {
	b.t.Helper()
	for name, value := range fields {
		get[bool](b, fmt.Sprintf(`(document.querySelector(%s).elements[%s].value = %s, true)`, quoted(form), quoted(name), quoted(value)))
	}
	get[bool](b, fmt.Sprintf(`([...document.querySelectorAll(%s + " button")].find((b) => b.textContent.trim() === %s).click(), true)`, quoted(form), quoted(button)))
}

func (b *tab) reads(what, selector, text string) {
	b.t.Helper()
	b.until(what, fmt.Sprintf(`document.querySelector(%s)?.textContent.includes(%s)`, quoted(selector), quoted(text)))
}

func TestAdministratorsSteerALaneAndItsTasksSayWhy(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	d.newAdmin("kim@example.org")
	ben := d.newPerson("ben@example.org")
	kim, his := d.open().signIn("kim@example.org"), d.open().signIn("ben@example.org")

	kim.visit("/lanes")
	kim.until("a live stream", `document.getElementById("connection").dataset.state === "live"`)
	kim.fill("#lane-import form", map[string]string{"reason": "the disk is exchanged"}, "Pause")
	kim.until("the lane to read paused", `document.querySelector("#lane-import-live[data-state=paused]")`)
	kim.reads("who and why", "#lane-import .lane-changed", "the disk is exchanged")
	id := ben.bringIn(study(t, 1, 20, 32))
	kim.reads("the task that waits", "#lane-import-live .figures-line dd", "1")

	his.visit("/tasks/" + id)
	his.reads("the reason", "#task-wait", "Lane import is paused")
	his.reads("who paused it", "#task-wait", "kim@example.org")
	his.reads("why", "#task-wait", "the disk is exchanged")
	his.shoot("waits")

	kim.fill("#lane-import form", map[string]string{"capacity": "5000"}, "Change")
	kim.until("the form to refuse it", `!document.querySelector("#lane-import form").checkValidity()`)
	kim.fill("#lane-import form", map[string]string{"capacity": "3", "reason": "more at once"}, "Change")
	kim.reads("the new capacity", "#lane-import .lane-state", "3 at once")
	kim.fill("#lane-import form", nil, "Resume")
	kim.until("the lane to go on", `!document.querySelector("#lane-import-live[data-state=paused]")`)
	ben.finished(id)
	his.until("the end on his page", `document.querySelector("#task-head[data-status=finished]") && document.querySelector("#task-wait").hidden`)
}

func TestAdministratorsManagePeopleAndReadWhatTheyDid(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	d.newAdmin("kim@example.org")
	kim := d.open().signIn("kim@example.org")
	kim.visit("/users")
	kim.fill("form.stack", map[string]string{"email": "cleo@example.org", "name": "Cleo"}, "Add")
	kim.until("a password, once", `document.querySelector(".secret input")?.value.length > 9`)
	made := get[string](kim, `document.querySelector(".secret input").value`)

	cleo := d.open()
	cleo.visit("/login")
	cleo.fill("main form", map[string]string{"email": "cleo@example.org", "password": made}, "Sign in")
	cleo.until("her board", `document.getElementById("board")`)
	for _, path := range []string{"/users", "/audit"} {
		cleo.visit(path)
		if status := get[int](cleo, `performance.getEntriesByType("navigation")[0].responseStatus`); status != 403 && status != 404 {
			t.Errorf("%s answers somebody who is no administrator %d", path, status)
		}
	}
	kim.visit("/audit")
	kim.reads("that she was added", "#audit-rows", "Added a user")
	kim.reads("that she signed in", "#audit-rows", "cleo@example.org")
	kim.do(cd.Evaluate[cd.Void](`(() => { const s = document.querySelector("[name=action]"); s.value = "user-added"; s.dispatchEvent(new Event("change", {bubbles: true})); })()`))
	kim.until("the filter in the address", `location.search === "?action=user-added" && !document.querySelector("#audit-rows").textContent.includes("Signed in")`)
}

func TestTheSteeringPagesAreAccessibleInBothThemesAndOnAPhone(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	kim := d.newAdmin("kim@example.org")
	var me struct{ UserID string }
	kim.want(200, &me, "GET", "/api/me", nil)
	for i := range 2 {
		var failed task
		kim.want(201, &failed, "POST", "/api/tasks", map[string]any{"kind": "external", "name": "Nightly report"})
		kim.want(200, nil, "POST", "/api/tasks/"+failed.TaskID+"/fail", map[string]any{"message": fmt.Sprintf("The archive was silent for %d min.", i+3)})
	}
	b := d.open().signIn("kim@example.org")
	b.visit("/lanes")
	b.fill("#lane-export form", map[string]string{"reason": "later"}, "Pause")
	b.until("the pause", `document.querySelector("#lane-export-live[data-state=paused]")`)
	kim.finished(kim.bringIn(study(t, 1, 4, 32)))
	waits := kim.takeOut(kim.library()[0].SeriesID)
	b.visit("/lanes")
	b.reads("failures that are alike, as one", "#lanes-failures .row", "2 tasks")
	for name, path := range map[string]string{
		"lanes": "/lanes", "users": "/users", "user": "/users/" + me.UserID, "audit": "/audit", "audit, nothing matches": "/audit?action=exported&from=2001-01-01&to=2001-01-02",
		"a task that waits": "/tasks/" + waits, "a filtered board": "/?status=error", "account": "/account",
	} {
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			b.do(cd.EmulateViewport(1280, 900))
			b.visit(path)
			b.do(cd.Evaluate[cd.Void](`document.querySelectorAll("main details").forEach((d) => { d.open = true; })`))
			b.shoot(name + " " + theme)
			for _, found := range b.axe() {
				t.Errorf("%s, %s: %s", name, theme, found)
			}
			b.do(cd.EmulateViewport(360, 740))
			if over := b.overflow(); over != "" {
				t.Errorf("%s at 360 px is too wide by %s", name, over)
			}
			b.shoot(name + " " + theme + " narrow")
		}
	}
}
