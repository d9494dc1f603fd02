package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"filmroom/accounts"
	"filmroom/handlers"
	"filmroom/imaging"
	"filmroom/tasks"
)

var (
	ada  = tasks.Person{UserID: "01ADA", Email: "ada@example.org"}
	root = tasks.Person{UserID: "01ROOT", Email: "root@example.org", Admin: true}
)

// running starts a desk on a data directory, without its listeners. end stops it.
func running(t *testing.T, data string) (d *desk, end func()) {
	t.Helper()
	g := parsed(t, "--data-dir="+data, "--min-free=1B")
	cfg, err := g.Serve.config(g.places, false)
	check(t, err)
	d = &desk{cfg: cfg, log: slog.New(slog.DiscardHandler), metrics: handlers.NewMetrics(prometheus.NewRegistry())}
	for _, begin := range []func(context.Context) error{d.openStores, d.startAccounts, d.startWork} {
		check(t, begin(t.Context()))
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			check(t, d.down.run(d.log))
		}
	}
	t.Cleanup(end)
	return d, end
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// finish waits until a task has ended well.
func (d *desk) finish(t *testing.T, id string) tasks.Task {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		task, err := d.manager.Get(t.Context(), root, id)
		check(t, err)
		if task.Status == tasks.StatusFinished {
			return task
		}
		if task.Status.Final() {
			t.Fatalf("task is %s: %s", task.Status, task.Error)
		}
		<-tick.C
	}
}

// furnish fills a desk: an account with a token and a webhook, the sample study, an export with its download,
// a line in the audit log, and an import that waits.
func (d *desk) furnish(t *testing.T) (waiting tasks.Task) {
	t.Helper()
	user, err := d.accounts.AddUser(t.Context(), ada.Email, "Ada", "correct horse battery", true)
	check(t, err)
	_, _, err = d.accounts.CreateToken(t.Context(), user.ID, "laptop")
	check(t, err)
	_, err = d.accounts.SetWebhook(t.Context(), user.ID, "https://example.org/hook")
	check(t, err)
	d.accounts.Audit(t.Context(), accounts.AuditEntry{UserID: user.ID, Email: user.Email, Action: accounts.ActUploaded})
	brought, err := d.imaging.Sample(t.Context(), ada)
	check(t, err)
	d.finish(t, brought.ID)
	page, err := d.imaging.ListSeries(t.Context(), ada, imaging.SeriesQuery{Limit: 10})
	check(t, err)
	out, err := d.imaging.Export(t.Context(), ada, imaging.ExportRequest{SeriesIDs: []string{page.Items[0].ID}, Profile: "basic"})
	check(t, err)
	d.finish(t, out.ID)
	capacity := 0
	_, err = d.manager.SetLane(t.Context(), root, "import", tasks.LaneChange{Capacity: &capacity, Reason: "a backup is coming"})
	check(t, err)
	waiting, err = d.imaging.Sample(t.Context(), tasks.Person{UserID: "01BOB", Email: "bob@example.org"})
	check(t, err)
	return waiting
}

// told is all that a desk has: records as JSON, files by path with their sums.
func (d *desk) told(t *testing.T) map[string]string {
	t.Helper()
	ctx, story := t.Context(), map[string]string{}
	tell := func(what string, value any, err error) {
		check(t, err)
		text, err := json.MarshalIndent(value, "", " ")
		check(t, err)
		story[what] = string(text)
	}
	users, err := d.stores.accounts.Users(ctx)
	tell("users", users, err)
	for _, u := range users {
		story["hash of "+u.ID] = u.PasswordHash + u.WebhookURL + u.WebhookSecret
		tokens, err := d.stores.accounts.Tokens(ctx, u.ID)
		tell("tokens of "+u.ID, tokens, err)
	}
	audit, err := d.stores.accounts.Audit(ctx, accounts.AuditQuery{})
	tell("audit", audit, err)
	lanes, err := d.stores.tasks.Lanes(ctx)
	tell("lanes", lanes, err)
	page, err := d.stores.tasks.List(ctx, tasks.Query{Limit: 100})
	check(t, err)
	for _, item := range page.Items {
		task, err := d.stores.tasks.Get(ctx, item.ID)
		tell("task "+item.ID, task, err)
		rows, err := d.stores.imaging.Receipts(ctx, imaging.ReceiptQuery{TaskID: item.ID, After: -1, Limit: 1000})
		tell("receipt of "+item.ID, rows, err)
		lines, err := d.stores.tasks.Log(ctx, item.ID, 0, 1000)
		tell("log of "+item.ID, lines, err)
	}
	series, err := d.imaging.ListSeries(ctx, ada, imaging.SeriesQuery{Limit: 100})
	tell("library", series, err)
	for _, s := range series.Items {
		instances, err := d.imaging.Instances(ctx, ada, s.ID, nil, 1000)
		tell("instances of "+s.ID, instances, err)
	}
	for path, sum := range sums(t, d.cfg.DataDir) {
		story[path] = sum
	}
	return story
}

// sums are those of the files that a data directory keeps.
func sums(t *testing.T, data string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, folder := range append(keptFolders, keyName) {
		err := filepath.WalkDir(filepath.Join(data, folder), func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || e.IsDir() {
				return err
			}
			name, err := filepath.Rel(data, path)
			check(t, err)
			all[name], err = sumOf(path)
			return err
		})
		check(t, err)
	}
	return all
}

func TestARestoredDeskIsTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, stopFirst := running(t, filepath.Join(dir, "data"))
	waiting := first.furnish(t)
	code, out, errs := filmroom(t, first.cfg.DataDir, "", "backup", filepath.Join(dir, "backup"))
	if code != 0 || !strings.Contains(out, "files of") {
		t.Fatalf("backup beside the running desk: %d\n%s%s", code, out, errs)
	}
	want := first.told(t)
	stopFirst()
	check(t, os.RemoveAll(first.cfg.DataDir)) // the disk is lost
	if code, out, errs := filmroom(t, filepath.Join(dir, "again"), "", "restore", filepath.Join(dir, "backup")); code != 0 {
		t.Fatalf("restore: %d\n%s%s", code, out, errs)
	}
	second, _ := running(t, filepath.Join(dir, "again"))
	if diff := cmp.Diff(want, second.told(t)); diff != "" {
		t.Errorf("the restored desk differs (-before +after):\n%s", diff)
	}
	if len(want) < 60 {
		t.Fatalf("only %d things were compared", len(want))
	}
	capacity := 1
	_, err := second.manager.SetLane(t.Context(), root, "import", tasks.LaneChange{Capacity: &capacity})
	check(t, err)
	second.finish(t, waiting.ID) // with the input that was staged
}

// Threat: files come and go while they are copied, and the copy of the records names what was missed.
func TestABackupWhileImportsRunIsWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, stop := running(t, filepath.Join(dir, "data"))
	busy, quit := context.WithCancel(t.Context())
	defer quit()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; busy.Err() == nil; n++ {
			task, err := d.imaging.Sample(t.Context(), tasks.Person{UserID: "01USER", Email: "user@example.org"})
			if err != nil {
				t.Error(err)
				return
			}
			d.finish(t, task.ID)
		}
	}()
	for _, name := range []string{"one", "two", "three"} {
		if code, _, errs := filmroom(t, d.cfg.DataDir, "", "backup", filepath.Join(dir, name)); code != 0 {
			t.Fatal(errs)
		}
	}
	quit()
	<-ended
	stop()
	for _, name := range []string{"one", "two", "three"} {
		data := filepath.Join(dir, name+"-restored")
		if code, _, errs := filmroom(t, data, "", "restore", filepath.Join(dir, name)); code != 0 {
			t.Fatal(errs)
		}
		restored, stop := running(t, data)
		restored.allFilesAreThere(t)
		stop()
	}
}

// allFilesAreThere lets what waits end, and looks for the file of every instance.
func (d *desk) allFilesAreThere(t *testing.T) {
	t.Helper()
	page, err := d.stores.tasks.List(t.Context(), tasks.Query{Limit: 1000})
	check(t, err)
	for _, task := range page.Items {
		d.finish(t, task.ID)
	}
	p := tasks.Person{UserID: "01USER"}
	series, err := d.imaging.ListSeries(t.Context(), p, imaging.SeriesQuery{Limit: 100})
	check(t, err)
	for _, s := range series.Items {
		instances, err := d.imaging.Instances(t.Context(), p, s.ID, nil, 1000)
		check(t, err)
		for _, i := range instances {
			if sum, err := sumOf(filepath.Join(d.cfg.DataDir, "files", i.SHA256[:2], i.SHA256)); err != nil || sum != i.SHA256 {
				t.Errorf("the file of an instance: %v", err)
			}
		}
	}
}

// small makes a desk with an account alone and a backup of it.
func small(t *testing.T) (data, backup string) {
	t.Helper()
	dir := t.TempDir()
	data, backup = filepath.Join(dir, "data"), filepath.Join(dir, "backup")
	d, stop := running(t, data)
	_, err := d.accounts.AddUser(t.Context(), ada.Email, "Ada", "correct horse battery", true)
	check(t, err)
	stop()
	file := filepath.Join(data, "files", "b9", "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9")
	check(t, os.WriteFile(file, []byte("hello world"), 0o600))
	if code, _, errs := filmroom(t, data, "", "backup", backup); code != 0 {
		t.Fatal(errs)
	}
	return data, backup
}

func TestWhereABackupIsRefused(t *testing.T) {
	t.Parallel()
	data, backup := small(t)
	before := sums(t, backup)
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "mine"), []byte("keep"), 0o600))
	for name, args := range map[string][]string{
		"over another backup":          {"backup", backup},
		"over somebody's files":        {"backup", dir},
		"of no desk":                   {"--data-dir=" + t.TempDir(), "backup", filepath.Join(t.TempDir(), "b")},
		"of records that are on Mongo": {"--mongodb-uri=mongodb://localhost", "backup", filepath.Join(t.TempDir(), "b")},
		"restore to Mongo":             {"--mongodb-uri=mongodb://localhost", "restore", backup},
	} {
		if code, out, errs := filmroom(t, data, "", args...); code != 1 || errs == "" {
			t.Errorf("%s: exit code %d, want 1\n%s%s", name, code, out, errs)
		}
	}
	if diff := cmp.Diff(before, sums(t, backup)); diff != "" {
		t.Errorf("the backup changed:\n%s", diff)
	}
	if kept, err := os.ReadFile(filepath.Join(dir, "mine")); string(kept) != "keep" {
		t.Errorf("somebody's file is gone: %v", err)
	}
}

func TestABackupThatWasCutOffIsBegunAgain(t *testing.T) {
	t.Parallel()
	data, backup := small(t)
	check(t, os.RemoveAll(backup))
	check(t, os.MkdirAll(filepath.Join(backup+".partial", "files", "b9"), 0o700))
	check(t, os.WriteFile(filepath.Join(backup+".partial", "files", "b9", "half"), []byte("half"), 0o600))
	check(t, os.Mkdir(backup, 0o700)) // empty
	if code, _, errs := filmroom(t, data, "", "backup", backup); code != 0 {
		t.Fatal(errs)
	}
	if diff := cmp.Diff(sums(t, data), sums(t, backup)); diff != "" {
		t.Errorf("the backup differs (-desk +backup):\n%s", diff)
	}
	if left, _ := filepath.Glob(backup + ".*"); len(left) > 0 {
		t.Errorf("left beside it: %v", left)
	}
}

func TestACancelledBackupLeavesNothing(t *testing.T) {
	t.Parallel()
	data, backup := small(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := backUp(gone, data, backup+"2"); err == nil {
		t.Fatal("it went on")
	}
	if left, _ := filepath.Glob(backup + "2*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestWhereARestoreIsRefused(t *testing.T) {
	t.Parallel()
	data, backup := small(t)
	if code, _, errs := filmroom(t, data, "", "restore", backup); code != 1 {
		t.Errorf("over a desk: exit code %d %s", code, errs)
	}
	for name, spoil := range map[string]string{
		"a damaged file":     filepath.Join("files", "b9", "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"),
		"a damaged database": databaseName, "a damaged key": keyName, "no whole backup": backupName,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, target := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "data")
			check(t, os.CopyFS(bad, os.DirFS(backup)))
			check(t, os.WriteFile(filepath.Join(bad, spoil), bytes.Repeat([]byte("x"), 32), 0o600))
			if code, _, errs := filmroom(t, target, "", "restore", bad); code != 1 || errs == "" {
				t.Fatalf("exit code %d, want 1: %s", code, errs)
			}
			if _, err := os.Stat(target); err == nil {
				if _, err := openStores(t.Context(), places{DataDir: target}, false, slog.Default()); err == nil {
					t.Error("a desk starts in what was restored by half")
				}
			}
			if code, _, errs := filmroom(t, target, "", "restore", backup); code != 0 {
				t.Fatalf("the whole backup after it: %s", errs)
			}
			if diff := cmp.Diff(sums(t, data), sums(t, target)); diff != "" {
				t.Errorf("the restored desk differs:\n%s", diff)
			}
		})
	}
}

func TestFilesThatCannotBeLinkedAreCopied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	check(t, os.WriteFile(from, []byte("whole now"), 0o600))
	check(t, os.WriteFile(to, []byte("half"), 0o600)) // copied while it was growing
	check(t, place(from, to))
	if got, err := os.ReadFile(to); string(got) != "whole now" {
		t.Errorf("got %q, %v", got, err)
	}
}
