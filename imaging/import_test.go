package imaging_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"filmroom/dicom/phantom"
	"filmroom/imaging"
)

func TestAZIPOfAStudyComesInAsOneSeries(t *testing.T) {
	t.Parallel()
	d := setup(t)
	task := d.bring(zipOf("study.zip", study(phantom.Study{Slices: 5})...))
	same(t, "receipt", d.outcomes(task.ID), []string{
		"study/IM0000 imported", "study/IM0001 imported", "study/IM0002 imported", "study/IM0003 imported", "study/IM0004 imported",
	})
	if task.Name != "Import, 5 files" || task.Progress.Message != "5 images imported" {
		t.Errorf("task says %q, %q", task.Name, task.Progress.Message)
	}
	if task.Progress.Value != 5 || task.Progress.Max != 5 {
		t.Errorf("progress is %+v", task.Progress)
	}
	all := d.series(ada)
	if len(all) != 1 || all[0].Instances != 5 || all[0].Modality != "CT" || all[0].PatientName != "Phantom^Sample" || all[0].StudyDate != "20240305" {
		t.Errorf("library has %+v", all)
	}
	if others := d.series(bob); len(others) > 0 {
		t.Errorf("somebody else sees %v", others)
	}
	d.stop()
	if left := d.paths("staging"); len(left) > 0 {
		t.Errorf("staged input is left: %v", left)
	}
}

func TestWhatIsKeptIsWhatWasSent(t *testing.T) {
	t.Parallel()
	d := setup(t)
	sent := study(phantom.Study{Slices: 3})
	d.bring(sent...)
	series := d.series(ada)[0]
	instances, err := d.Instances(t.Context(), ada, series.ID, nil, 10)
	check(t, err)
	total := int64(0)
	for i, instance := range instances {
		total += instance.Size
		if instance.SHA256 != sha(sent[i].data) || instance.Entry != int64(i) || instance.Rows != 16 || instance.Frames != 1 || instance.InstanceNumber != i+1 {
			t.Errorf("instance %d is %+v", i, instance)
		}
		if !slices.ContainsFunc(d.paths("files"), func(p string) bool {
			return strings.HasSuffix(p, instance.SHA256) && bytes.Equal(read(t, p), sent[i].data)
		}) {
			t.Errorf("file %d is not kept as it was", i)
		}
	}
	if series.Bytes != total || len(d.paths("files")) != 3 {
		t.Errorf("series has %d bytes, files are %v", series.Bytes, d.paths("files"))
	}
}

func TestEveryWayOfSendingTellsTheSameFilesApart(t *testing.T) {
	t.Parallel()
	images := study(phantom.Study{Slices: 2})
	a, b := images[0], images[1]
	for name, sent := range map[string]struct {
		files []file
		want  []string
	}{
		"loose files":       {[]file{a, b}, []string{a.name + " imported", b.name + " imported"}},
		"a tar.gz":          {[]file{tarGz("x.tar.gz", a, b)}, []string{a.name + " imported", b.name + " imported"}},
		"an archive beside": {[]file{zipOf("x.zip", a), b}, []string{a.name + " imported", b.name + " imported"}},
		"two archives":      {[]file{zipOf("x.zip", a), tarGz("y.tgz", b)}, []string{a.name + " imported", b.name + " imported"}},
		"a ZIP in a ZIP":    {[]file{zipOf("x.zip", zipOf("in.zip", a), b)}, []string{"in.zip/" + a.name + " imported", b.name + " imported"}},
		"a tar.gz in a ZIP": {[]file{zipOf("x.zip", tarGz("in.tgz", a, b))}, []string{"in.tgz/" + a.name + " imported", "in.tgz/" + b.name + " imported"}},
		"a ZIP in a tar.gz": {[]file{tarGz("x.tgz", b, zipOf("in.zip", a))}, []string{b.name + " imported", "in.zip/" + a.name + " imported"}},
		"a single .gz":      {[]file{gz("x.dcm.gz", a.data), b}, []string{"x.dcm.gz imported", b.name + " imported"}},
		"archives too deep": {[]file{zipOf("x.zip", zipOf("in.zip", zipOf("deep.zip", a), b), a)}, []string{"in.zip/deep.zip nested-archive", "in.zip/" + b.name + " imported", a.name + " imported"}},
		"names that lie":    {[]file{{"a.zip", a.data}, {"b.txt", zipOf("", b).data}}, []string{"a.zip imported", b.name + " imported"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			task := d.bring(sent.files...)
			same(t, "receipt", d.outcomes(task.ID), sent.want)
			if all := d.series(ada); len(all) != 1 || all[0].Instances != 2 {
				t.Errorf("library has %+v", all)
			}
			if left := d.paths("files/tmp"); len(left) > 0 {
				t.Errorf("temporary files are left: %v", left)
			}
		})
	}
}

func TestTheSameImageAgainIsADuplicateAndAnotherUnderItsUIDAConflict(t *testing.T) {
	t.Parallel()
	d := setup(t)
	images := study(phantom.Study{Slices: 2})
	other := file{"changed", bytes.Replace(images[0].data, []byte("Synthetic chest"), []byte("Synthetic CHEST"), 1)}
	first := d.bring(images[0], images[0], other)
	same(t, "first", d.outcomes(first.ID), []string{"study/IM0000 imported", "study/IM0000 duplicate", "changed conflict"})
	second := d.bring(images...)
	same(t, "second", d.outcomes(second.ID), []string{"study/IM0000 duplicate", "study/IM0001 imported"})
	if second.Progress.Message != "1 imported, 1 already here" {
		t.Errorf("second says %q", second.Progress.Message)
	}
	var result imaging.ImportResult
	check(t, json.Unmarshal(second.Result, &result))
	want := imaging.ImportResult{Files: 2, Outcomes: map[imaging.Outcome]int{imaging.Imported: 1, imaging.Duplicate: 1}}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Error(diff)
	}
}

func TestOneBadFileDoesNotStopTheRest(t *testing.T) {
	t.Parallel()
	d := setup(t)
	image := study(phantom.Study{})[0]
	cut := file{"cut", image.data[:len(image.data)-40]}
	incomplete := file{"incomplete", bytes.Replace(image.data, []byte(phantom.Study{}.SeriesUID(0)), bytes.Repeat([]byte("?"), len(phantom.Study{}.SeriesUID(0))), 1)}
	task := d.bring(file{"notes.txt", []byte("not an image")}, cut, incomplete, file{"empty", nil}, image)
	same(t, "receipt", d.outcomes(task.ID), []string{
		"notes.txt not-dicom", "cut unreadable", "incomplete incomplete", "empty not-dicom", "study/IM0000 imported",
	})
	for _, row := range d.receipt(task.ID)[:4] {
		if row.Reason == "" || strings.Contains(row.Reason, "Phantom") {
			t.Errorf("%s: the reason is %q", row.Name, row.Reason)
		}
	}
	row := d.receipt(task.ID)[2]
	if row.StudyUID == "" || row.SOPInstanceUID == "" || row.SeriesUID != "" {
		t.Errorf("an incomplete file tells the UIDs that it has: %+v", row)
	}
}

func TestNothingOfWhatWasSentIsLogged(t *testing.T) {
	t.Parallel()
	d := setup(t)
	s := phantom.Study{Slices: 2, Patient: "Secretperson^Ada", PatientID: "SECRETID"}
	task := d.bring(zipOf("secretarchive.zip", append(study(s), file{"secretname.txt", []byte("x")})...))
	lines, err := d.tasks.Log(t.Context(), ada, task.ID, 0, 100)
	check(t, err)
	told := d.logged.String() + task.Name + task.Progress.Message + string(task.Args) + string(task.Result)
	for _, l := range lines {
		told += l.Text
	}
	for _, e := range task.Journal {
		told += e.Note
	}
	for _, secret := range []string{"secret", "SECRET", "Secret"} {
		if strings.Contains(told, secret) {
			t.Errorf("%q stands in a log, a name or a message:\n%s", secret, told)
		}
	}
	if len(lines) == 0 {
		t.Error("the task has no log")
	}
}

func TestTheSampleStudyComesInAsAnyOther(t *testing.T) {
	t.Parallel()
	d := setup(t)
	task, err := d.Sample(t.Context(), ada)
	check(t, err)
	if done := d.finish(task.ID); done.Progress.Message != "60 images imported" {
		t.Error(done.Progress.Message)
	}
}

func TestManySmallFilesComeInInManyBatches(t *testing.T) {
	t.Parallel()
	d := setup(t)
	n := 3*imaging.BatchRows + 7
	var files []file
	for i := range n {
		files = append(files, file{fmt.Sprint(i), fmt.Append(nil, "text ", i)})
	}
	task := d.bring(zipOf("x.zip", files...))
	for i, row := range d.receipt(task.ID) {
		if row.Index != int64(i) || row.Name != fmt.Sprint(i) {
			t.Fatalf("row %d is %+v", i, row)
		}
	}
	if got := len(d.receipt(task.ID)); got != n {
		t.Errorf("%d files were sent, the receipt has %d rows", n, got)
	}
}

// Threat: identity by series and instance number lets two images destroy one another.
func TestTwoImagesOfOneNumberAreBothKept(t *testing.T) {
	t.Parallel()
	d := setup(t)
	one := study(phantom.Study{})[0]
	uid := phantom.Study{}.InstanceUID(0)
	other := file{"other", bytes.ReplaceAll(one.data, []byte(uid), []byte(uid[:len(uid)-1]+string('0'+(uid[len(uid)-1]-'0'+1)%10)))}
	for _, order := range [][]file{{one, other}, {other, one}} { // the second time all are here
		d.bring(order...)
		all := d.series(ada)
		if len(all) != 1 || all[0].Instances != 2 {
			t.Fatalf("there are %+v, want one series of two images", all)
		}
	}
	if kept := d.paths("files"); len(kept) != 2 {
		t.Errorf("%d files are kept, want both", len(kept))
	}
}
