package handlers_test

import (
	"net/http"
	"strings"
	"testing"
)

// waitingRow is a row of the board, without what stands around it.
func waitingRow(t *testing.T, page, taskID string) string {
	t.Helper()
	_, row, found := strings.Cut(page, `id="task-`+taskID+`"`)
	if !found {
		t.Fatalf("the board does not show %s", taskID)
	}
	row, _, _ = strings.Cut(row, "</li>")
	return row
}

func TestABoardSaysInAFewWordsWhyATaskWaits(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, bob, root := d.person("ada@example.org"), d.person("bob@example.org"), d.admin("root@example.org")
	root.api("PATCH", "/api/lanes/test", jsonBody(fields{"capacity": 1})).wants(http.StatusOK)
	runs := bob.gate("")
	bob.tell(runs, step{message: "runs"})
	var first, second, later submitted
	bob.submit(fields{"kind": "gate", "name": "secret work"}).json(&first)
	ada.submit(fields{"kind": "gate"}).json(&second)
	ada.submit(fields{"kind": "gate", "availableAt": "2999-01-01T00:00:00Z"})
	ada.submit(fields{"kind": "gate", "priority": 500}).json(&later)
	page := string(ada.page("GET", "/").wants(http.StatusOK).body)
	for taskID, want := range map[string]string{second.TaskID: "Waits for a slot in lane test, place 2", later.TaskID: "Waits for a slot in lane test, place 3"} {
		if row := waitingRow(t, page, taskID); !strings.Contains(row, want) {
			t.Errorf("%q is not in %s", want, row)
		}
	}
	if strings.Contains(page, "secret") || strings.Contains(page, first.TaskID) {
		t.Error("another person's task is told")
	}
	l := ada.listen(t, "/events")
	l.until("place 3", func(f frame) bool { return strings.Contains(f.data, "place 3") })
	root.api("POST", "/api/lanes/pause", jsonBody(fields{"reason": "dust"})).wants(http.StatusOK)
	ada.gate("") // news, after which the reasons are told anew
	l.until("Its lane, test, is paused", func(f frame) bool { return strings.Contains(f.data, "Its lane, test, is paused") })
}

func TestABoardOfAKindThatIsNoneSaysSo(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	ada.page("GET", "/?kind=nonsense%3Cb%3E").wants(http.StatusOK).
		shows("There is no kind <bdi>nonsense&lt;b&gt;</bdi>", "The kinds are ", "export, ", "external")
	if page := string(ada.page("GET", "/?kind=export").wants(http.StatusOK).body); strings.Contains(page, "There is no kind") || !strings.Contains(page, "No task matches") {
		t.Error("a kind without tasks is called none")
	}
}

func TestTheMenuOfABoardCountsAsTheStreamDoes(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada := d.person("ada@example.org")
	var ids []string
	for range 3 {
		ids = append(ids, ada.gate(""))
	}
	ada.page("GET", "/?kind=gate").wants(http.StatusOK).shows("Cancel 3 that wait or run")
	l := ada.listen(t, "/events?kind=gate")
	l.until("Cancel 3 that wait or run", func(f frame) bool { return strings.Contains(f.data, "Cancel 3 that wait or run") })
	ada.tell(ids[0], step{end: true})
	l.until("the menu with one that has ended", func(f frame) bool {
		return strings.Contains(f.data, "Cancel 2 that wait or run") && strings.Contains(f.data, "Dismiss 1 that have ended")
	})
	searched := ada.listen(t, "/events?kind=gate&q=gate") // the counters know nothing of words
	if f, _ := searched.next(); strings.Contains(f.data, "bulk-menu") {
		t.Errorf("a search is counted: %s", f.data)
	}
}
