package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

const (
	benchEmail, benchPassword = "ada@example.org", "correct horse battery"
	manyTasks                 = 1_000_000
)

// BenchmarkPages asks a desk where one person has a million tasks for its pages and lists, through all that a
// request of a browser goes through.
//
//	go test . -run xxx -bench 'BenchmarkPages$' -benchtime 100x
func BenchmarkPages(b *testing.B) {
	d := benchDesk(b)
	waits := addManyTasks(b, d)
	for _, begin := range []func(context.Context) error{d.startWork, d.serve} {
		if err := begin(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	browser := signedIn(b, d.cfg.PublicURL)
	worst := time.Duration(0)
	for _, path := range []string{
		"/", "/?status=finished", "/?status=error&status=canceled&kind=export", "/?q=ward+17", "/?q=bring", "/?q=1234",
		"/?sort=-endedAt", "/?sort=endedAt", "/?dismissed=true", "/?from={day}&to={day}", "/?from={day}&to={day}&sort=-endedAt&q=ward",
		"/api/tasks", "/api/tasks?limit=0&q=ward", "/api/tasks?limit=200&sort=endedAt", "/api/tasks?owner=*&q=17&status=canceled",
		"/api/tasks?from={day}&kind=export&q=3", "/api/tasks/ready", "/api/tasks/ready?updatedSince={day}",
		"/tasks/" + waits, "/lanes", "/api/lanes", "/status",
	} {
		b.Run(path, func(b *testing.B) { worst = max(worst, benchPage(b, browser, d.cfg.PublicURL+path)) })
	}
	b.Logf("worst p99 %.1f ms", float64(worst.Microseconds())/1000)
}

// benchDesk is a desk with an administrator that nobody can reach yet.
func benchDesk(b *testing.B) *desk {
	g := parsed(b, "--data-dir", b.TempDir(), "--listen", "127.0.0.1:0", "--api-rate=-1", "--admin-email", benchEmail, "--admin-password", benchPassword)
	cfg, err := g.Serve.config(g.places, false)
	if err != nil {
		b.Fatal(err)
	}
	d := newDesk(cfg, slog.New(slog.DiscardHandler))
	b.Cleanup(func() {
		if err := d.down.run(d.log); err != nil {
			b.Error(err)
		}
	})
	for _, begin := range []func(context.Context) error{d.openStores, d.startAccounts} {
		if err := begin(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	return d
}

// addManyTasks gives the administrator tasks of the last days, a second apart, and one that waits, whose id it
// returns.
func addManyTasks(b *testing.B, d *desk) (waits string) {
	u, err := d.accounts.UserByEmail(b.Context(), benchEmail)
	if err != nil {
		b.Fatal(err)
	}
	began := tasks.Millis(time.Now().Add(-manyTasks * time.Second))
	var wg sync.WaitGroup
	for part := range 256 {
		wg.Go(func() {
			for i := part; i < manyTasks; i += 256 {
				t := endedTask(u.ID, i, began.Add(time.Duration(i)*time.Second))
				if _, err := d.stores.tasks.Insert(b.Context(), t); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	later := taskstest.Queued(taskstest.Of(u.ID))
	later.AvailableAt = began.AddDate(1, 0, 0)
	if _, err := d.stores.tasks.Insert(b.Context(), later); err != nil {
		b.Fatal(err)
	}
	return later.ID
}

func endedTask(userID string, i int, at time.Time) tasks.Task {
	r := rand.New(rand.NewPCG(1, uint64(i)))
	status := []tasks.Status{tasks.StatusError, tasks.StatusCanceled, tasks.StatusInterrupted, tasks.StatusFinished}[min(r.IntN(60), 3)]
	t := taskstest.InStatus(status, taskstest.Of(userID), taskstest.Kind([]string{"import", "export", "sample"}[min(r.IntN(10)/4, 2)]),
		taskstest.Named(fmt.Sprintf("Bring in %d files from ward %d", r.IntN(2000), r.IntN(40))))
	t.CreatedAt, t.StartedAt = at, at
	t.EndedAt, t.Dismissed = at.Add(time.Duration(r.IntN(60))*time.Second), r.IntN(3) == 0
	return t
}

// signedIn is a browser with a session.
func signedIn(b *testing.B, desk string) *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	body := fmt.Sprintf(`{"email":%q,"password":%q}`, benchEmail, benchPassword)
	res, err := browser.Post(desk+"/api/session", "application/json", strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		b.Fatalf("signing in answers %s", res.Status)
	}
	return browser
}

// benchPage asks for one address, each time for another day, and returns the 99th percentile.
func benchPage(b *testing.B, browser *http.Client, address string) time.Duration {
	var took []time.Duration
	for b.Loop() {
		day := time.Now().AddDate(0, 0, -1-rand.IntN(9)).UTC().Format(time.DateOnly)
		began := time.Now()
		res, err := browser.Get(strings.ReplaceAll(address, "{day}", day))
		if err != nil {
			b.Fatal(err)
		}
		_, err = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			b.Fatalf("%s answers %s (%v)", address, res.Status, err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(p99.Microseconds())/1000, "p99-ms")
	return p99
}
