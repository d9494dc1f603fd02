package e2e_test

import (
	"fmt"
	"net/http"
	"testing"

	cd "github.com/chromedp/chromedp"
)

// setLane changes a lane over the API.
func (p *program) setLane(name string, change map[string]any) {
	p.t.Helper()
	p.want(http.StatusOK, nil, "PATCH", "/api/lanes/"+name, change)
}

func TestAnAdministratorOpensALaneInPlaceAndWaitingWorkStarts(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	root, bob := d.newAdmin("root@example.org"), d.newPerson("bob@example.org")
	root.setLane("import", map[string]any{"capacity": 0, "reason": "the disk is being changed"})
	id := bob.bringIn(study(t, 1, 60, 32))

	his := d.open().signIn("bob@example.org")
	his.visit("/tasks/" + id)
	his.until("why it waits", `document.querySelector("#task-wait .wait-reason")?.textContent.trim()`)
	his.shoot("why it waits")
	his.do(cd.Evaluate[cd.Void](`window.loaded = true`))

	b := d.open().signIn("root@example.org")
	b.visit("/lanes")
	b.until("the waiting task in its lane", `document.querySelector("#lane-import-live").textContent.includes("Waiting")`)
	b.do(cd.Evaluate[cd.Void](`
		window.loaded = true;
		const form = document.querySelector("#lane-import form");
		form.elements.capacity.value = "3";
		form.elements.reason.value = "the disk is in";
		form.querySelector("button").click();`))
	b.until("the new capacity, in place", `window.loaded && document.querySelector("#lane-import form").elements.capacity.value === "3" &&
		document.querySelector("#lane-import-live").textContent.includes("the disk is in")`)
	his.until("his task's end, without a reload", `window.loaded && document.querySelector("#task-head").dataset.status === "finished"`)
	bob.finished(id)
	his.until("no wait any more", `document.querySelector("#task-wait").hidden`)

	for _, l := range root.lanes() {
		if l.Name == "import" && (l.Capacity != 3 || l.Reason != "the disk is in") {
			t.Errorf("the lane is %+v", l)
		}
	}
	b.visit("/audit?action=lane-changed")
	b.until("who changed it and why", `["root@example.org", "import", "the disk is in"].every((text) => document.querySelector("#audit-rows").textContent.includes(text))`)
}

func TestWhoIsNoAdministratorSteersNothing(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	root, bob := d.newAdmin("root@example.org"), d.newPerson("bob@example.org")
	running := root.finished(root.bringIn(study(t, 1, 10, 16))).TaskID
	bob.want(http.StatusForbidden, nil, "PATCH", "/api/lanes/import", map[string]any{"capacity": 0})
	bob.want(http.StatusForbidden, nil, "POST", "/api/lanes/pause", map[string]any{})
	bob.want(http.StatusForbidden, nil, "GET", "/api/users", nil)
	bob.want(http.StatusForbidden, nil, "GET", "/api/audit", nil)
	his := d.open().signIn("bob@example.org")
	his.visit("/lanes")
	his.until("lanes that he may look at", `document.querySelector("#lane-import")`)
	if get[int](his, `document.querySelectorAll(".lane form, #lanes-running, #lanes-failures").length`) != 0 {
		t.Error("he is shown what steers lanes")
	}
	for _, path := range []string{"/users", "/audit"} {
		his.visit(path)
		if status := get[int](his, `performance.getEntriesByType("navigation")[0].responseStatus`); status != http.StatusForbidden {
			t.Errorf("%s answers him %d", path, status)
		}
		if get[bool](his, fmt.Sprintf(`document.documentElement.outerHTML.includes(%q)`, running)) {
			t.Errorf("%s tells him of another's task", path)
		}
	}
}

func TestAnActionOnEverythingThatMatchesIsUndoneWhileItWaits(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	const n = 25 // more than a page
	d := startDesk(t, nil)
	root := d.newAdmin("root@example.org")
	for i := range n {
		root.finished(root.bringIn(study(t, i+1, 1, 16)))
	}
	root.setLane("bulk", map[string]any{"paused": true, "reason": "so that the test has time"})
	total := func() int {
		var page struct{ Total int }
		root.want(http.StatusOK, &page, "GET", "/api/tasks?kind=import&dismissed=false&limit=0", nil)
		return page.Total
	}
	b := d.open().signIn("root@example.org")
	dismiss := func() {
		b.visit("/?status=finished")
		b.until("what acts on all of them", `document.querySelector(".bulk summary")?.textContent.includes("25")`)
		b.do(cd.Evaluate[cd.Void](`
			document.querySelector(".bulk summary").click();
			document.querySelector(".bulk form:has([name=action][value=dismiss]) button").click();`))
		b.until("its row with Undo", `document.querySelector(".bulks [data-key=c]")?.textContent === "Undo"`)
	}
	dismiss()
	b.shoot("undo")
	b.do(cd.Evaluate[cd.Void](`document.querySelector(".bulks [data-key=c]").click()`))
	b.until("it to be gone", `!document.querySelector(".bulks [data-key=c]")`)
	if got := total(); got != n {
		t.Errorf("%d of %d tasks are left after an undo", got, n)
	}
	dismiss()
	root.setLane("bulk", map[string]any{"paused": false})
	eventually(t, "all to be dismissed", func() bool { return total() == 0 })
}
