package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"filmroom/handlers"
	"filmroom/tasks"
	"filmroom/views"
)

// shows fails the test unless the body has all of these.
func (a *answer) shows(texts ...string) *answer {
	a.t.Helper()
	for _, text := range texts {
		if !strings.Contains(string(a.body), text) {
			a.t.Errorf("%s %s does not show %q: %.2000s", a.request.Method, a.request.URL.Path, text, a.body)
		}
	}
	return a
}

func TestTheFirstAccountIsMadeWithTheSetUpLink(t *testing.T) {
	t.Parallel()
	d := setup(t)
	token, needed, err := d.accounts.SetupToken(t.Context())
	if err != nil || !needed {
		t.Fatal(needed, err)
	}
	d.send("GET", views.SetupURL).wants(http.StatusOK).shows("Make the account")
	// Threat: a stranger who finds the page before the owner does.
	d.send("POST", views.SetupURL, formBody("token", "guess", "name", "", "email", "eve@example.org", "password", password)).wants(http.StatusForbidden)
	d.send("POST", views.SetupURL, formBody("token", token, "name", "", "email", "root@example.org", "password", "short")).
		wants(http.StatusUnprocessableEntity).shows("root@example.org", "Password")
	a := d.send("POST", views.SetupURL, formBody("token", token, "name", "Root", "email", "root@example.org", "password", password)).wants(http.StatusSeeOther)
	d.send("GET", "/", cookie(a.response.Cookies()[0])).wants(http.StatusOK).shows("Board")
	d.send("GET", views.SetupURL).wants(http.StatusSeeOther)
	d.send("POST", views.SetupURL, formBody("token", token, "name", "", "email", "eve@example.org", "password", password)).wants(http.StatusConflict)
}

func TestAPersonSignsInAndComesBackToWhereTheyWere(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	a := ada.send("GET", "/?status=finished", accept("text/html")).wants(http.StatusSeeOther)
	where := a.response.Header.Get("Location")
	ada.send("GET", where).wants(http.StatusOK).shows("Sign in")
	ada.send("POST", "/login", formBody("email", ada.user.Email, "password", "wrong", "after", "/?status=finished")).
		wants(http.StatusUnauthorized).shows(ada.user.Email, "password is wrong", "/?status=finished")
	in := ada.send("POST", "/login", formBody("email", ada.user.Email, "password", password, "after", "/?status=finished")).wants(http.StatusSeeOther)
	if got := in.response.Header.Get("Location"); got != "/?status=finished" {
		t.Errorf("signing in leads to %q", got)
	}
	ada.page("GET", "/login?after=/library").wants(http.StatusSeeOther)
	out := ada.page("POST", "/logout").wants(http.StatusSeeOther)
	if got := out.response.Header.Get("Location"); got != "/login" {
		t.Errorf("signing out leads to %q", got)
	}
	ada.page("GET", "/").wants(http.StatusSeeOther)
}

func TestAPartOfAPageLeadsToSignInAsAWhole(t *testing.T) {
	t.Parallel()
	d := setup(t)
	a := d.send("GET", "/?status=error", htmx, header("HX-Current-URL", d.url+"/?status=error")).wants(http.StatusUnauthorized)
	if got := a.response.Header.Get("HX-Redirect"); got != "/login?after=%2F%3Fstatus%3Derror" {
		t.Errorf("the page is sent to %q", got)
	}
}

func TestTheBoardShowsWhatItsAddressAsksFor(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, bob := d.person("ada@example.org"), d.person("bob@example.org")
	finished, running := ada.finished("result.zip", "x"), ada.gate("")
	bobs := bob.finished("", "")
	all := ada.page("GET", "/").wants(http.StatusOK).shows("task-"+finished, "task-"+running, "hx-sse:connect=\"/events\"")
	if strings.Contains(string(all.body), bobs) {
		t.Error("ada sees bob's task")
	}
	some := ada.page("GET", "/?status=finished&kind=gate&q=&from=&to=&sort=").wants(http.StatusOK).shows("task-" + finished)
	if strings.Contains(string(some.body), "task-"+running) {
		t.Error("the filter lets through what it should not")
	}
	ada.page("GET", "/?status=finishd").wants(http.StatusUnprocessableEntity).shows("must be one of")
	ada.page("GET", "/?colour=red").wants(http.StatusUnprocessableEntity).shows("Colour is not known here")
	ada.page("GET", "/events?colour=red", accept("text/event-stream")).wants(http.StatusUnprocessableEntity)
}

func TestActionsAnswerWithTheTaskAsItThenIs(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	finished, running := ada.finished("", ""), ada.gate("")
	ada.tell(running, step{message: "under way"})
	ada.page("POST", "/tasks/"+running+"/cancel", htmx).wants(http.StatusOK).shows("<hx-partial", "task-"+running, "Cancel")
	if end := ada.ends(running); end.Status != tasks.StatusCanceled {
		t.Errorf("ended %s", end.Status)
	}
	ada.page("POST", "/tasks/"+running+"/cancel", htmx).wants(http.StatusConflict).shows("<hx-partial", "notice-failed", "cannot be canceled")
	ada.page("POST", "/tasks/"+running+"/retry").wants(http.StatusSeeOther)
	ada.page("POST", "/tasks/"+finished+"/dismiss", htmx, formBody("dismissed", "true")).wants(http.StatusOK).shows("Bring back")
	ada.page("POST", "/tasks/"+finished+"/dismiss", htmx, formBody("dismissed", "perhaps")).wants(http.StatusUnprocessableEntity).shows("notice-failed")
	ada.page("POST", "/tasks/"+finished+"/dismiss", htmx).wants(http.StatusUnsupportedMediaType)
	ada.page("GET", "/?dismissed=true").shows("task-" + finished)
}

func TestATasksPageShowsItsReceiptAndSearchesIt(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	end := ada.brings(multi("files", append(slices3(), file{"<b>notes.txt", "no image"})...))
	path := "/tasks/" + end.ID
	ada.page("GET", path).wants(http.StatusOK).shows("Receipt", "CT/0.dcm", "&lt;b&gt;notes.txt", "Journal")
	found := ada.page("POST", path+"/receipt", htmx, formBody("outcome", "not-dicom", "q", "")).wants(http.StatusOK).shows("notes.txt", "receipt-search")
	if strings.Contains(string(found.body), "CT/0.dcm") {
		t.Error("the filter lets through what it should not")
	}
	ada.page("POST", path+"/receipt", formBody("outcome", "", "q", "CT")).wants(http.StatusOK).shows("<!doctype html>", "CT/0.dcm")
	more := ada.page("POST", path+"/receipt", htmx, formBody("outcome", "", "q", "", "after", "1")).wants(http.StatusOK).shows("CT/2.dcm")
	if strings.Contains(string(more.body), "receipt-search") || strings.Contains(string(more.body), "CT/0.dcm") {
		t.Errorf("more rows are %s", more.body)
	}
	ada.page("POST", path+"/receipt", htmx, formBody("outcome", "odd")).wants(http.StatusUnprocessableEntity)
}

func TestTheLibraryIsSearchedAndTakenOutFromByForms(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	series := ada.study()
	ada.page("GET", "/library?modality=CT&from=1990-01-01").wants(http.StatusOK).shows(series.SeriesID)
	ada.page("POST", "/library/search", htmx, formBody("q", "ct", "modality", "", "from", "", "to", "", "sort", "")).wants(http.StatusOK).shows(series.SeriesID)
	ada.page("POST", "/library/search", htmx, formBody("q", "nobody")).wants(http.StatusOK).shows("No series matches")
	ada.page("POST", "/library/search", formBody("q", "ct")).wants(http.StatusOK).shows("<!doctype html>", series.SeriesID)
	ada.page("GET", "/library/series/"+series.SeriesID).wants(http.StatusOK).shows("series-view")
	ada.page("POST", "/library/take-out", htmx, formBody("seriesIds", series.SeriesID)).wants(http.StatusOK).shows("take-out", "before and after")
	ada.page("POST", "/library/take-out", formBody("seriesIds", series.SeriesID)).wants(http.StatusOK).shows("<!doctype html>", "take-out")
	ada.page("POST", "/exports", htmx, formBody("seriesIds", series.SeriesID, "profile", "odd", "name", "trial <A>")).
		wants(http.StatusUnprocessableEntity).shows("Unknown profile: use basic", "trial &lt;A&gt;", series.SeriesID)
	a := ada.page("POST", "/exports", htmx, formBody("seriesIds", series.SeriesID, "profile", "basic", "name", "trial A")).wants(http.StatusOK)
	if where := a.response.Header.Get("HX-Redirect"); !strings.HasPrefix(where, "/tasks/") {
		t.Errorf("taking out leads to %q", where)
	}
	ada.page("POST", "/exports", formBody("seriesIds", series.SeriesID, "profile", "basic", "name", "trial B")).wants(http.StatusSeeOther)
}

func TestTheSampleComesInByAButton(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	a := ada.page("POST", "/sample").wants(http.StatusSeeOther)
	if end := ada.ends(strings.TrimPrefix(a.response.Header.Get("Location"), "/tasks/")); end.Status != tasks.StatusFinished {
		t.Errorf("ended %s: %s", end.Status, end.Error)
	}
}

func TestAPersonKeepsTheirAccount(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	other := ada.signIn()
	ada.page("GET", "/account").wants(http.StatusOK).shows("ada@example.org")
	made := ada.page("POST", "/account/tokens", formBody("name", "nightly")).wants(http.StatusOK).shows("frm_", "nightly")
	if again := ada.page("GET", "/account"); strings.Contains(string(again.body), "frm_") || len(made.body) == 0 {
		t.Error("the token is shown again")
	}
	ada.page("POST", "/account/tokens", formBody("name", "")).wants(http.StatusUnprocessableEntity).shows("Name")
	var tokens struct{ Items []struct{ ID, Name string } }
	ada.api("GET", "/api/tokens").json(&tokens)
	for _, token := range tokens.Items {
		if token.Name == "nightly" {
			ada.page("POST", views.TokenDeleteURL(token.ID)).wants(http.StatusSeeOther)
		}
	}
	const next = "another long password"
	ada.page("POST", "/account/password", formBody("username", "ada@example.org", "current", "wrong", "password", next)).wants(http.StatusUnprocessableEntity).shows("present password is wrong")
	ada.page("POST", "/account/password", formBody("username", "ada@example.org", "current", password, "password", "short")).wants(http.StatusUnprocessableEntity)
	ada.page("POST", "/account/password", formBody("username", "ada@example.org", "current", password, "password", next)).wants(http.StatusOK).shows("password is changed")
	ada.page("GET", "/account").wants(http.StatusOK)
	ada.send("GET", "/api/me", cookie(other)).problem(http.StatusUnauthorized)
	out := ada.page("POST", "/account/sign-out-everywhere").wants(http.StatusSeeOther)
	if where := out.response.Header.Get("Location"); where != "/login" {
		t.Errorf("leads to %q", where)
	}
	ada.send("GET", "/api/me", cookie(ada.cookie)).problem(http.StatusUnauthorized)
}

func TestAssetsAreServedToAnybody(t *testing.T) {
	t.Parallel()
	d := setup(t)
	a := d.send("GET", "/assets/nothing.js")
	a.wants(http.StatusNotFound)
	if a.response.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Error("an asset may be taken for something else")
	}
}

func TestAServerThatLacksWhatItNeedsIsNotMade(t *testing.T) {
	t.Parallel()
	if _, err := handlers.New(handlers.Config{}); err == nil {
		t.Error("a server without anything behind it was made")
	}
}
