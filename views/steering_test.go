package views

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"filmroom/accounts"
	"filmroom/tasks"
)

func TestFailuresThatDifferInNumbersAloneAreOneGroup(t *testing.T) {
	t.Parallel()
	failed := []tasks.Task{
		failedTask(1, "The disk is full: 12 MB are left.", tasks.CauseError), failedTask(2, "The disk is full: 7 MB are left.", tasks.CauseError),
		failedTask(3, "The disk is full: 7 MB are left.", tasks.CausePanic), failedTask(4, "The ZIP ends in the middle.", tasks.CauseError),
	}
	finished := galleryTask("01JOK", tasks.StatusFinished, "fine")
	groups := GroupFailures(append(failed, finished), galleryNow)
	if len(groups) != 3 {
		t.Fatalf("%d groups of three causes: %+v", len(groups), groups)
	}
	first := groups[0]
	if !slices.Equal(first.IDs, []string{"01JF01", "01JF02"}) || first.Retry != "Retry these 2" || first.Sample != "01JF01" || first.Tasks != "2 tasks of 2 people" {
		t.Errorf("the largest group: %+v", first)
	}
	slices.Reverse(failed)
	again := GroupFailures(failed, galleryNow)
	if again[0].Key != first.Key {
		t.Error("the same failures in another order have another key")
	}
}

func TestATaskThatCannotBeRetriedIsShownAndNotCounted(t *testing.T) {
	t.Parallel()
	for _, status := range []tasks.Status{tasks.StatusError, tasks.StatusInterrupted} {
		one := failedTask(1, "why", tasks.CauseError)
		one.Status = status
		g := GroupFailures([]tasks.Task{one}, galleryNow)[0]
		if (len(g.IDs) == 1) != status.Retryable() || (g.Retry != "") != status.Retryable() {
			t.Errorf("%s: %+v", status, g)
		}
	}
}

func TestTheDeskOffersToRetryNothingThatOthersRun(t *testing.T) {
	t.Parallel()
	theirs := failedTask(1, "why", tasks.CauseError)
	theirs.Kind = tasks.ExternalKind
	if g := GroupFailures([]tasks.Task{theirs}, galleryNow)[0]; NewTaskRow(theirs, galleryNow).CanRetry || g.Retry != "" || len(g.IDs) != 0 {
		t.Errorf("%+v", g)
	}
}

func TestHistoryCountsEndsAndWaitsByMinute(t *testing.T) {
	t.Parallel()
	task := func(endedAgo, startedAgo, waited time.Duration) tasks.Task {
		s := galleryNow.Add(-startedAgo)
		return tasks.Task{Lane: "import", CreatedAt: s.Add(-waited), AvailableAt: s.Add(-waited), StartedAt: s, EndedAt: galleryNow.Add(-endedAgo)}
	}
	h := NewLaneHistory(galleryNow, []tasks.Task{
		task(0, 10*time.Second, time.Second), task(59*time.Second, 30*time.Second, 5*time.Second), task(0, 20*time.Second, 3*time.Second),
		task(HistorySpan-time.Millisecond, HistorySpan, time.Hour), task(HistorySpan, 2*HistorySpan, time.Hour), task(-time.Second, -time.Second, 0),
	})["import"]
	if last := len(h.Ended) - 1; h.Ended[last] != 3 || h.Ended[0] != 1 || h.Waited[last] != 3*time.Second || h.Waited[0] != -1 {
		t.Errorf("ended %v, waited %v", h.Ended, h.Waited)
	}
	if len(h.Ended) != historySlots {
		t.Errorf("%d minutes", len(h.Ended))
	}
}

func TestAWaitBeginsWhenTheTaskCouldStart(t *testing.T) {
	t.Parallel()
	scheduled := tasks.Task{Lane: "a", CreatedAt: galleryNow.Add(-time.Hour), AvailableAt: galleryNow.Add(-3 * time.Second), StartedAt: galleryNow.Add(-time.Second)}
	h := NewLaneHistory(galleryNow, []tasks.Task{scheduled})["a"]
	if h.Waited[historySlots-1] != 2*time.Second {
		t.Errorf("a task scheduled for later waited %v", h.Waited[historySlots-1])
	}
}

func TestChartsDrawWithinTheirBox(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]LaneHistory{
		"nothing": {}, "zeros": {Ended: make([]int, 60), Waited: make([]time.Duration, 60)},
		"one": {Ended: []int{0, 9, 0}, Waited: []time.Duration{-1, time.Second, -1}}, "none started": {Waited: []time.Duration{-1, -1}},
	} {
		for _, c := range []Chart{endedChart("x", h), waitedChart("x", h)} {
			if (c.Line == "") != (c.Area == "") || c.Summary == "" {
				t.Errorf("%s: %+v", name, c)
			}
			if strings.Contains(c.Line, "NaN") || strings.Contains(c.Line, "Inf") {
				t.Errorf("%s: %s", name, c.Line)
			}
			for p := range strings.FieldsFuncSeq(c.Line, func(r rune) bool { return r == 'M' || r == 'L' }) {
				var x, y float64
				if _, err := fmt.Sscan(p, &x, &y); err != nil || x < 0 || x > chartWidth || y < 0 || y > chartHeight {
					t.Errorf("%s: point %q lies outside: %v", name, p, err)
				}
			}
		}
	}
}

func TestALanesElementNeedsNoEscapingInASelector(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, name := range []string{"import", "a-b", "a_b", "a b", "A", "é", "", "#x", hostile, "lane"} {
		id := laneDOMID(name)
		if strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Errorf("%q: %q", name, id)
		}
		if other, twice := seen[id]; twice {
			t.Errorf("%q and %q share %q", name, other, id)
		}
		seen[id] = name
	}
}

func TestActionsOnManyAreOfferedWhereTheyMakeSense(t *testing.T) {
	t.Parallel()
	counts := galleryCounts()
	all := tasks.Page{Total: 1204, TotalExact: true}
	failed := []tasks.Status{tasks.StatusError}
	for name, c := range map[string]struct {
		q    BoardQuery
		page tasks.Page
		want []string
	}{
		"without a filter nothing":     {BoardQuery{}, all, nil},
		"one task has its own buttons": {BoardQuery{Statuses: failed}, tasks.Page{Total: 1, TotalExact: true}, nil},
		"failed":                       {BoardQuery{Statuses: failed}, all, []string{"Retry 1,204 that did not succeed", "Dismiss 1,204 that have ended"}},
		"waiting":                      {BoardQuery{Statuses: []tasks.Status{tasks.StatusQueued, tasks.StatusPaused}}, tasks.Page{Total: 5, TotalExact: true}, []string{"Cancel 5 that wait or run"}},
		"a kind":                       {BoardQuery{Kind: "export"}, all, []string{"Cancel 1 that wait or run", "Dismiss 12 that have ended"}},
		"dismissed are not dismissed":  {BoardQuery{Dismissed: true}, all, []string{"Retry 40 that did not succeed"}},
		"searched in failed":           {BoardQuery{Statuses: failed, Words: "zip"}, all, []string{"Retry 1,204 that did not succeed", "Dismiss 1,204 that have ended"}},
		"searched, more than counted":  {BoardQuery{Statuses: failed, Words: "zip"}, tasks.Page{Total: 10000}, []string{"Retry all that did not succeed", "Dismiss all that have ended"}},
		"searched over every status":   {BoardQuery{Words: "zip"}, all, []string{"Cancel all that wait or run", "Retry all that did not succeed", "Dismiss all that have ended"}},
		"the cursor is left out of it": {BoardQuery{Statuses: failed, Cursor: "x"}, all, []string{"Retry 1,204 that did not succeed", "Dismiss 1,204 that have ended"}},
		"nothing that the action fits": {BoardQuery{Statuses: []tasks.Status{tasks.StatusFinished}, Dismissed: true}, all, nil},
	} {
		var got []string
		for _, a := range newBulk(c.q, c.page, counts).Actions {
			got = append(got, a.Word)
			if a.Query.Cursor != "" || len(a.Query.Statuses) == 0 {
				t.Errorf("%s: %s would act on %+v", name, a.Word, a.Query)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAnActionReachesOnlyStatusesThatAllowIt(t *testing.T) {
	t.Parallel()
	for _, a := range newBulk(BoardQuery{Words: "x"}, tasks.Page{Total: 9, TotalExact: true}, nil).Actions {
		for _, s := range a.Query.Statuses {
			fits := map[tasks.BulkAction]bool{tasks.BulkCancel: !s.Final(), tasks.BulkRetry: s.Retryable(), tasks.BulkDismiss: s.Final()}[a.Action]
			if !fits {
				t.Errorf("%s would reach tasks that are %s", a.Action, s)
			}
		}
	}
}

func TestAnActionOnManyCanBeUndoneUntilItBegins(t *testing.T) {
	t.Parallel()
	b := galleryBulk()
	waits, runs := NewTaskRow(b[0], galleryNow), NewTaskRow(b[1], galleryNow)
	if !waits.Undo || !waits.CanCancel || cancelWord(waits) != "Undo" {
		t.Errorf("while it waits: %+v", waits)
	}
	if runs.Undo || cancelWord(runs) != "Cancel" {
		t.Errorf("while it runs: %+v", runs)
	}
}

func TestABulkTaskOnThePageStandsThereOnce(t *testing.T) {
	t.Parallel()
	b := galleryBulk()
	board := NewBoard(galleryFrame(), BoardQuery{}, tasks.Page{Items: b[:1], Total: 1, TotalExact: true}, nil, b...)
	if len(board.Bulks) != 1 || board.Bulks[0].ID != b[1].ID {
		t.Errorf("%+v", board.Bulks)
	}
}

func TestAWaitNamesNobodysTaskToThoseWhoMayNotSeeIt(t *testing.T) {
	t.Parallel()
	w := galleryWaits(galleryFrame())["another"].Wait
	if w.Holder != "" || w.GoTo != "" || !strings.Contains(w.Reason, "another person's task") {
		t.Errorf("%+v", w)
	}
	mine := galleryWaits(galleryFrame())["lock"].Wait
	if mine.Holder != "Import, 500 files" || mine.GoTo != TaskURL("01JCA") || mine.Done != "62 %" {
		t.Errorf("%+v", mine)
	}
}

func TestAWaitSaysWhoAndWhyAndWhen(t *testing.T) {
	t.Parallel()
	waits := galleryWaits(galleryFrame())
	if w := waits["lane"].Wait; w.Reason != "Lane import is paused" || w.Who != "kim@example.org" || w.Why == "" || w.Since.Ago != "12 min ago" || w.Unknown {
		t.Errorf("a paused lane: %+v", w)
	}
	if w := waits["paused"].Wait; w.Who != "ada@example.org" || !w.CanResume || w.CanPause || w.Place != "" {
		t.Errorf("a task held back: %+v", w)
	}
	if w := waits["slot"].Wait; w.Place != "number 6 in lane import" || w.Start.Ago != "in 4 min" || w.Range != "between 3 min and 7 min from now" {
		t.Errorf("behind others: %+v", w)
	}
	if w := waits["next"].Wait; w.Place != "next in lane import" || !w.Unknown {
		t.Errorf("without an estimate: %+v", w)
	}
	if w := waits["rate"].Wait; w.Range != "" || !strings.Contains(w.Reason, "0.5 a second") {
		t.Errorf("a rate: %+v", w)
	}
}

func TestOnlyAdministratorsMayGoBelowTheUsualPriority(t *testing.T) {
	t.Parallel()
	f := galleryFrame()
	task := galleryTask("01J", tasks.StatusQueued, "x")
	admin := NewWait(f, task, tasks.Wait{})
	f.User.Admin = false
	if user := NewWait(f, task, tasks.Wait{}); admin.MinPriority != 1 || user.MinPriority != MinPriority {
		t.Errorf("administrators from %d, others from %d", admin.MinPriority, user.MinPriority)
	}
}

func TestAttemptsJoinJournalFailuresAndLog(t *testing.T) {
	t.Parallel()
	all := galleryAttempts(galleryFrame()).Attempts
	if len(all) != 3 || all[0].Title != "Attempt 3" {
		t.Fatalf("%+v", all)
	}
	if a := all[0]; a.Outcome != "finished" || a.Failed || a.Lasted != "10 s" || len(a.Lines) != 6 {
		t.Errorf("the last: %+v", a)
	}
	if a := all[1]; a.Outcome != "took too long" || !a.Failed || a.Message == "" || len(a.Lines) != 6 {
		t.Errorf("the second: %+v", a)
	}
	running := galleryTasks()[0]
	running.Journal = galleryJournal(running)
	if a := NewAttempts(running, nil, galleryNow)[0]; !a.Open || a.Outcome != "running" || a.Lasted != "7 s" {
		t.Errorf("one that runs: %+v", a)
	}
}

func TestArgumentsReadAsWords(t *testing.T) {
	t.Parallel()
	d := newDocument(json.RawMessage(`{"seriesIds":["a","b"],"keepUIDs":true,"limit":12000,"x":1.5,"none":null,"empty":[],"deep":{"a":1},"big":12345678901234567890}`))
	var got []string
	for _, f := range d.Fields {
		if !f.JSON {
			got = append(got, f.Name+": "+f.Value)
		}
	}
	want := []string{"Series ids: a, b", "Keep UIDs: yes", "Limit: 12,000", "X: 1.5", "None: none", "Empty: none", "Big: 12345678901234567890"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, raw := range []string{"", "null", `"text"`, `[1]`, `{`, `{}`} {
		if d := newDocument(json.RawMessage(raw)); len(d.Fields) != 0 {
			t.Errorf("%s: %+v", raw, d)
		}
	}
}

// A name or an argument with a quote must not become a command of the shell it is pasted into.
func TestCopiedCommandsAreOneWordForTheShell(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell to ask")
	}
	for _, text := range []string{"plain", "it's", "$(echo no)", "`echo no`", "a\\'b", "'; echo no; '", hostile, "two\nlines"} {
		out, err := exec.CommandContext(t.Context(), sh, "-c", "printf %s "+shellQuoted(text)).Output()
		if err != nil || string(out) != text {
			t.Errorf("%q reaches the command as %q: %v", text, out, err)
		}
	}
}

func TestSealedArgumentsAreNotOfferedAgain(t *testing.T) {
	t.Parallel()
	task := galleryTask("01J", tasks.StatusFinished, "x")
	task.Kind, task.Sealed = "reindex", []byte{1}
	for _, c := range newCurls(task, "") {
		if strings.Contains(c.Command, "--json") {
			t.Errorf("%s", c.Command)
		}
	}
}

func TestAnExportsCommandIsWhatTheAPITakes(t *testing.T) {
	t.Parallel()
	task := galleryTask("01J", tasks.StatusFinished, "x")
	task.Kind, task.Sealed = "export", []byte{1}
	task.Args = json.RawMessage(`{"seriesIds":["01S"],"profile":"basic","options":["retainUids"],"images":3}`)
	want := `{"options":{"retainUids":true},"profile":"basic","seriesIds":["01S"]}`
	if said := newCurls(task, ""); len(said) < 2 || !strings.Contains(said[1].Command, shellQuoted(want)) {
		t.Errorf("got %+v", said)
	}
	task.Args = json.RawMessage(`{"seriesIds":["01S"],"profile":"basic","images":3,"naming":"ab"}`) // pseudonyms that the page does not know
	for _, c := range newCurls(task, "") {
		if strings.Contains(c.Command, "--json") {
			t.Errorf("%s", c.Command)
		}
	}
}

func TestTheAuditPagesAddressHoldsItsFilters(t *testing.T) {
	t.Parallel()
	q := AuditQuery{UserID: "01JU1", Action: accounts.ActExported, From: galleryNow, Cursor: "x"}
	if got := q.URL(); got != "/audit?action=exported&cursor=x&from=2026-11-21&userId=01JU1" {
		t.Error(got)
	}
	if got := q.CSVURL(); got != "/api/audit?action=exported&format=csv&from=2026-11-21&userId=01JU1" {
		t.Error(got)
	}
	for page, want := range map[AuditQuery]EmptyCause{{}: NothingYet, q.first(): NothingMatch, {Cursor: "x"}: NothingOnPage} {
		if got := NewAudit(galleryFrame(), page, accounts.AuditPage{}, nil).Empty; got != want {
			t.Errorf("%+v: %d, want %d", page, got, want)
		}
	}
}

func TestEveryActionOfTheLogHasAWord(t *testing.T) {
	t.Parallel()
	for _, a := range accounts.Actions {
		if ActionWord(a) == a {
			t.Errorf("%q is shown as it is stored", a)
		}
	}
}

func TestOnlyAdministratorsAreLedToTheirPages(t *testing.T) {
	t.Parallel()
	f := galleryFrame()
	for _, admin := range []bool{true, false} {
		f.User.Admin = admin
		page := render(t, AccountPage(NewAccount(f, nil, Account{})))
		for _, url := range []string{LanesURL, UsersURL, AuditURL} {
			if strings.Contains(page, `href="`+url+`"`) != admin {
				t.Errorf("administrator %v: a link to %s", admin, url)
			}
		}
	}
}

func TestReadersOfTheLanesSeeNoFormAndNobodysTasks(t *testing.T) {
	t.Parallel()
	parts := galleryLanes()
	page := render(t, LanesPage(NewLanes(Frame{User: Viewer{Email: "ben@example.org"}, Now: galleryNow}, parts)))
	for _, secret := range []string{"lane-form", "lanes-running", "lanes-failures", "Retry these"} {
		if strings.Contains(page, secret) {
			t.Errorf("a page for readers has %q", secret)
		}
	}
}
