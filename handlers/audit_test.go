package handlers_test

import (
	"encoding/csv"
	"net/http"
	"slices"
	"strings"
	"testing"

	"filmroom/accounts"
)

type auditAnswer struct {
	Items []struct {
		ID, At, UserID, Email, Action, Target, Note, Address string
	}
	NextCursor *string
}

// actions are what the log has, oldest first.
func (p *person) actions(query string) (did []string, all auditAnswer) {
	p.t.Helper()
	p.api("GET", "/api/audit?limit=1000"+query).wants(http.StatusOK).json(&all)
	for _, e := range all.Items {
		did = append(did, e.Action)
	}
	slices.Reverse(did)
	return did, all
}

func TestWhatPeopleDoStandsInTheAuditLog(t *testing.T) {
	t.Parallel()
	d := setup(t)
	root, ada := d.admin("root@example.org"), d.person("ada@example.org")
	series := ada.study()
	taskID := ada.finished("result.zip", "content")
	ada.api("GET", "/api/series/"+series.SeriesID).wants(http.StatusOK)
	ada.page("GET", "/library/series/"+series.SeriesID).wants(http.StatusOK)
	ada.api("GET", "/api/tasks/"+taskID+"/download", header("Range", "bytes=1-")).wants(http.StatusPartialContent)
	ada.api("GET", "/api/tasks/"+series.TaskID+"/receipt").wants(http.StatusOK)
	ada.page("GET", "/tasks/"+series.TaskID).wants(http.StatusOK) // reads it again, within the hour
	ada.api("PUT", "/api/me/webhook", jsonBody(fields{"url": "https://example.org/hook?key=secret"})).wants(http.StatusOK)
	ada.api("DELETE", "/api/me/webhook").wants(http.StatusNoContent)
	ada.api("POST", "/api/tokens", jsonBody(fields{"name": "x"})).wants(http.StatusCreated)
	ada.api("DELETE", "/api/series/"+series.SeriesID).wants(http.StatusNoContent)
	d.send("POST", "/api/session", jsonBody(fields{"email": ada.user.Email, "password": "wrong"})).wants(http.StatusUnauthorized)
	ada.send("DELETE", "/api/session", cookie(ada.cookie)).wants(http.StatusNoContent)
	other := ada.gate("")
	root.api("POST", "/api/tasks/"+other+"/cancel").wants(http.StatusAccepted)
	root.api("PATCH", "/api/lanes/test", jsonBody(fields{"capacity": 3, "reason": "quiet day"})).wants(http.StatusOK)
	did, all := root.actions("&userId=ada@example.org")
	want := []string{"sign-in", "uploaded", "series-viewed", "series-viewed", "downloaded", "receipt-read", "webhook-set", "webhook-set",
		"token-created", "series-deleted", "sign-out"}
	if !slices.Equal(did, want) {
		t.Errorf("the log has\n%v instead of\n%v", did, want)
	}
	for _, e := range all.Items {
		if e.Address != "127.0.0.1" || strings.Contains(e.Target+e.Note, series.PatientName) || strings.Contains(e.Note, "secret") {
			t.Errorf("entry %+v", e)
		}
	}
	if did, _ := root.actions("&userId=" + root.user.ID); !slices.Equal(did, []string{"sign-in", "task-canceled", "lane-changed", "audit-read"}) {
		t.Errorf("the administrator did %v", did)
	}
	if _, failed := root.actions("&action=sign-in-failed"); len(failed.Items) != 1 || failed.Items[0].Email != ada.user.Email {
		t.Errorf("failed sign-ins: %+v", failed)
	}
	if _, set := root.actions("&action=lane-changed&target=test"); len(set.Items) != 1 || set.Items[0].Note != "capacity 3: quiet day" {
		t.Errorf("lanes: %+v", set)
	}
	root.page("GET", "/audit?action=lane-changed&to=2999-01-01").wants(http.StatusOK)
}

// Threat: what people type becomes a formula in the spreadsheet of whoever checks on them.
func TestTheAuditLogAsCSVHoldsNoFormula(t *testing.T) {
	t.Parallel()
	d := setup(t)
	root := d.admin("root@example.org")
	evil := d.admin("=cmd@example.org")
	evil.api("PATCH", "/api/lanes/test", jsonBody(fields{"capacity": 1, "reason": "x"})).wants(http.StatusOK)
	a := root.api("GET", "/api/audit?format=csv").wants(http.StatusOK)
	rows := must(csv.NewReader(strings.NewReader(string(a.body))).ReadAll())
	if len(rows) < 4 || rows[0][0] != "at" || !strings.HasPrefix(a.response.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("got %v", rows)
	}
	for _, row := range rows {
		for _, cell := range row {
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t") {
				t.Errorf("the cell %q is a formula", cell)
			}
		}
	}
}

func TestTheAuditLogIsReadInPages(t *testing.T) {
	t.Parallel()
	root := setup(t).admin("root@example.org")
	for range 5 {
		root.signIn()
	}
	var page auditAnswer
	seen := map[string]bool{}
	for path := "/api/audit?action=sign-in&limit=2"; path != ""; {
		page = auditAnswer{}
		root.api("GET", path).wants(http.StatusOK).json(&page)
		for _, e := range page.Items {
			seen[e.ID] = true
		}
		if path = ""; page.NextCursor != nil {
			path = "/api/audit?action=sign-in&limit=2&cursor=" + *page.NextCursor
		}
	}
	if len(seen) != 6 {
		t.Errorf("saw %d sign-ins", len(seen))
	}
	root.api("GET", "/api/audit?cursor=nonsense").refuses("cursor")
	root.api("GET", "/api/audit?action=nonsense").refuses("action")
	root.api("GET", "/api/audit?userId=nobody@example.org").refuses("userId")
}

// Threat: people without the role manage others, read what they did, or take over their accounts.
func TestPeopleAreManagedByAdministratorsAlone(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, bob := d.person("ada@example.org"), d.person("bob@example.org")
	for _, r := range [][2]string{{"GET", "/api/audit"}, {"POST", "/api/users/" + bob.user.ID + "/password"}, {"POST", "/api/users/" + bob.user.ID + "/sign-out"},
		{"GET", "/api/users/" + bob.user.ID + "/tokens"}, {"DELETE", "/api/users/" + bob.user.ID + "/tokens/" + nowhere}} {
		ada.api(r[0], r[1]).problem(http.StatusForbidden)
	}
	for _, path := range []string{"/users", "/audit", "/users/" + bob.user.ID} {
		ada.page("GET", path).wants(http.StatusForbidden)
	}
	for _, path := range []string{"/users", "/users/" + bob.user.ID + "/password", "/users/" + bob.user.ID + "/disable"} {
		ada.page("POST", path, formBody("email", "x@example.org")).wants(http.StatusForbidden)
	}
	bob.api("GET", "/api/me").wants(http.StatusOK)
}

func TestAnAdministratorTakesAccessAway(t *testing.T) {
	t.Parallel()
	d := setup(t)
	root, bob := d.admin("root@example.org"), d.person("bob@example.org")
	path := "/api/users/" + bob.user.ID
	root.api("POST", path+"/sign-out").wants(http.StatusNoContent)
	bob.page("GET", "/").wants(http.StatusSeeOther)
	bob.api("GET", "/api/me").wants(http.StatusOK) // tokens stay
	var tokens struct{ Items []struct{ ID, Token string } }
	root.api("GET", path+"/tokens").wants(http.StatusOK).json(&tokens)
	if len(tokens.Items) != 1 || tokens.Items[0].Token != "" {
		t.Fatalf("got %+v", tokens)
	}
	root.api("DELETE", path+"/tokens/"+tokens.Items[0].ID).wants(http.StatusNoContent)
	bob.api("GET", "/api/me").problem(http.StatusUnauthorized)
	var made struct{ Password string }
	root.api("POST", path+"/password").wants(http.StatusOK).json(&made)
	signIn := func(password string) *answer {
		return d.send("POST", "/api/session", jsonBody(fields{"email": bob.user.Email, "password": password}))
	}
	signIn(password).wants(http.StatusUnauthorized)
	signIn(made.Password).wants(http.StatusNoContent)
	root.api("POST", "/api/users/"+nowhere+"/password").problem(http.StatusNotFound)
	root.api("POST", "/api/users/"+nowhere+"/sign-out").problem(http.StatusNotFound)
	root.api("GET", "/api/users/"+nowhere+"/tokens").problem(http.StatusNotFound)
	did, _ := root.actions("&userId=" + root.user.ID)
	for _, act := range []string{accounts.ActSignOutEverywhere, accounts.ActTokenRevoked, accounts.ActPasswordReset} {
		if !slices.Contains(did, act) {
			t.Errorf("the log has no %s: %v", act, did)
		}
	}
}

func TestThePagesOfPeopleShowSecretsOnce(t *testing.T) {
	t.Parallel()
	d := setup(t)
	root := d.admin("root@example.org")
	if a := root.page("POST", "/users", formBody("email", "new@example.org", "name", "New")).wants(http.StatusOK); !strings.Contains(string(a.body), "new@example.org") {
		t.Error("the page does not show who was added")
	}
	root.page("POST", "/users", formBody("email", "nonsense")).wants(http.StatusUnprocessableEntity)
	bob := d.person("bob@example.org")
	path := "/users/" + bob.user.ID
	root.page("GET", path).wants(http.StatusOK)
	root.page("POST", path+"/disable").wants(http.StatusSeeOther)
	bob.api("GET", "/api/me").problem(http.StatusUnauthorized)
	root.page("POST", path+"/enable").wants(http.StatusSeeOther)
	root.page("POST", path+"/password").wants(http.StatusOK)
	root.page("POST", path+"/sign-out-everywhere").wants(http.StatusSeeOther)
	root.page("POST", "/users/"+root.user.ID+"/disable").wants(http.StatusUnprocessableEntity)
	if a := root.page("POST", "/account/webhook", formBody("url", "https://example.org/hook")).wants(http.StatusOK); !strings.Contains(string(a.body), "frs_") {
		t.Error("the secret is not shown")
	}
	if a := root.page("GET", "/account").wants(http.StatusOK); strings.Contains(string(a.body), "frs_") || !strings.Contains(string(a.body), "https://example.org/hook") {
		t.Error("the webhook is not shown as it should be")
	}
	root.page("POST", "/account/webhook", formBody("url", "ftp://example.org")).wants(http.StatusUnprocessableEntity)
	root.page("POST", "/account/webhook/clear").wants(http.StatusSeeOther)
	root.api("PUT", "/api/me/webhook", jsonBody(fields{"url": "file:///etc/passwd"})).refuses("url")
	root.api("PUT", "/api/me/webhook", jsonBody(fields{"url": ""})).refuses("url")
}
