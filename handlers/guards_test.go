package handlers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"filmroom/handlers"
	"filmroom/tasks"
	"filmroom/views"
)

const nowhere = "01J00000000000000000000000"

// Threat: ids are guessed, or found in a colleague's screenshot, and the answer tells which of them exist.
func TestWhatIsSomebodyElsesDoesNotExist(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, bob := d.person("ada@example.org"), d.person("bob@example.org")
	series := ada.study()
	taskID := ada.finished("result.zip", "content")
	for _, r := range []struct {
		method, path, theirs string
		body                 edit
	}{
		{"GET", "/api/tasks/%", taskID, nil},
		{"PATCH", "/api/tasks/%", taskID, jsonBody(map[string]bool{"dismissed": true})},
		{"POST", "/api/tasks/%/cancel", taskID, nil},
		{"POST", "/api/tasks/%/retry", taskID, nil},
		{"POST", "/api/tasks/%/pause", taskID, nil},
		{"POST", "/api/tasks/%/resume", taskID, nil},
		{"POST", "/api/tasks/%/prioritize", taskID, jsonBody(map[string]int{"priority": 200})},
		{"POST", "/api/tasks/%/progress", taskID, jsonBody(map[string]int{"value": 1})},
		{"POST", "/api/tasks/%/finish", taskID, jsonBody(map[string]string{"message": "x"})},
		{"GET", "/api/tasks/%/download", taskID, nil},
		{"GET", "/api/tasks/%/receipt", taskID, nil},
		{"GET", "/api/tasks/%/log", taskID, nil},
		{"GET", "/api/series/%", series.SeriesID, nil},
		{"DELETE", "/api/series/%", series.SeriesID, nil},
		{"GET", "/api/series/%/instances", series.SeriesID, nil},
		{"GET", "/api/series/%/preview.png", series.SeriesID, nil},
	} {
		edits := []edit{}
		if r.body != nil {
			edits = append(edits, r.body)
		}
		theirs := bob.api(r.method, strings.Replace(r.path, "%", r.theirs, 1), edits...)
		unknown := bob.api(r.method, strings.Replace(r.path, "%", nowhere, 1), edits...)
		odd := bob.api(r.method, strings.Replace(r.path, "%", "1", 1), edits...)
		theirs.problem(http.StatusNotFound)
		if !bytes.Equal(theirs.body, unknown.body) || !bytes.Equal(odd.body, unknown.body) {
			t.Errorf("%s %s tells what exists: %s, %s, %s", r.method, r.path, theirs.body, unknown.body, odd.body)
		}
	}
	for _, path := range []string{"/tasks/" + taskID, "/library/series/" + series.SeriesID} {
		bob.page("GET", path).wants(http.StatusNotFound)
	}
	bob.page("POST", "/tasks/"+taskID+"/pause").wants(http.StatusNotFound)
	bob.page("POST", "/tasks/"+taskID+"/prioritize", formBody("priority", "200")).wants(http.StatusNotFound)
	bob.page("POST", "/tasks/"+taskID+"/dismiss", formBody("dismissed", "true")).wants(http.StatusNotFound)
	bob.page("POST", "/library/take-out", formBody("seriesIds", series.SeriesID)).wants(http.StatusNotFound)
	var still taskAnswer
	if ada.api("GET", "/api/tasks/"+taskID).json(&still); still.Dismissed {
		t.Error("somebody else dismissed the task")
	}
}

// Threat: a route that was added without thought is open to everybody.
func TestEveryRouteButAFewAsksWhoOneIs(t *testing.T) {
	t.Parallel()
	d := setup(t)
	open := []string{"POST /api/session", "DELETE /api/session", "GET /healthz", "GET /readyz", "GET /openapi.json",
		"GET /login", "POST /login", "POST /logout", "GET /setup", "POST /setup"}
	for _, r := range append(d.server.APIRoutes(), d.server.PageRoutes()...) {
		path := regexp.MustCompile(`:\w+`).ReplaceAllString(r[1], nowhere)
		if slices.Contains(open, r[0]+" "+r[1]) {
			continue
		}
		a := d.send(r[0], path, accept("application/json"))
		if page := !strings.HasPrefix(path, "/api") && path != "/status"; page && r[1] != "" {
			if where := a.wants(http.StatusSeeOther).response.Header.Get("Location"); !strings.HasPrefix(where, "/login?after=") {
				t.Errorf("%s %s leads to %q", r[0], path, where)
			}
			continue
		}
		a.wants(http.StatusUnauthorized)
	}
}

func TestAnAdministratorsRoutesAreTheirsAlone(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	ada.api("GET", "/api/users").problem(http.StatusForbidden)
	ada.api("POST", "/api/users", jsonBody(map[string]any{})).problem(http.StatusForbidden)
	ada.api("PATCH", "/api/users/"+ada.user.ID, jsonBody(map[string]any{})).problem(http.StatusForbidden)
	ada.api("DELETE", "/api/users/"+ada.user.ID).problem(http.StatusForbidden)
}

// Threat: another site's page posts a form or a script to the desk, and the browser adds the cookie.
func TestWritesFromOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	taskID := ada.finished("", "")
	for name, from := range map[string]edit{
		"a browser of today":  header("Sec-Fetch-Site", "cross-site"),
		"a sister domain":     header("Sec-Fetch-Site", "same-site"),
		"an old browser":      header("Origin", "https://evil.example"),
		"an old browser, bis": header("Origin", "null"),
	} {
		t.Run(name, func(t *testing.T) {
			ada.send("POST", "/api/tasks/"+taskID+"/cancel", cookie(ada.cookie), from).problem(http.StatusForbidden)
			ada.send("PATCH", "/api/tasks/"+taskID, cookie(ada.cookie), from, jsonBody(map[string]bool{"dismissed": true})).problem(http.StatusForbidden)
			ada.send("POST", "/logout", cookie(ada.cookie), from).wants(http.StatusForbidden)
			ada.send("POST", "/login", from, formBody("email", ada.user.Email, "password", password)).wants(http.StatusForbidden)
			ada.send("GET", "/api/tasks/"+taskID, cookie(ada.cookie), from).wants(http.StatusOK)
		})
	}
	ada.send("GET", "/api/me", cookie(ada.cookie)).wants(http.StatusOK)
}

// Threat: a token that leaks from a script opens the pages, where it could make more tokens unseen.
func TestATokenOpensNoPage(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	ada.api("GET", "/").wants(http.StatusSeeOther)
	ada.api("GET", "/account").wants(http.StatusSeeOther)
	ada.api("POST", "/account/tokens", formBody("name", "x")).wants(http.StatusSeeOther)
	ada.api("GET", "/events", accept("text/event-stream")).wants(http.StatusUnauthorized)
}

// Threat: a request with a wrong token falls back on whoever's cookie comes with it.
func TestAWrongTokenIsNotMadeGoodByACookie(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	for _, wrong := range []string{"Bearer frm_WRONG", "Bearer ", "Basic YWRhOmFkYQ==", ada.token, "Bearer " + ada.token + "x"} {
		a := ada.send("GET", "/api/me", cookie(ada.cookie), header("Authorization", wrong))
		if a.problem(http.StatusUnauthorized); a.response.Header.Get("WWW-Authenticate") == "" {
			t.Error("the answer does not say how to sign in")
		}
	}
}

// Threat: bodies that fill the memory, or are taken for something else than they are.
func TestBodiesThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	taskID := ada.finished("", "")
	for name, c := range map[string]struct {
		body   edit
		status int
	}{
		"broken JSON":          {body("application/json", `{"dismissed":`), 400},
		"nothing":              {body("application/json", ""), 400},
		"two values":           {body("application/json", `{"dismissed":true}{}`), 400},
		"not an object":        {body("application/json", `[true]`), 422},
		"a form":               {formBody("dismissed", "true"), 415},
		"no media type":        {func(r *http.Request) { jsonBody(map[string]bool{"dismissed": true})(r); r.Header.Del("Content-Type") }, 415},
		"more than a megabyte": {body("application/json", `{"x":"`+strings.Repeat("x", 1<<20)+`"}`), 413},
		"the same, not told so": {func(r *http.Request) {
			body("application/json", `{"x":"`+strings.Repeat("x", 1<<20)+`"}`)(r)
			r.ContentLength = -1
		}, 413},
		"deep nesting": {body("application/json", strings.Repeat(`{"a":`, 20000)+"1"+strings.Repeat("}", 20000)), 400},
	} {
		t.Run(name, func(t *testing.T) {
			ada.api("PATCH", "/api/tasks/"+taskID, c.body).problem(c.status)
		})
	}
}

// Threat: X-Forwarded-For, which anybody can send, gives every attempt to guess a password a new address.
func TestAForgedAddressDoesNotHelpToGuessPasswords(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	status := 0
	for i := range 8 {
		forged := header("X-Forwarded-For", netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}).String())
		a := ada.send("POST", "/api/session", jsonBody(map[string]string{"email": ada.user.Email, "password": "wrong"}), forged)
		if status = a.response.StatusCode; status == http.StatusTooManyRequests {
			if a.problem(status); a.response.Header.Get("Retry-After") == "" {
				t.Error("the refusal does not say how long to wait")
			}
			return
		}
		a.problem(http.StatusUnauthorized)
	}
	t.Errorf("the eighth guess is answered %d", status)
}

func TestATrustedProxysWordOnAddressesCounts(t *testing.T) {
	t.Parallel()
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	ada := setup(t, options{config: func(c *handlers.Config) { c.TrustedProxies = loopback }}).person("ada@example.org")
	for i := range 8 {
		from := header("X-Forwarded-For", "203.0.113.9, "+netip.AddrFrom4([4]byte{203, 0, 113, byte(100 + i)}).String())
		ada.send("POST", "/api/session", jsonBody(map[string]string{"email": ada.user.Email, "password": "wrong"}), from).problem(http.StatusUnauthorized)
	}
}

// Threat: what broke tells strangers of paths, queries and servers.
func TestACauseStandsInTheLogAlone(t *testing.T) {
	t.Parallel()
	secret := errors.New("dial tcp 10.1.2.3:27017: secret")
	ada := setup(t, options{tasks: func(c *tasks.Config) { c.Store = brokenList{c.Store, secret} }}).person("ada@example.org")
	a := ada.api("GET", "/api/tasks")
	p := a.problem(http.StatusInternalServerError)
	requestID := a.response.Header.Get("X-Request-Id")
	if strings.Contains(string(a.body), "secret") || p.Instance != "urn:filmroom:request:"+requestID {
		t.Errorf("told %s", a.body)
	}
	log := ada.log.String()
	if !strings.Contains(log, secret.Error()) || !strings.Contains(log, requestID) {
		t.Error("the log has no cause, or no id that leads to it")
	}
	page := ada.page("GET", "/").wants(http.StatusInternalServerError)
	if strings.Contains(string(page.body), "secret") || !strings.Contains(string(page.body), page.response.Header.Get("X-Request-Id")) {
		t.Error("the page tells the cause, or no id that leads to it")
	}
}

func TestAPanicIsAnsweredAndLogged(t *testing.T) {
	t.Parallel()
	ada := setup(t, options{tasks: func(c *tasks.Config) { c.Store = brokenList{c.Store, nil} }}).person("ada@example.org")
	ada.api("GET", "/api/tasks").problem(http.StatusInternalServerError)
	if !strings.Contains(ada.log.String(), "list panics") {
		t.Error("the log has no panic")
	}
	ada.api("GET", "/api/me").wants(http.StatusOK)
}

// Threat: names and ids in a log that others read.
func TestTheAccessLogHasPatternsAndNoNames(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	taskID := ada.finished("secret-name.zip", "x")
	ada.api("GET", "/api/tasks/"+taskID+"/download").wants(http.StatusOK)
	ada.api("GET", "/api/tasks?q=secretword").wants(http.StatusOK)
	ada.send("GET", "/secret/place").wants(http.StatusNotFound)
	for line := range strings.Lines(ada.log.String()) {
		var entry struct{ Msg, Route string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if entry.Msg == "request" && (strings.Contains(line, "secret") || strings.Contains(line, taskID)) {
			t.Errorf("the log has %s", line)
		}
	}
	if !strings.Contains(ada.log.String(), `"route":"/api/tasks/:taskId/download"`) {
		t.Error("the log does not name the route")
	}
}

// Threat: a page of the desk in another site's frame, scripts smuggled into it, answers kept by a proxy.
func TestPagesAndAnswersAreShutIn(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	first, second := ada.page("GET", "/").wants(200), ada.page("GET", "/").wants(200)
	h := first.response.Header
	for name, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"} {
		if got := h.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	nonce := regexp.MustCompile(`script-src 'nonce-(\w+)' 'strict-dynamic'`).FindStringSubmatch(h.Get("Content-Security-Policy"))
	if nonce == nil || !strings.Contains(string(first.body), `nonce="`+nonce[1]+`"`) {
		t.Errorf("the page's scripts do not have the nonce of %q", h.Get("Content-Security-Policy"))
	}
	if h.Get("Content-Security-Policy") == second.response.Header.Get("Content-Security-Policy") {
		t.Error("two pages have the same nonce")
	}
	if strings.Contains(h.Get("Content-Security-Policy"), "unsafe") {
		t.Error("the policy allows what is unsafe")
	}
	// Over plain HTTP to another machine browsers tell same-origin from cross-site forms by Origin alone, which
	// no-referrer would make null.
	plain := ada.page("GET", "/", func(r *http.Request) { r.Host = "desk.lan:8080" })
	if got := plain.response.Header.Get("Referrer-Policy"); got != "same-origin" {
		t.Errorf("over plain HTTP Referrer-Policy is %q", got)
	}
}

// Threat: a cookie that another site of the domain sets, or that goes over plain HTTP.
func TestOverHTTPSTheCookieIsBoundToTheHost(t *testing.T) {
	t.Parallel()
	ada := setup(t, options{config: func(c *handlers.Config) { c.PublicURL = "https://desk.example.org" }}).person("ada@example.org")
	c := ada.cookie
	if c.Name != "__Host-filmroom" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("the cookie is %+v", c)
	}
	a := ada.send("GET", "/api/me", cookie(c)).wants(http.StatusOK)
	if a.response.Header.Get("Strict-Transport-Security") == "" {
		t.Error("browsers are not told to stay with https")
	}
	ada.send("DELETE", "/api/session", cookie(c), header("Origin", "https://desk.example.org")).wants(http.StatusNoContent)
}

// Threat: a file's name ends the header and begins another, or turns itself around in the person's eyes.
func TestNamesDoNotBreakOutOfADownloadsHeader(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"plain.zip":             `attachment; filename="plain.zip"`,
		"two words.zip":         `attachment; filename="two words.zip"`,
		`say "hi".zip`:          `attachment; filename="say _hi_.zip"; filename*=UTF-8''say%20%22hi%22.zip`,
		"a\r\nSet-Cookie: x=1":  `attachment; filename="a__Set-Cookie: x=1"`,
		"../../etc/passwd":      `attachment; filename=".._.._etc_passwd"`,
		"Ünï 😀.zip":             `attachment; filename="_n_ _.zip"; filename*=UTF-8''%C3%9Cn%C3%AF%20%F0%9F%98%80.zip`,
		"gpj.\u202eexe":         `attachment; filename="gpj._exe"`,
		"bad\xff.zip":           `attachment; filename="bad_.zip"`,
		"50%.zip":               `attachment; filename="50_.zip"; filename*=UTF-8''50%25.zip`,
		"semi;filename=evil.sh": `attachment; filename="semi;filename=evil.sh"`,
	} {
		if got := handlers.Attachment(name); got != want {
			t.Errorf("%q is sent as %s instead of %s", name, got, want)
		}
	}
}

func TestAnEmptyOrPlainCellStaysAsItIs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "CT 1.dcm": "CT 1.dcm", "\t=1": "'\t=1", "\r\n=1": "'\r\n=1", "a\x00=1": "a=1", "\x00=1": "'=1", "1-2": "1-2"} {
		if got := handlers.Inert(text); got != want {
			t.Errorf("%q is written %q instead of %q", text, got, want)
		}
	}
}

// Threat: a link to the sign-in page that sends people to another site afterwards.
func TestNobodyIsSentElsewhereAfterSigningIn(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"/tasks/1?x=1": "/tasks/1?x=1", "https://evil.example/x": "/x", "//evil.example": "/", "///evil.example": "/", `/\evil.example`: "/", "javascript:alert(1)": "/",
		"": "/", "x": "/", "/%2f/evil.example": "/", "/\tx": "/", "https:evil.example": "/",
	} {
		if got := handlers.LocalPath(address); got != want {
			t.Errorf("%q leads to %q instead of %q", address, got, want)
		}
	}
	ada := setup(t).person("ada@example.org")
	a := ada.send("POST", "/login", formBody("email", ada.user.Email, "password", password, "after", "https://evil.example"))
	if where := a.wants(http.StatusSeeOther).response.Header.Get("Location"); where != "/" {
		t.Errorf("signing in leads to %q", where)
	}
}

func TestAMethodThatIsNotThereIsSaid(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	a := ada.api("PUT", "/api/tasks")
	if a.problem(http.StatusMethodNotAllowed); a.response.Header.Get("Allow") == "" {
		t.Error("the methods that there are, are not named")
	}
	ada.page("PUT", views.LibraryURL).wants(http.StatusMethodNotAllowed)
}
