package imaging_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"filmroom/dicom/phantom"
	"filmroom/imaging"
	"filmroom/tasks"
)

func TestATransferThatBreaksOffLeavesNothing(t *testing.T) {
	t.Parallel()
	d := setup(t)
	gone := errors.New("connection reset")
	for name, body := range map[string]io.Reader{
		"an error":         io.MultiReader(strings.NewReader("half"), iotest.ErrReader(gone)),
		"an early end":     io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrUnexpectedEOF)),
		"an error at once": iotest.ErrReader(gone),
	} {
		u, err := d.NewUpload(t.Context(), ada, "")
		check(t, err)
		check(t, u.Add(t.Context(), "whole", strings.NewReader("whole")))
		if err := u.Add(t.Context(), "broken", body); err == nil {
			t.Errorf("%s: the transfer went on", name)
		}
		if _, _, err := u.Commit(t.Context()); err == nil {
			t.Errorf("%s: the transfer was committed", name)
		}
	}
	if left := d.paths("staging"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestATransferIsBoundedInBytesAndFiles(t *testing.T) {
	t.Parallel()
	d := setup(t, func(c *imaging.Config) { c.Limits.MaxUpload, c.Limits.MaxEntries = 1000, 2 })
	u, err := d.NewUpload(t.Context(), ada, "")
	check(t, err)
	defer u.Abort()
	if err := u.Add(t.Context(), "", bytes.NewReader(make([]byte, 1001))); !errors.Is(err, imaging.ErrTooLarge) {
		t.Errorf("too many bytes: %v", err)
	}
	u, err = d.NewUpload(t.Context(), ada, "")
	check(t, err)
	defer u.Abort()
	for range 2 {
		check(t, u.Add(t.Context(), "", strings.NewReader("x")))
	}
	if err := u.Add(t.Context(), "", strings.NewReader("x")); !errors.Is(err, imaging.ErrTooLarge) {
		t.Errorf("too many files: %v", err)
	}
}

func TestATransferWithoutFilesIsRefused(t *testing.T) {
	t.Parallel()
	d := setup(t)
	if _, _, err := d.sendKeyed(""); !errors.Is(err, imaging.ErrNoFiles) {
		t.Error(err)
	}
}

func TestATransferThatFillsTheDiskStops(t *testing.T) {
	t.Parallel()
	d := setup(t, func(c *imaging.Config) { c.Limits.MinFree = 100 })
	free := int64(1 << 30)
	d.SetFree(func() int64 { return free })
	u, err := d.NewUpload(t.Context(), ada, "")
	check(t, err)
	defer u.Abort()
	free = 50
	if err := u.Add(t.Context(), "", io.LimitReader(zeros{}, 64<<20)); !errors.Is(err, imaging.ErrNoRoom) {
		t.Error(err)
	}
	u.Abort()
	if left := d.paths("staging"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestAnIdempotencyKeyStandsForOneContent(t *testing.T) {
	t.Parallel()
	d := setup(t)
	image := study(phantom.Study{})[0]
	first, existed, err := d.sendKeyed("key", image)
	check(t, err)
	if existed {
		t.Error("the first transfer is said to have come before")
	}
	again, existed, err := d.sendKeyed("key", image)
	check(t, err)
	if !existed || again.ID != first.ID {
		t.Errorf("the same again: task %s, want %s", again.ID, first.ID)
	}
	for name, other := range map[string][]file{
		"other bytes": {{image.name, append(bytes.Clone(image.data), 0)}},
		"other name":  {{"other", image.data}},
		"cut in two":  {{image.name, image.data[:100]}, {"", image.data[100:]}},
	} {
		if _, _, err := d.sendKeyed("key", other...); !errors.Is(err, imaging.ErrKeyReused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	d.finish(first.ID)
	if again, _, err = d.sendKeyed("key", image); err != nil || again.ID != first.ID {
		t.Errorf("after its end: %s, %v", again.ID, err)
	}
	d.stop()
	if left := d.paths("staging"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAnIdempotencyKeyIsHeldByOneTransferAtATime(t *testing.T) {
	t.Parallel()
	d := setup(t)
	u, err := d.NewUpload(t.Context(), ada, "key")
	check(t, err)
	if _, err := d.NewUpload(t.Context(), ada, "key"); !errors.Is(err, imaging.ErrUploadUnderWay) {
		t.Errorf("the second: %v", err)
	}
	other, err := d.NewUpload(t.Context(), bob, "key")
	check(t, err)
	other.Abort()
	u.Abort()
	u, err = d.NewUpload(t.Context(), ada, "key")
	check(t, err)
	u.Abort()
}

func TestWhatACrashLeavesOfATransferIsSweptAtTheNextStart(t *testing.T) {
	t.Parallel()
	d := setup(t)
	u, err := d.NewUpload(t.Context(), ada, "")
	check(t, err)
	check(t, u.Add(t.Context(), "", strings.NewReader("half a transfer")))
	d.crash()
	if len(d.paths("staging")) == 0 {
		t.Fatal("nothing was staged")
	}
	check(t, os.MkdirAll(filepath.Join(d.cfg.DataDir, "files", "tmp", "01DEAD"), 0o700))
	check(t, os.WriteFile(filepath.Join(d.cfg.DataDir, "files", "tmp", "01DEAD", "1"), []byte("half a file"), 0o600))
	d.start()
	if left := append(d.paths("staging"), d.paths("files/tmp")...); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestASweepLeavesATransferUnderWayAlone(t *testing.T) {
	t.Parallel()
	d := setup(t)
	u, err := d.NewUpload(t.Context(), ada, "")
	check(t, err)
	defer u.Abort()
	image := study(phantom.Study{})[0]
	check(t, u.Add(t.Context(), "", bytes.NewReader(image.data)))
	imaging.Sweep(d.Desk, t.Context())
	task, _, err := u.Commit(t.Context())
	check(t, err)
	d.finish(task.ID)
}

func TestInputOfAFailedImportIsKeptForAWeek(t *testing.T) {
	t.Parallel()
	clock := time.Now()
	d := setup(t, func(c *imaging.Config) { c.Now = func() time.Time { return clock } })
	d.store.beforeArrive = func(context.Context) error { return tasks.Permanent(errors.New("broken")) }
	id := d.send(study(phantom.Study{})...).ID
	if task := d.wait(id); task.Status != tasks.StatusError {
		t.Fatal(task.Status)
	}
	clock = clock.Add(167 * time.Hour)
	imaging.Sweep(d.Desk, t.Context())
	if task := d.wait(id); !d.tasks.Retryable(t.Context(), task) {
		t.Error("its input is gone too early")
	}
	clock = clock.Add(2 * time.Hour)
	imaging.Sweep(d.Desk, t.Context())
	if _, err := d.tasks.Retry(t.Context(), ada, id); !errors.Is(err, tasks.ErrInputGone) {
		t.Errorf("retry after a week: %v", err)
	}
}

func TestAFileGoesADayAfterTheLastThatReferredToIt(t *testing.T) {
	t.Parallel()
	clock := time.Now()
	d := setup(t, func(c *imaging.Config) { c.Now = func() time.Time { return clock } })
	images := study(phantom.Study{Slices: 2})
	d.bring(images...)
	clock = clock.Add(100 * imaging.UnreferredFor)
	imaging.Sweep(d.Desk, t.Context())
	if got := len(d.paths("files")); got != 2 {
		t.Fatalf("%d files are left of 2 that are referred to", got)
	}
	d.deletes(d.series(ada)[0].ID)
	clock = clock.Add(imaging.UnreferredFor - time.Minute)
	imaging.Sweep(d.Desk, t.Context())
	if got := len(d.paths("files")); got != 2 {
		t.Fatalf("%d files are left a day after they were last referred to, want 2", got)
	}
	d.bring(images[0]) // refers to its file again, which is not written anew
	clock = clock.Add(2 * time.Minute)
	imaging.Sweep(d.Desk, t.Context())
	if got := len(d.paths("files")); got != 1 {
		t.Errorf("%d files are left, want the one that is referred to", got)
	}
	if named := strings.Count(d.logged.String(), "sha256="); named != 1 {
		t.Errorf("the log names %d removed files, want 1:\n%s", named, d.logged)
	}
}
