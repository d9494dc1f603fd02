package imaging_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/phantom"
	"filmroom/dicom/tag"
	"filmroom/imaging"
	"filmroom/sqlite"
	"filmroom/tasks"
)

// named is a study of which only the first series states the maiden name that the second holds in a text.
func named(t *testing.T, slices int) []file {
	files := study(phantom.Study{Series: 2, Slices: slices})
	for i := range files {
		if i < slices {
			files[i] = edited(t, files[i], dicom.Text(tag.PatientBirthName, "Featherstone^Zoe"))
		} else {
			files[i] = edited(t, files[i], dicom.Text(tag.SeriesDescription, "Thorax of Featherstone"))
		}
	}
	return files
}

// split tells the series that states the name from the one that holds it.
func (d *desk) split() (states, holds imaging.Series) {
	for _, s := range d.series(ada) {
		if strings.HasPrefix(s.Description, "Thorax") {
			holds = s
		} else {
			states = s
		}
	}
	return states, holds
}

// midway begins an export and crashes the desk in the middle of its archive.
func (d *desk) midway(ids ...string) tasks.Task {
	d.t.Helper()
	there, hold := make(chan struct{}), true
	d.store.beforePut = func(ctx context.Context) error {
		if hold {
			hold = false
			close(there)
			<-ctx.Done()
		}
		return ctx.Err()
	}
	task, err := d.Export(d.t.Context(), ada, imaging.ExportRequest{SeriesIDs: ids, Profile: "basic", Options: on("cleanDescriptors", "shiftDates")})
	check(d.t, err)
	<-there
	d.crash()
	return task
}

// TestASeriesDeletedBetweenTwoAttemptsChangesNoArchive: what is searched for was found out by the first attempt. A
// copy of the desk as the crash left it, where nothing is deleted, makes the same archive byte for byte.
func TestASeriesDeletedBetweenTwoAttemptsChangesNoArchive(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(named(t, 3)...)
	states, holds := d.split()
	task := d.midway(holds.ID)
	if sealed := d.paths("identities"); len(sealed) != 1 || bytes.Contains(read(t, sealed[0]), []byte("Featherstone")) {
		t.Errorf("%d files of sealed identities, or one tells a name", len(sealed))
	}
	twin := &desk{t: t, cfg: d.cfg}
	twin.cfg.DataDir = t.TempDir()
	check(t, os.CopyFS(twin.cfg.DataDir, os.DirFS(d.cfg.DataDir)))
	twin.start()
	t.Cleanup(func() { twin.stop() })
	twin.finish(task.ID)

	d.loses(states)
	d.start()
	d.finish(task.ID)
	archive := d.download(task.ID)
	if !bytes.Equal(archive, twin.download(task.ID)) {
		t.Error("the archives differ")
	}
	for name, set := range images(t, archive) {
		if got := text(set, tag.SeriesDescription); got != "Thorax of ***" {
			t.Errorf("%s left as %q", name, got)
		}
	}
	if left := d.paths("identities"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// loses deletes a series while no process runs tasks.
func (d *desk) loses(s imaging.Series) {
	d.t.Helper()
	db, err := sqlite.Open(d.t.Context(), filepath.Join(d.cfg.DataDir, "filmroom.db"), sqlite.Options{})
	check(d.t, err)
	check(d.t, db.Imaging().DeleteSeries(d.t.Context(), s.LibraryID, s.ID))
	check(d.t, db.Close())
}

// TestWhatIsDeletedBeforeItsTurnIsListed: the totals are those of what was asked for, and the names of the rest stay.
func TestWhatIsDeletedBeforeItsTurnIsListed(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(people()...)
	var ids []string
	var gone imaging.Series
	for _, s := range d.series(ada) {
		if ids = append(ids, s.ID); s.PatientID == "SECRET-1" {
			gone = s
		}
	}
	task := d.midway(ids...)
	d.loses(gone)
	d.start()
	if ended := d.finish(task.ID); ended.Progress.Message != "6 of 8 exported, 2 refused" {
		t.Error(ended.Progress.Message)
	}
	refused := slices.DeleteFunc(d.receipt(task.ID), func(r imaging.Receipt) bool { return r.Outcome != imaging.Refused })
	if len(refused) != 2 || !strings.Contains(refused[0].Reason, "deleted") || refused[0].SeriesUID == "" || refused[0].SOPInstanceUID != "" {
		t.Errorf("refused: %+v", refused)
	}
	folder, _, _ := strings.Cut(refused[0].Name, "/")
	for name := range images(t, d.download(task.ID)) {
		if strings.HasPrefix(name, folder) {
			t.Errorf("%s took the place of a patient who is not there", name)
		}
	}
}
