package handlers_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"time"

	"filmroom/imaging"
	"filmroom/tasks"
)

// outlived has a later process prune the tasks that have finished, and waits for the last of them.
func (d *desk) outlived(taskIDs ...string) {
	d.t.Helper()
	gone := make(chan string, len(taskIDs))
	kind := func(name string) tasks.Kind {
		return tasks.Define(tasks.Kind{Name: name, Lane: name, Retry: tasks.Retry{MaxAttempts: 1}, Pruned: func(_ context.Context, t tasks.Task) { gone <- t.ID }},
			func(context.Context, struct{}, *tasks.Run) (tasks.Done, error) { return tasks.Done{}, nil })
	}
	later := must(tasks.NewManager(tasks.Config{Store: d.db.Tasks(), Logger: slog.New(slog.DiscardHandler), Kinds: must(tasks.NewKinds(kind("import"), kind("export"))),
		Lanes: map[string]int{"import": 0, "export": 0}, Retention: map[tasks.Status]time.Duration{tasks.StatusFinished: 0},
		Now: func() time.Time { return time.Now().Add(48 * time.Hour) }}))
	check(d.t, later.Start(d.t.Context()))
	for range taskIDs {
		select {
		case id := <-gone:
			if !slices.Contains(taskIDs, id) {
				d.t.Errorf("the task %s was pruned as well", id)
			}
		case <-time.After(30 * time.Second):
			d.t.Fatal("the tasks are not pruned")
		}
	}
	check(d.t, later.Stop(context.Background()))
}

// Threat besides: what outlives its task outlives the question whose it is.
func TestAReceiptOutlivesItsTaskForItsOwner(t *testing.T) {
	t.Parallel()
	d := setup(t)
	root, ada, bob := d.admin("root@example.org"), d.person("ada@example.org"), d.person("bob@example.org")
	bob.study() // has a library too
	imported := ada.study().TaskID
	var taken struct{ TaskID string }
	ada.api("POST", "/api/exports", jsonBody(map[string]any{"seriesIds": ada.seriesIDs(), "profile": "basic"})).wants(http.StatusAccepted).json(&taken)
	ada.ends(taken.TaskID)
	before := map[string][]imaging.Receipt{imported: ada.receiptOf(imported), taken.TaskID: ada.receiptOf(taken.TaskID)}
	var all []string
	for _, p := range []*person{ada, bob} {
		for _, task := range must(d.tasks.List(t.Context(), p.as(), tasks.Query{Limit: 10})).Items {
			all = append(all, task.ID)
		}
	}
	d.outlived(all...)
	for id, rows := range before {
		path := "/api/tasks/" + id
		ada.api("GET", path).problem(http.StatusNotFound)
		if got := ada.receiptOf(id); len(got) != 3 || !slices.Equal(got, rows) {
			t.Errorf("the receipt is %+v, was %+v", got, rows)
		}
		table := must(csv.NewReader(bytes.NewReader(ada.api("GET", path+"/receipt?format=csv").wants(http.StatusOK).body)).ReadAll())
		if len(table) != 4 {
			t.Errorf("as CSV it is %q", table)
		}
		root.api("GET", path+"/receipt").wants(http.StatusOK)
		bob.api("GET", path+"/receipt").problem(http.StatusNotFound)
		d.send("GET", path+"/receipt").wants(http.StatusUnauthorized)
		if did, _ := root.actions("&action=receipt-read&target=" + id); len(did) != 2 {
			t.Errorf("the audit log has %v", did)
		}
	}
	ada.api("GET", "/api/tasks/"+nowhere+"/receipt").problem(http.StatusNotFound)
}
