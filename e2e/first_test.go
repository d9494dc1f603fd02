package e2e_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	cd "github.com/chromedp/chromedp"
)

func TestTheFirstLinkMakesTheFirstAccount(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	link := d.setupLink()
	if !strings.HasPrefix(link, d.url+"/setup#") {
		t.Fatalf("the link is %q, want it at %s/setup, its secret in the fragment", link, d.url)
	}
	b := d.open()
	b.visit(link)
	b.until("the secret to leave the address", `location.hash === "" && document.forms[0].elements.token.value.length > 20`)
	b.do(
		cd.SendKeys(cd.CSS("input[name=name]"), "Ada"),
		cd.SendKeys(cd.CSS("input[name=email]"), "ada@example.org"),
		cd.SendKeys(cd.CSS("input[name=password]"), password),
		cd.Click(cd.CSS("button.primary")),
	)
	b.until("the empty board", `document.querySelector("#board[data-empty]")`)
	b.shoot("empty board")

	b.do(cd.Click(cd.CSS(`form[action="/logout"] button`)))
	b.until("the sign-in page", `location.pathname === "/login"`)
	b.signIn("ada@example.org")

	other := d.open()
	other.visit(link)
	if get[bool](other, `!!document.querySelector("input[name=password][autocomplete=new-password]")`) {
		t.Error("the link makes a second first account")
	}
	out := d.command("", "user", "list")
	if !strings.Contains(out, "ada@example.org") || !strings.Contains(out, "admin") {
		t.Errorf("the list on the command line says\n%s", out)
	}
}

func TestASampleStudyForThoseWhoHaveNone(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	p := d.newPerson("ada@example.org")
	b := d.open().signIn("ada@example.org")
	b.do(cd.Click(cd.CSS(`#list form[action="/sample"] button`)))
	b.until("the sample's row", `document.querySelector("#list li[data-task], #task-head")`)
	id := get[string](b, `document.querySelector("#list li[data-task], #task-head").dataset.task`)
	p.finished(id)
	b.visit("/library")
	b.until("its series", `document.querySelectorAll("#series li[data-series]").length > 0`)
	b.until("its picture", `[...document.querySelectorAll("#series img")].every((i) => i.complete && i.naturalWidth > 0)`)
	b.shoot("library")
}

func TestStopIsCleanWithStreamsOpenAndWorkUnderWay(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, settings{"SHUTDOWN_GRACE": "1s"})
	p := d.newPerson("ada@example.org")
	b := d.open().signIn("ada@example.org")
	b.until("a live stream", `document.getElementById("connection").dataset.state === "live"`)
	id := p.bringIn(study(t, 1, 1500, 64))
	p.follow(id, func(e event) bool { return e.Value > 0 })
	d.stop()
	d.start()
	p.finished(id)
	b.until("the page to say that the desk is gone", `document.getElementById("connection").dataset.state !== "live"`)
}

func TestASecondDeskOnTheSameDataIsRefused(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	second := &desk{t: t, binary: d.binary, dir: d.dir, env: d.env}
	if code, out := second.fails(); code != 1 || !strings.Contains(out, "belongs to another running desk") {
		t.Errorf("it ended with %d and said\n%s", code, out)
	}
}

func TestEndingATokenEndsItsStreams(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	p := d.newPerson("ada@example.org")
	reader := &program{t, d, d.command("", "token", "ada@example.org", "--name=reader")}
	ended := reader.listen()
	var tokens struct {
		Items []struct{ ID, Name string }
	}
	p.want(http.StatusOK, &tokens, "GET", "/api/tokens", nil)
	for _, token := range tokens.Items {
		if token.Name == "reader" {
			p.want(http.StatusNoContent, nil, "DELETE", "/api/tokens/"+token.ID, nil)
		}
	}
	ended("its token was deleted")
	if res, _ := reader.do("GET", "/api/me", nil); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("the token still answers %d", res.StatusCode)
	}
}

// The command line is another process: the running desk must notice by itself.
func TestDisablingAnAccountOnTheCommandLineEndsItsStreamsAndSessions(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	ended := d.newPerson("ada@example.org").listen()
	b := d.open().signIn("ada@example.org")
	d.command("", "user", "disable", "ada@example.org")
	ended("its account was disabled")
	b.visit("/library")
	b.until("the sign-in page", `location.pathname === "/login"`)
}

// listen opens the stream of all own tasks. What it returns waits until the desk ends it.
func (p *program) listen() (ended func(why string)) {
	p.t.Helper()
	stream := p.open("GET", "/api/events", nil, "Accept", "text/event-stream")
	if stream.StatusCode != http.StatusOK {
		p.t.Fatalf("the stream answered %d", stream.StatusCode)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		defer stream.Body.Close()
		_, _ = io.Copy(io.Discard, stream.Body) // however it ends, it ends
	}()
	return func(why string) {
		p.t.Helper()
		select {
		case <-drained:
		case <-time.After(patience):
			p.t.Errorf("the stream goes on although %s", why)
		}
	}
}

func TestTheFirstAdministratorFromTheConfiguration(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, settings{"ADMIN_EMAIL": "root@example.org", "ADMIN_PASSWORD": password})
	d.open().signIn("root@example.org")
	if out := d.command("", "user", "list"); !strings.Contains(out, "root@example.org") || !strings.Contains(out, "admin") {
		t.Errorf("the list on the command line says\n%s", out)
	}
	if out := d.output(); strings.Contains(out, "/setup#") {
		t.Errorf("there is a set-up link all the same:\n%s", out)
	}
}

func TestMetricsTellHowMuchButNotOfWhom(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, settings{"METRICS_LISTEN": "127.0.0.1:0"})
	p := d.newPerson("ada@example.org")
	p.finished(p.bringIn(study(t, 1, 10, 16)))
	res, err := http.Get(d.metricsURL())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"filmroom_http_requests_total", "filmroom_streams", "filmroom_attempt_seconds", "filmroom_task_wait_seconds", "filmroom_http_bytes_total", "go_goroutines"} {
		if !strings.Contains(string(body), name) {
			t.Errorf("there is no %s", name)
		}
	}
	for _, secret := range append(secrets, "ada@example.org") {
		if strings.Contains(string(body), secret) {
			t.Errorf("they tell %q", secret)
		}
	}
	if res, _ := p.do("GET", "/metrics", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("the desk itself answers /metrics with %d", res.StatusCode)
	}
}
