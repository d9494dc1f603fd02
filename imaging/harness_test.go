package imaging_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zip"
	"go.uber.org/goleak"

	"filmroom/dicom/phantom"
	"filmroom/imaging"
	"filmroom/sqlite"
	"filmroom/tasks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ada = tasks.Person{UserID: "01USERADA0000000000000000A", Email: "ada@example.org"}
	bob = tasks.Person{UserID: "01USERBOB0000000000000000B", Email: "bob@example.org"}
)

// A desk is a whole one, on SQLite in a directory of its own, without HTTP.
type desk struct {
	*imaging.Desk
	t      testing.TB
	cfg    imaging.Config
	db     *sqlite.DB
	tasks  *tasks.Manager
	store  *store
	logged *bytes.Buffer
	stop   func()
}

// A store is the real one with hooks around each batch.
type store struct {
	imaging.Store
	beforeArrive func(ctx context.Context) error
	afterArrive  func(ctx context.Context)
	beforePut    func(ctx context.Context) error
	beforeDelete func(ctx context.Context) error
	rows         atomic.Int64 // of batches

	beforeInstances func(after *imaging.Instance)
}

func (s *store) Arrive(ctx context.Context, libraryID, taskID string, batch []imaging.Arrival, others []imaging.Receipt, newID func() string, now time.Time) ([]imaging.Receipt, error) {
	if s.beforeArrive != nil {
		if err := s.beforeArrive(ctx); err != nil {
			return nil, err
		}
	}
	s.rows.Add(int64(len(batch) + len(others)))
	rows, err := s.Store.Arrive(ctx, libraryID, taskID, batch, others, newID, now)
	if s.afterArrive != nil {
		s.afterArrive(ctx)
	}
	return rows, err
}

func (s *store) PutReceipts(ctx context.Context, libraryID, taskID string, rows []imaging.Receipt) error {
	if s.beforePut != nil {
		if err := s.beforePut(ctx); err != nil {
			return err
		}
	}
	return s.Store.PutReceipts(ctx, libraryID, taskID, rows)
}

func (s *store) DeleteSeries(ctx context.Context, libraryID, seriesID string) error {
	if s.beforeDelete != nil {
		if err := s.beforeDelete(ctx); err != nil {
			return err
		}
	}
	return s.Store.DeleteSeries(ctx, libraryID, seriesID)
}

func (s *store) Instances(ctx context.Context, libraryID, seriesID string, after *imaging.Instance, limit int) ([]imaging.Instance, error) {
	if s.beforeInstances != nil {
		s.beforeInstances(after)
	}
	return s.Store.Instances(ctx, libraryID, seriesID, after, limit)
}

// setup makes a desk and runs it until the test ends.
func setup(t testing.TB, edits ...func(*imaging.Config)) *desk {
	cfg := imaging.Config{
		DataDir: t.TempDir(), Key: bytes.Repeat([]byte{7}, 32), Workers: 2,
		Limits: imaging.Limits{MinFree: 1},
	}
	for _, edit := range edits {
		edit(&cfg)
	}
	d := &desk{t: t, cfg: cfg}
	d.start()
	t.Cleanup(func() { d.stop() })
	return d
}

// start opens the data directory, as a process does when it starts.
func (d *desk) start() {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, filepath.Join(d.cfg.DataDir, "filmroom.db"), sqlite.Options{})
	check(d.t, err)
	d.db, d.store, d.logged = db, &store{Store: db.Imaging()}, &bytes.Buffer{}
	d.cfg.Store, d.cfg.Logger = d.store, slog.New(slog.NewTextHandler(d.logged, nil))
	d.Desk, err = imaging.New(d.cfg)
	check(d.t, err)
	kinds, err := tasks.NewKinds(d.Kinds()...)
	check(d.t, err)
	results, err := tasks.NewResultDir(filepath.Join(d.cfg.DataDir, "results"))
	check(d.t, err)
	d.tasks, err = tasks.NewManager(tasks.Config{
		Store: db.Tasks(), Results: results, Kinds: kinds, Lanes: map[string]int{"import": 2, "export": 2, "delete": 2},
		SoleOwner: true, Logger: d.cfg.Logger,
	})
	check(d.t, err)
	d.Attach(d.tasks)
	check(d.t, d.Start(ctx))
	check(d.t, d.tasks.Start(ctx))
	d.stop = func() {
		d.stop = func() {}
		for _, task := range d.tasks.InProgress(ada) {
			_, _ = d.tasks.Cancel(ctx, ada, task.ID)
		}
		check(d.t, d.tasks.Stop(ctx))
		check(d.t, d.Desk.Stop(ctx))
		check(d.t, db.Close())
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A file is something to send, or an entry of an archive.
type file struct {
	name string
	data []byte
}

// send uploads files in one transfer.
func (d *desk) send(files ...file) tasks.Task {
	d.t.Helper()
	t, _, err := d.sendKeyed("", files...)
	check(d.t, err)
	return t
}

func (d *desk) sendKeyed(key string, files ...file) (tasks.Task, bool, error) {
	u, err := d.NewUpload(d.t.Context(), ada, key)
	if err != nil {
		return tasks.Task{}, false, err
	}
	defer u.Abort()
	for _, f := range files {
		if err := u.Add(d.t.Context(), f.name, bytes.NewReader(f.data)); err != nil {
			return tasks.Task{}, false, err
		}
	}
	return u.Commit(d.t.Context())
}

// wait follows a task to its end.
func (d *desk) wait(id string) tasks.Task {
	d.t.Helper()
	sub := d.tasks.Subscribe(ada, tasks.Scope{TaskID: id})
	defer sub.Close()
	for {
		t, err := d.tasks.Get(d.t.Context(), ada, id)
		check(d.t, err)
		if t.Status.Final() {
			return t
		}
		select {
		case <-sub.Ready():
			sub.Take()
		case <-d.t.Context().Done():
			d.t.Fatal(d.t.Context().Err())
		}
	}
}

// finish waits for a task to finish well.
func (d *desk) finish(id string) tasks.Task {
	d.t.Helper()
	t := d.wait(id)
	if t.Status != tasks.StatusFinished {
		d.t.Fatalf("task is %s: %s\n%s", t.Status, t.Error, d.logged)
	}
	return t
}

// bring sends files and waits for their import.
func (d *desk) bring(files ...file) tasks.Task {
	d.t.Helper()
	return d.finish(d.send(files...).ID)
}

func (d *desk) receipt(id string) []imaging.Receipt {
	d.t.Helper()
	rows, err := d.Receipts(d.t.Context(), id, imaging.ReceiptQuery{After: -1, Limit: 100_000})
	check(d.t, err)
	return rows
}

// outcomes is a receipt in short: "name outcome".
func (d *desk) outcomes(id string) []string {
	d.t.Helper()
	var lines []string
	for _, r := range d.receipt(id) {
		lines = append(lines, fmt.Sprintf("%s %s", r.Name, r.Outcome))
	}
	return lines
}

func (d *desk) series(p tasks.Person) []imaging.Series {
	d.t.Helper()
	page, err := d.ListSeries(d.t.Context(), p, imaging.SeriesQuery{Limit: 1000})
	check(d.t, err)
	return page.Items
}

// paths lists the files below a folder of the data directory.
func (d *desk) paths(folder string) []string {
	d.t.Helper()
	var paths []string
	err := filepath.WalkDir(filepath.Join(d.cfg.DataDir, folder), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			paths = append(paths, path)
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	})
	check(d.t, err)
	return paths
}

// slices of a small synthetic study.
func study(s phantom.Study) []file {
	if s.Size == 0 {
		s.Size = 16
	}
	files := make([]file, s.Files())
	for i := range files {
		var b bytes.Buffer
		if err := s.Write(i, &b); err != nil {
			panic(err)
		}
		files[i] = file{fmt.Sprintf("study/IM%04d", i), b.Bytes()}
	}
	return files
}

// zipOf packs files into a ZIP.
func zipOf(name string, files ...file) file {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		w, err := z.Create(f.name)
		if err == nil {
			_, err = w.Write(f.data)
		}
		if err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return file{name, b.Bytes()}
}

// tarGz packs files into a tar.gz.
func tarGz(name string, files ...file) file {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range files {
		err := w.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.data)), Mode: 0o600, Typeflag: tar.TypeReg})
		if err == nil {
			_, err = w.Write(f.data)
		}
		if err != nil {
			panic(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		panic(err)
	}
	return file{name, b.Bytes()}
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %s\nwant %s", what, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

func gz(name string, data []byte) file {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return file{name, b.Bytes()}
}

func sha(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	check(t, err)
	return data
}
