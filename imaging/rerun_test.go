package imaging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"filmroom/dicom/phantom"
	"filmroom/imaging"
	"filmroom/tasks"
)

// crash ends the process at a moment in its work, as far as a test can: the running attempt gets no
// chance to do anything more, and what it had not stored is lost.
func (d *desk) crash() {
	d.t.Helper()
	now, cancel := context.WithCancel(context.Background())
	cancel()
	if err := d.tasks.Stop(now); err != nil && !errors.Is(err, context.Canceled) {
		d.t.Fatal(err)
	}
	check(d.t, d.Desk.Stop(context.Background()))
	check(d.t, d.db.Close())
}

// mixed is a transfer of everything that can happen, over several batches.
func mixed() []file {
	images := study(phantom.Study{Series: 2, Slices: 150})
	conflict := file{"conflict", bytes.Replace(images[7].data, []byte("Synthetic chest"), []byte("Synthetic CHEST"), 1)}
	all := slices.Clone(images[:200])
	all = append(all, conflict, images[7], file{"notes", []byte("x")}, zipOf("in.zip", images[150:250]...))
	all = append(all, images[240:]...)
	all = append(all, cutAt(images[3], 0.5), zipOf("broken.zip")) // an empty archive
	return []file{images[299], zipOf("all.zip", all...), tarGz("more.tgz", images[10], file{"last", nil})}
}

// story is all that an import left, without what names the task and the moment.
func (d *desk) story(id string) string {
	d.t.Helper()
	rows, err := json.Marshal(d.receipt(id))
	check(d.t, err)
	story := string(rows)
	for _, s := range d.series(ada) {
		story += fmt.Sprintf("\n%s %d %d", s.SeriesUID, s.Instances, s.Bytes)
		instances, err := d.Instances(d.t.Context(), ada, s.ID, nil, 1000)
		check(d.t, err)
		for _, i := range instances {
			if i.TaskID != id {
				d.t.Errorf("instance of another task: %+v", i)
			}
			story += fmt.Sprintf("\n%s %d %s", i.SOPInstanceUID, i.Entry, i.SHA256)
		}
	}
	return story
}

func TestAnImportThatIsKilledAnywhereTellsTheSameStory(t *testing.T) {
	t.Parallel()
	quiet := setup(t)
	task := quiet.bring(mixed()...)
	want := quiet.story(task.ID)
	batches := (len(quiet.receipt(task.ID)) + imaging.BatchRows - 1) / imaging.BatchRows
	for kill := range 2 * batches {
		t.Run(fmt.Sprintf("at moment %d", kill), func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			d.killAt(kill, mixed(), want, task.Progress)
		})
	}
}

// killAt brings files in and crashes once: in front of a batch (an even moment) or behind it.
func (d *desk) killAt(moment int, files []file, want string, reached tasks.Progress) {
	d.t.Helper()
	d.t.Cleanup(func() { d.stop() })
	there := make(chan struct{})
	var calls atomic.Int64
	hold := func(ctx context.Context) {
		close(there)
		<-ctx.Done()
	}
	d.store.beforeArrive = func(ctx context.Context) error {
		if n := calls.Add(1) - 1; moment%2 == 0 && n == int64(moment/2) {
			hold(ctx)
		}
		return ctx.Err()
	}
	d.store.afterArrive = func(ctx context.Context) {
		if moment%2 == 1 && calls.Load()-1 == int64(moment/2) {
			hold(ctx)
		}
	}
	d.SetCheckpointEvery(1)
	id := d.send(files...).ID
	<-there
	d.crash()
	d.start()
	task := d.finish(id)
	if got := d.story(id); got != want {
		d.t.Errorf("the story differs:\n%s\nwant\n%s", got, want)
	}
	if task.Progress != reached {
		d.t.Errorf("progress is %+v, want %+v", task.Progress, reached)
	}
	if left := d.paths("files/tmp"); len(left) > 0 {
		d.t.Errorf("temporary files are left: %v", left)
	}
}

func TestARescuedImportReadsNothingAgainThatIsStored(t *testing.T) {
	t.Parallel()
	images := study(phantom.Study{Slices: 4 * imaging.BatchRows})
	half := 2 * imaging.BatchRows
	for name, files := range map[string][]file{
		"loose files": images, "a ZIP": {zipOf("all.zip", images...)}, "a tar.gz": {tarGz("all.tgz", images...)},
		"archives that are cut off": append([]file{cutAt(tarGz("cut.tgz", images[:99]...), 0.7), cutAt(zipOf("cut.zip", images[:9]...), 0.7), tarGz("one.tgz", images[0])}, images...),
		"ZIPs in each other":        {images[0], zipOf("some.zip", images[1:half-5]...), zipOf("out.zip", zipOf("in.zip", images[half-5:half+9]...)), zipOf("rest.zip", images[half+9:]...)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			quiet := setup(t)
			whole := quiet.bring(files...)
			want, rows := quiet.story(whole.ID), len(quiet.receipt(whole.ID))
			d := setup(t)
			t.Cleanup(func() { d.stop() })
			d.SetCheckpointEvery(1)
			there, batches := make(chan struct{}), 0
			d.store.beforeArrive = func(ctx context.Context) error {
				if batches++; batches == 3 {
					close(there)
					<-ctx.Done()
				}
				return ctx.Err()
			}
			id := d.send(files...).ID
			<-there
			d.crash()
			if name == "loose files" { // so that none can be read again unnoticed
				d.spoil(id, images[:half])
			}
			d.start()
			task := d.finish(id)
			if got := d.story(id); got != want {
				t.Errorf("the story differs:\n%s\nwant\n%s", got, want)
			}
			if again := d.store.rows.Load(); again != int64(rows-half) {
				t.Errorf("%d of %d files were taken in again, want the %d that were not stored", again, rows, rows-half)
			}
			if task.Progress != whole.Progress {
				t.Errorf("progress is %+v, want %+v", task.Progress, whole.Progress)
			}
		})
	}
}

// spoil wipes the staged bytes of the first files of a transfer.
func (d *desk) spoil(id string, files []file) {
	d.t.Helper()
	size := 0
	for _, f := range files {
		size += len(f.data)
	}
	staged, err := os.OpenFile(filepath.Join(d.cfg.DataDir, "staging", id, "data"), os.O_WRONLY, 0)
	check(d.t, err)
	_, err = staged.WriteAt(make([]byte, size), 0)
	check(d.t, errors.Join(err, staged.Close()))
}

func TestACheckpointUnderOtherLimitsIsNotUsed(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.t.Cleanup(func() { d.stop() })
	d.SetCheckpointEvery(1)
	there, batches := make(chan struct{}), 0
	d.store.beforeArrive = func(ctx context.Context) error {
		if batches++; batches == 2 {
			close(there)
			<-ctx.Done()
		}
		return ctx.Err()
	}
	images := study(phantom.Study{Slices: 2 * imaging.BatchRows})
	id := d.send(zipOf("all.zip", images...)).ID
	<-there
	d.crash()
	d.cfg.Limits.MaxEntries = 10 // the archive is one refused row now
	d.start()
	d.finish(id)
	if rows := d.receipt(id); rows[0].Outcome != imaging.Refused || d.store.rows.Load() != 1 {
		t.Errorf("the first of %d rows is %+v after %d were taken in again", len(rows), rows[0], d.store.rows.Load())
	}
}

func TestACanceledImportStopsAndCanBeRetried(t *testing.T) {
	t.Parallel()
	d := setup(t)
	there := make(chan struct{}, 1)
	hold := true
	d.store.beforeArrive = func(ctx context.Context) error {
		if hold {
			there <- struct{}{}
			<-ctx.Done()
		}
		return ctx.Err()
	}
	id := d.send(mixed()...).ID
	<-there
	_, err := d.tasks.Cancel(t.Context(), ada, id)
	check(t, err)
	if task := d.wait(id); task.Status != tasks.StatusCanceled || !d.tasks.Retryable(t.Context(), task) {
		t.Fatalf("task is %s, retryable %v", task.Status, d.tasks.Retryable(t.Context(), task))
	}
	if rows := d.receipt(id); len(rows) > 0 {
		t.Errorf("nothing was committed, yet there are %d rows", len(rows))
	}
	if left := d.paths("files/tmp"); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
	hold = false
	_, err = d.tasks.Retry(t.Context(), ada, id)
	check(t, err)
	d.finish(id)
	if got := len(d.series(ada)); got != 2 {
		t.Errorf("library has %d series", got)
	}
}

func TestAFullDiskFailsTheImportClearlyAndARetryFinishesIt(t *testing.T) {
	t.Parallel()
	d := setup(t, func(c *imaging.Config) { c.Limits.MinFree = 1 << 30 })
	var free atomic.Int64
	free.Store(1 << 40)
	d.SetFree(free.Load)
	d.store.beforeArrive = func(context.Context) error {
		free.Store(1<<30 - 1) // the disk fills up while the import runs
		return nil
	}
	big := study(phantom.Study{Slices: 700})
	id := d.send(big...).ID
	task := d.wait(id)
	if task.Status != tasks.StatusError || task.Error == "" || len(task.Failures) != 1 {
		t.Fatalf("task is %s: %q after %d failures", task.Status, task.Error, len(task.Failures))
	}
	rows := len(d.receipt(id))
	if series := d.series(ada); len(series) != 1 || series[0].Instances != rows || rows == 0 || rows == 700 {
		t.Errorf("half-stored: %d rows, library %+v", rows, series)
	}
	if left := d.paths("files/tmp"); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
	if _, err := d.NewUpload(t.Context(), ada, ""); !errors.Is(err, imaging.ErrNoRoom) {
		t.Errorf("a new transfer on a full disk: %v", err)
	}
	d.store.beforeArrive = nil
	free.Store(1 << 40)
	_, err := d.tasks.Retry(t.Context(), ada, id)
	check(t, err)
	d.finish(id)
	if got := d.series(ada)[0].Instances; got != 700 {
		t.Errorf("series has %d instances", got)
	}
}
