package handlers_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"filmroom/accounts"
	"filmroom/handlers"
	"filmroom/tasks"
)

type tokenAnswer struct{ ID, Name, Token string }

func TestSigningInAndOut(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	c := ada.cookie
	if c.Name != "filmroom" || !c.HttpOnly || c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" {
		t.Errorf("the cookie is %+v", c)
	}
	var me struct {
		UserID, Email string
		Admin         bool
	}
	ada.send("GET", "/api/me", cookie(c)).wants(http.StatusOK).json(&me)
	if me.UserID != ada.user.ID || me.Email != ada.user.Email || me.Admin {
		t.Errorf("me is %+v", me)
	}
	ada.send("DELETE", "/api/session", cookie(c)).wants(http.StatusNoContent)
	ada.send("GET", "/api/me", cookie(c)).problem(http.StatusUnauthorized)
	ada.send("DELETE", "/api/session").wants(http.StatusNoContent)
	ada.send("POST", "/api/session", jsonBody(map[string]string{"email": ada.user.Email, "password": "wrong"})).problem(http.StatusUnauthorized)
	ada.send("POST", "/api/session", jsonBody(map[string]string{"email": "nobody@example.org", "password": password})).problem(http.StatusUnauthorized)
	ada.send("POST", "/api/session", jsonBody(map[string]string{"user": "x"})).refuses("user")
}

// Threat: a cookie is planted in a browser beforehand, and somebody signs in with it.
func TestSigningInMakesANewSession(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	a := ada.send("POST", "/login", cookie(ada.cookie), formBody("email", ada.user.Email, "password", password)).wants(http.StatusSeeOther)
	if fresh := a.response.Cookies()[0]; fresh.Value == ada.cookie.Value {
		t.Error("the old cookie goes on")
	}
	ada.send("GET", "/api/me", cookie(ada.cookie)).problem(http.StatusUnauthorized)
	planted := &http.Cookie{Name: "filmroom", Value: "planted"}
	a = ada.send("POST", "/login", cookie(planted), formBody("email", ada.user.Email, "password", password)).wants(http.StatusSeeOther)
	if a.response.Cookies()[0].Value == "planted" {
		t.Error("a planted cookie is signed in")
	}
}

func TestASessionEndsByItself(t *testing.T) {
	t.Parallel()
	d := setup(t, options{config: func(c *handlers.Config) { c.SessionTTL = time.Nanosecond }})
	ada := d.person("ada@example.org")
	ada.send("GET", "/api/me", cookie(ada.cookie)).problem(http.StatusUnauthorized)
}

func TestATokenIsShownOnceAndEnds(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, bob := d.person("ada@example.org"), d.person("bob@example.org")
	var made tokenAnswer
	ada.api("POST", "/api/tokens", jsonBody(map[string]string{"name": "nightly"})).wants(http.StatusCreated).json(&made)
	with := header("Authorization", "Bearer "+made.Token)
	ada.send("GET", "/api/me", with).wants(http.StatusOK)
	list := ada.api("GET", "/api/tokens").wants(http.StatusOK)
	if strings.Contains(string(list.body), made.Token) || !strings.Contains(string(list.body), made.ID) {
		t.Errorf("the list is %s", list.body)
	}
	bob.api("DELETE", "/api/tokens/"+made.ID).problem(http.StatusNotFound)
	ada.api("DELETE", "/api/tokens/"+made.ID).wants(http.StatusNoContent)
	ada.send("GET", "/api/me", with).problem(http.StatusUnauthorized)
	ada.api("POST", "/api/tokens", jsonBody(map[string]string{"name": ""})).refuses("name")
}

func TestAdministratorsKeepTheAccounts(t *testing.T) {
	t.Parallel()
	d := setup(t)
	root, ada := d.admin("root@example.org"), d.person("ada@example.org")
	var made struct{ UserID, Email string }
	root.api("POST", "/api/users", jsonBody(map[string]any{"email": "new@example.org", "password": password})).wants(http.StatusCreated).json(&made)
	root.api("POST", "/api/users", jsonBody(map[string]any{"email": "NEW@example.org", "password": password})).refuses("email")
	root.api("POST", "/api/users", jsonBody(map[string]any{"email": "other@example.org", "password": "short"})).refuses("password")
	var all struct{ Items []struct{ Email string } }
	if root.api("GET", "/api/users").wants(http.StatusOK).json(&all); len(all.Items) != 3 {
		t.Errorf("there are %+v", all)
	}
	root.api("DELETE", "/api/users/"+ada.user.ID).wants(http.StatusNoContent)
	ada.api("GET", "/api/me").problem(http.StatusUnauthorized)
	ada.send("GET", "/api/me", cookie(ada.cookie)).problem(http.StatusUnauthorized)
	root.api("PATCH", "/api/users/"+ada.user.ID, jsonBody(map[string]bool{"disabled": false})).wants(http.StatusOK)
	ada.api("GET", "/api/me").wants(http.StatusOK)
	ada.send("GET", "/api/me", cookie(ada.cookie)).problem(http.StatusUnauthorized)
	root.api("PATCH", "/api/users/"+nowhere, jsonBody(map[string]bool{"disabled": true})).problem(http.StatusNotFound)
	root.api("PATCH", "/api/users/"+ada.user.ID, jsonBody(map[string]any{})).refuses("disabled")
	root.api("DELETE", "/api/users/"+root.user.ID).refuses("userId")
	root.api("PATCH", "/api/users/"+root.user.ID, jsonBody(fields{"admin": false})).refuses("admin")
	var is struct {
		Name  string
		Admin bool
	}
	root.api("PATCH", "/api/users/"+ada.user.ID, jsonBody(fields{"name": " Ada ", "admin": true})).wants(http.StatusOK).json(&is)
	if is.Name != "Ada" || !is.Admin {
		t.Errorf("changed to %+v", is)
	}
	root.api("PATCH", "/api/users/"+ada.user.ID, jsonBody(fields{"name": strings.Repeat("a", 201)})).refuses("name")
	ada.api("GET", "/api/users").wants(http.StatusOK)
	ada.page("GET", "/users").wants(http.StatusSeeOther) // her sessions ended when she was disabled
	root.page("POST", "/users/"+ada.user.ID, formBody("name", "Countess")).wants(http.StatusSeeOther)
	ada.api("GET", "/api/users").problem(http.StatusForbidden)
	root.page("POST", "/users/"+root.user.ID, formBody("name", "Root")).wants(http.StatusSeeOther)
	root.api("GET", "/api/users").wants(http.StatusOK)
	if did, _ := root.actions("&action=user-changed"); len(did) != 5 {
		t.Errorf("%d changes stand in the log", len(did))
	}
}

func TestTheDeskTellsHowItIs(t *testing.T) {
	t.Parallel()
	ill := false
	d := setup(t, options{
		tasks: func(c *tasks.Config) {
			c.Healthy = func() error {
				if ill {
					return accounts.ErrNotFound
				}
				return nil
			}
		}, noRun: true})
	root, ada := d.admin("root@example.org"), d.person("ada@example.org")
	ada.gate("")
	d.send("GET", "/healthz").wants(http.StatusOK)
	d.send("GET", "/readyz").wants(http.StatusOK)
	var status struct {
		Version, Store string
		Tasks          map[string]int
	}
	ada.api("GET", "/status").wants(http.StatusOK).json(&status)
	if status.Version != "test" || status.Store != "sqlite" || status.Tasks["queued"] != 1 || status.Tasks["error"] != 0 {
		t.Errorf("the status is %+v", status)
	}
	ill = true
	if a := d.send("GET", "/readyz").wants(http.StatusServiceUnavailable); strings.Contains(string(a.body), "wrong") {
		t.Errorf("strangers are told what is wrong: %s", a.body)
	}
	if a := root.api("GET", "/readyz").wants(http.StatusServiceUnavailable); !strings.Contains(string(a.body), accounts.ErrNotFound.Error()) {
		t.Errorf("administrators are told %s", a.body)
	}
	d.send("GET", "/healthz").wants(http.StatusOK)
}

// A desk whose health cannot be asked for while its store is away is restarted by whoever watches it, again and again.
func TestTheDeskSaysThatItLivesWhileItsStoreIsAway(t *testing.T) {
	t.Parallel()
	d := setup(t, options{noRun: true, config: func(c *handlers.Config) {
		tasks := c.Tasks
		c.Ready = func(ctx context.Context) error { _, err := tasks.CountsOfAll(ctx); return err }
	}})
	ada := d.person("ada@example.org")
	d.send("GET", "/readyz").wants(http.StatusOK)
	check(t, d.db.Close())
	for range 2 {
		d.send("GET", "/healthz").wants(http.StatusOK)
		ada.send("GET", "/healthz", cookie(ada.cookie), header("Authorization", "Bearer "+ada.token)).wants(http.StatusOK)
	}
	d.send("GET", "/readyz").wants(http.StatusServiceUnavailable)
	ada.api("GET", "/api/tasks").problem(http.StatusInternalServerError)
}
