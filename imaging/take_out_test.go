package imaging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zip"

	"filmroom/dicom"
	"filmroom/dicom/phantom"
	"filmroom/dicom/tag"
	"filmroom/imaging"
	"filmroom/tasks"
)

// takeOut exports everything in ada's library and returns the task and its file.
func (d *desk) takeOut(r imaging.ExportRequest) (tasks.Task, []byte) {
	d.t.Helper()
	if r.SeriesIDs == nil {
		for _, s := range d.series(ada) {
			r.SeriesIDs = append(r.SeriesIDs, s.ID)
		}
	}
	if r.Profile == "" {
		r.Profile = "basic"
	}
	t, err := d.Export(d.t.Context(), ada, r)
	check(d.t, err)
	t = d.finish(t.ID)
	return t, d.download(t.ID)
}

func (d *desk) download(id string) []byte {
	d.t.Helper()
	_, f, err := d.tasks.OpenFile(d.t.Context(), ada, id)
	check(d.t, err)
	defer f.Close()
	data, err := io.ReadAll(f)
	check(d.t, err)
	return data
}

// contents unpacks an archive.
func contents(t testing.TB, archive []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	check(t, err)
	all := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		check(t, err)
		data, err := io.ReadAll(r)
		check(t, err)
		all[f.Name] = data
	}
	return all
}

func parse(t testing.TB, data []byte) *dicom.Dataset {
	t.Helper()
	f, err := dicom.Parse(bytes.NewReader(data), int64(len(data)))
	check(t, err)
	return f.Dataset
}

func text(d *dicom.Dataset, t dicom.Tag) string {
	s, _ := d.String(t)
	return s
}

// people are three patients; the second has two studies of two series.
func people() (all []file) {
	for _, s := range []phantom.Study{
		{Seed: 1, Slices: 2, Patient: "Secretone^Ada", PatientID: "SECRET-1"},
		{Seed: 2, Slices: 2, Series: 2, Patient: "Secrettwo^Bea", PatientID: "SECRET-2"},
		{Seed: 3, Slices: 1, Patient: "Secrettwo^Bea", PatientID: "SECRET-2"},
		{Seed: 4, Slices: 1, Patient: "Secretthree^Cy", PatientID: "SECRET-3"},
	} {
		all = append(all, study(s)...)
	}
	return all
}

func TestAnExportIsAnArchiveThatTellsNobodysName(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(people()...)
	task, archive := d.takeOut(imaging.ExportRequest{})
	if task.Name != "Export, 5 series" || task.Progress.Message != "8 of 8 exported" || !strings.HasSuffix(task.File.Name, ".zip") {
		t.Errorf("task says %q, %q, %q", task.Name, task.Progress.Message, task.File.Name)
	}
	files := contents(t, archive)
	patients := map[string]map[string]bool{} // folder -> patient ids in it
	for name, data := range files {
		if bytes.Contains(bytes.ToUpper(data), []byte("SECRET")) {
			t.Errorf("%s tells who the patient is", name)
		}
		if !strings.HasSuffix(name, ".dcm") {
			continue
		}
		set := parse(t, data)
		if text(set, tag.PatientIdentityRemoved) != "YES" {
			t.Errorf("%s is not marked as de-identified", name)
		}
		folder, _, _ := strings.Cut(name, "/")
		if patients[folder] == nil {
			patients[folder] = map[string]bool{}
		}
		patients[folder][text(set, tag.PatientID)] = true
	}
	want := []string{"P0001", "P0002", "P0003"}
	same(t, "patients", sortedKeys(patients), want)
	ids := map[string]bool{}
	for _, p := range patients {
		ids[sortedKeys(p)[0]] = true
		if len(p) != 1 {
			t.Errorf("one patient got %d pseudonyms", len(p))
		}
	}
	if len(ids) != 3 {
		t.Errorf("three patients got the pseudonyms %v", sortedKeys(ids))
	}
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func TestAnArchiveHasAManifestAReportAndAReceipt(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(study(phantom.Study{Slices: 3})...)
	task, archive := d.takeOut(imaging.ExportRequest{Name: `trial "A"`})
	files := contents(t, archive)
	names := []string{"P0001/ST001/SE001/IM000001.dcm", "P0001/ST001/SE001/IM000002.dcm", "P0001/ST001/SE001/IM000003.dcm"}
	same(t, "archive", sortedKeys(files), append(slices.Clone(names), "changes.jsonl", "manifest.sha256", "report.json"))
	manifest := ""
	for _, n := range names {
		manifest += sha(files[n]) + "  " + n + "\n"
	}
	if got := string(files["manifest.sha256"]); got != manifest {
		t.Errorf("manifest:\n%s\nwant\n%s", got, manifest)
	}
	var report struct {
		Profile string
		Images  int
		Changes []struct {
			Tag, Keyword, Action string
			Elements             int
		}
	}
	check(t, json.Unmarshal(files["report.json"], &report))
	if i := slices.IndexFunc(report.Changes, func(c struct {
		Tag, Keyword, Action string
		Elements             int
	}) bool {
		return c.Tag == "(0010,0010)"
	}); i < 0 || report.Changes[i].Action != "pseudonymised" || report.Changes[i].Elements != 3 || report.Images != 3 || report.Profile != "basic" {
		t.Errorf("report: %s", files["report.json"])
	}
	if lines := strings.Split(string(files["changes.jsonl"]), "\n"); len(lines) < 3*10 || !slices.Contains(lines, `{"file":"`+names[2]+`","tag":"(0010,0010)","action":"pseudonymised"}`) {
		t.Errorf("changes: %s", files["changes.jsonl"])
	}
	var rows []string
	for _, n := range names {
		rows = append(rows, n+" exported")
	}
	same(t, "receipt", d.outcomes(task.ID), rows)
	if task.Name != `trial "A"` || task.File.Name != `trial "A".zip` || task.Downloadable != "application/zip" {
		t.Errorf("task is %q with %q", task.Name, task.File.Name)
	}
}

func TestWhatCannotLeaveSafelyIsLeftOutAndListed(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(append(study(phantom.Study{Seed: 1, Slices: 2}), burned(study(phantom.Study{Seed: 2}))...)...)
	task, archive := d.takeOut(imaging.ExportRequest{})
	if task.Progress.Message != "2 of 3 exported, 1 refused" {
		t.Error(task.Progress.Message)
	}
	if got := len(contents(t, archive)); got != 5 {
		t.Errorf("archive has %d entries, want 2 images, manifest, report and changes", got)
	}
	rows, err := d.Receipts(t.Context(), task.ID, imaging.ReceiptQuery{After: -1, Limit: 10, Outcomes: []imaging.Outcome{imaging.Refused}})
	check(t, err)
	if len(rows) != 1 || rows[0].Reason == "" || rows[0].SOPInstanceUID == "" {
		t.Errorf("refused: %+v", rows)
	}
	var looked []string
	for _, s := range d.series(ada) {
		if s.BurnedIn == "YES" {
			looked = append(looked, s.ID)
		}
	}
	if task, _ = d.takeOut(imaging.ExportRequest{PixelsReviewed: looked}); task.Progress.Message != "3 of 3 exported" {
		t.Errorf("after a look at the pixels: %s", task.Progress.Message)
	}
}

// burned are images that say that something is burned into their pixels.
func burned(files []file) []file {
	for i, f := range files {
		parsed, err := dicom.Parse(bytes.NewReader(f.data), int64(len(f.data)))
		if err != nil {
			panic(err)
		}
		parsed.Dataset.Set(dicom.Text(tag.BurnedInAnnotation, "YES"))
		var b bytes.Buffer
		if err := dicom.Write(&b, parsed); err != nil {
			panic(err)
		}
		files[i].data = b.Bytes()
	}
	return files
}

func TestAnExportWithNothingLeftIsAnError(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(burned(study(phantom.Study{Slices: 2}))...)
	submitted, err := d.Export(t.Context(), ada, imaging.ExportRequest{SeriesIDs: []string{d.series(ada)[0].ID}, Profile: "basic"})
	check(t, err)
	task := d.wait(submitted.ID)
	if task.Status != tasks.StatusError || len(task.Failures) != 1 || task.File != nil || !strings.HasPrefix(task.Error, "None of the 2 images") {
		t.Errorf("task is %s: %q", task.Status, task.Error)
	}
	if got := len(d.receipt(task.ID)); got != 2 {
		t.Errorf("its receipt has %d rows", got)
	}
	if left := d.paths("results"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAnExportOnAFullDiskFailsClearlyAndLeavesNothing(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(study(phantom.Study{})...)
	d.SetFree(func() int64 { return 0 })
	submitted, err := d.Export(t.Context(), ada, imaging.ExportRequest{SeriesIDs: []string{d.series(ada)[0].ID}, Profile: "basic"})
	check(t, err)
	task := d.wait(submitted.ID)
	if task.Status != tasks.StatusError || len(task.Failures) != 1 || !strings.Contains(task.Error, "no room") {
		t.Errorf("task is %s after %d failures: %q", task.Status, len(task.Failures), task.Error)
	}
	if left := append(d.paths("results"), d.paths("files/tmp")...); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAnExportThatIsKilledMakesTheSameArchive(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(append(people(), study(phantom.Study{Seed: 9, Slices: 2 * imaging.BatchRows})...)...)
	there, hold := make(chan struct{}), true
	var first []byte
	d.store.beforePut = func(ctx context.Context) error {
		if hold {
			close(there)
			<-ctx.Done()
		}
		return ctx.Err()
	}
	var ids []string
	for _, s := range d.series(ada) {
		ids = append(ids, s.ID)
	}
	task, err := d.Export(t.Context(), ada, imaging.ExportRequest{SeriesIDs: ids, Profile: "basic", Options: shiftDates})
	check(t, err)
	<-there
	d.crash()
	d.start()
	d.finish(task.ID)
	first = d.download(task.ID)
	rows := d.outcomes(task.ID)

	// The very same task once more, as if its end had not been stored.
	check(t, d.unfinish(task.ID))
	d.finish(task.ID)
	if again := d.download(task.ID); !bytes.Equal(first, again) {
		t.Errorf("the archives differ: %d and %d bytes", len(first), len(again))
	}
	same(t, "receipt", d.outcomes(task.ID), rows)
}

var shiftDates = map[string]json.RawMessage{"shiftDates": json.RawMessage("true")}

// unfinish puts a finished task back into its lane.
func (d *desk) unfinish(id string) error {
	t, err := d.db.Tasks().Get(d.t.Context(), id)
	if err != nil {
		return err
	}
	_, err = d.db.Tasks().Update(d.t.Context(), t, func(t *tasks.Task) error {
		t.Status, t.File, t.Result = tasks.StatusQueued, nil, nil
		return nil
	})
	d.crash()
	d.start()
	return err
}

func TestDatesOfOnePatientMoveTogether(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(people()...)
	_, archive := d.takeOut(imaging.ExportRequest{Options: shiftDates})
	dates := map[string]map[string]bool{}
	for name, data := range contents(t, archive) {
		if folder, _, _ := strings.Cut(name, "/"); strings.HasSuffix(name, ".dcm") {
			if dates[folder] == nil {
				dates[folder] = map[string]bool{}
			}
			dates[folder][text(parse(t, data), tag.StudyDate)] = true
		}
	}
	for folder, of := range dates {
		if len(of) != 1 || of["20240305"] || of[""] {
			t.Errorf("%s has the study dates %v: all were 20240305 and must move by one offset", folder, sortedKeys(of))
		}
	}
}

func TestPseudonymsAreThosePeopleAskFor(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(people()...)
	_, archive := d.takeOut(imaging.ExportRequest{Pseudonyms: map[string]string{"SECRET-2": "T0001"}, PseudonymPrefix: "T"})
	found := map[string]bool{}
	for name, data := range contents(t, archive) {
		if strings.HasSuffix(name, ".dcm") {
			found[text(parse(t, data), tag.PatientID)] = true
		}
	}
	same(t, "pseudonyms", sortedKeys(found), []string{"T0001", "T0002", "T0003"})
}

func TestAnImageThatNamesAnotherPatientThanItsSeriesIsLeftOut(t *testing.T) {
	t.Parallel()
	d := setup(t)
	mine := study(phantom.Study{Slices: 2, PatientID: "AAAAAAAA"})
	strange := file{"strange", bytes.ReplaceAll(mine[1].data, []byte("AAAAAAAA"), []byte("BBBBBBBB"))}
	d.bring(mine[0], strange)
	task, _ := d.takeOut(imaging.ExportRequest{})
	if task.Progress.Message != "1 of 2 exported, 1 refused" {
		t.Error(task.Progress.Message)
	}
}

func TestAWrongRequestIsRefusedWithEachOfItsMistakes(t *testing.T) {
	t.Parallel()
	d := setup(t)
	twins := append(study(phantom.Study{Seed: 1, PatientID: "SAME-ID"}), file{"twin", bytes.ReplaceAll(study(phantom.Study{Seed: 2, PatientID: "SAME-ID"})[0].data, []byte("19700101"), []byte("19710101"))})
	d.bring(append(twins, people()...)...)
	var ids []string
	for _, s := range d.series(ada) {
		ids = append(ids, s.ID)
	}
	yes, no := json.RawMessage("true"), json.RawMessage("false")
	for name, c := range map[string]struct {
		request imaging.ExportRequest
		fields  []string
	}{
		"nothing selected":          {imaging.ExportRequest{Profile: "basic"}, []string{"seriesIds"}},
		"no profile":                {imaging.ExportRequest{SeriesIDs: ids}, []string{"profile"}},
		"identified data":           {imaging.ExportRequest{SeriesIDs: ids, Profile: "none", Confirm: "identified"}, []string{"profile"}},
		"several":                   {imaging.ExportRequest{Profile: "x", Options: map[string]json.RawMessage{"unheardOf": no, "shiftDates": json.RawMessage("1")}}, []string{"profile", "options.shiftDates", "options.unheardOf", "seriesIds"}},
		"options that exclude":      {imaging.ExportRequest{SeriesIDs: ids, Profile: "basic", Options: map[string]json.RawMessage{"shiftDates": yes, "retainFullDates": yes}}, []string{"options"}},
		"one pseudonym for two":     {imaging.ExportRequest{SeriesIDs: ids, Profile: "basic", Pseudonyms: map[string]string{"SECRET-1": "X", "SECRET-2": "x"}}, []string{"pseudonyms"}},
		"two patients with one id":  {imaging.ExportRequest{SeriesIDs: ids, Profile: "basic", Pseudonyms: map[string]string{"SAME-ID": "X"}}, []string{"pseudonyms"}},
		"pseudonyms that are none":  {imaging.ExportRequest{SeriesIDs: ids, Profile: "basic", Pseudonyms: map[string]string{"SECRET-1": `a\b`}}, []string{"pseudonyms"}},
		"a prefix that cannot be":   {imaging.ExportRequest{SeriesIDs: ids, Profile: "basic", PseudonymPrefix: "é"}, []string{"pseudonymPrefix"}},
		"a name beyond all measure": {imaging.ExportRequest{SeriesIDs: ids, Profile: "basic", Name: strings.Repeat("x", 1000)}, []string{"name"}},
	} {
		_, err := d.Export(t.Context(), ada, c.request)
		wrong, _ := errors.AsType[imaging.FieldErrors](err)
		var fields []string
		for _, f := range wrong {
			fields = append(fields, f.Field)
			if strings.Contains(f.Reason, "SECRET") || f.Reason == "" {
				t.Errorf("%s: the reason is %q", name, f.Reason)
			}
		}
		same(t, name+fmt.Sprintf(" (%v)", err), fields, c.fields)
	}
}

func TestSomebodyElsesSeriesDoesNotExist(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(study(phantom.Study{})...)
	id := d.series(ada)[0].ID
	ctx := t.Context()
	_, exported := d.Export(ctx, bob, imaging.ExportRequest{SeriesIDs: []string{id}, Profile: "basic"})
	_, found := d.Series(ctx, bob, id)
	_, listed := d.Instances(ctx, bob, id, nil, 1)
	_, seen := d.Preview(ctx, bob, id, imaging.PreviewOptions{})
	_, tried := d.DryRun(ctx, bob, imaging.ExportRequest{SeriesIDs: []string{id}, Profile: "basic"}, "")
	_, deleted := d.Delete(ctx, bob, []string{id})
	for what, err := range map[string]error{
		"export": exported, "series": found, "instances": listed, "preview": seen, "dry run": tried, "delete": deleted,
	} {
		if !errors.Is(err, imaging.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestTheSecretsOfAnExportAreSealed(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(people()...)
	task, _ := d.takeOut(imaging.ExportRequest{Pseudonyms: map[string]string{"SECRET-1": "TELLTALE"}})
	stored, err := d.db.Tasks().Get(t.Context(), task.ID)
	check(t, err)
	record, err := json.Marshal(stored)
	check(t, err)
	for _, secret := range []string{"SECRET", "TELLTALE", "Secret"} {
		if bytes.Contains(record, []byte(secret)) || bytes.Contains(stored.Sealed, []byte(secret)) {
			t.Errorf("the record tells %q", secret)
		}
	}
}
