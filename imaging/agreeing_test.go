package imaging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filmroom/dicom"
	"filmroom/dicom/phantom"
	"filmroom/dicom/tag"
	"filmroom/imaging"
	"filmroom/tasks"
)

// edited is a file with other elements in it.
func edited(t testing.TB, f file, elements ...*dicom.Element) file {
	t.Helper()
	parsed, err := dicom.Parse(bytes.NewReader(f.data), int64(len(f.data)))
	check(t, err)
	for _, e := range elements {
		parsed.Dataset.Set(e)
	}
	var b bytes.Buffer
	check(t, dicom.Write(&b, parsed))
	return file{f.name, b.Bytes()}
}

// images are the data sets of an archive, by name.
func images(t testing.TB, archive []byte) map[string]*dicom.Dataset {
	t.Helper()
	all := map[string]*dicom.Dataset{}
	for name, data := range contents(t, archive) {
		if strings.HasSuffix(name, ".dcm") {
			all[name] = parse(t, data)
		}
	}
	return all
}

// faces are what an archive tells apart patients, images and days by.
func faces(t testing.TB, archive []byte) []string {
	t.Helper()
	var all []string
	for _, d := range images(t, archive) {
		all = append(all, text(d, tag.PatientID)+" "+text(d, tag.SOPInstanceUID)+" "+text(d, tag.StudyDate))
	}
	slices.Sort(all)
	return all
}

func on(names ...string) map[string]json.RawMessage {
	options := map[string]json.RawMessage{}
	for _, n := range names {
		options[n] = json.RawMessage("true")
	}
	return options
}

// TestANameThatOnlyAnotherSeriesStatesIsFound: one series tells the maiden name, another holds it in a text
// that stays. Only the second is taken out.
func TestANameThatOnlyAnotherSeriesStatesIsFound(t *testing.T) {
	t.Parallel()
	d := setup(t)
	files := study(phantom.Study{Series: 2, Slices: 1})
	files[0] = edited(t, files[0], dicom.Text(tag.PatientBirthName, "Featherstone^Zoe"), dicom.Text(tag.OtherPatientIDs, "OTHER-4711"))
	files[1] = edited(t, files[1], dicom.Text(tag.SeriesDescription, "Thorax of Featherstone, see OTHER-4711"))
	d.bring(files...)
	var chosen []string
	for _, s := range d.series(ada) {
		if strings.HasPrefix(s.Description, "Thorax") {
			chosen = append(chosen, s.ID)
		}
	}
	_, archive := d.takeOut(imaging.ExportRequest{SeriesIDs: chosen, Options: on("cleanDescriptors")})
	for _, set := range images(t, archive) {
		if got := text(set, tag.SeriesDescription); got != "Thorax of ***, see ***" {
			t.Errorf("the description left as %q", got)
		}
	}
}

// TestAStudyThatNamesTooManyDoesNotLeave: what is searched for is bounded, and beyond it nobody can tell.
func TestAStudyThatNamesTooManyDoesNotLeave(t *testing.T) {
	t.Parallel()
	d := setup(t)
	files := study(phantom.Study{Series: 2, Slices: 1})
	var names []string
	for i := range 1001 {
		names = append(names, strings.Repeat("x", 4+i%50)+"^"+string(rune('A'+i%26))+strings.Repeat("y", i/26))
	}
	files[0] = edited(t, files[0], dicom.Text(tag.OtherPatientNames, names...))
	d.bring(files...)
	ids := []string{}
	for _, s := range d.series(ada) {
		ids = append(ids, s.ID)
	}
	submitted, err := d.Export(t.Context(), ada, imaging.ExportRequest{SeriesIDs: ids, Profile: "basic"})
	check(t, err)
	if task := d.wait(submitted.ID); task.Status != tasks.StatusError || !strings.Contains(task.Error, "more people and numbers") {
		t.Errorf("task is %s: %q", task.Status, task.Error)
	}
}

func TestExportsUnderOneKeyAgree(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(people()...)
	request := imaging.ExportRequest{Options: on("shiftDates"), Key: "trial-a"}
	_, first := d.takeOut(request)
	request.SeriesIDs = []string{}
	for _, s := range d.series(ada) {
		if s.PatientID == "SECRET-3" || s.PatientID == "SECRET-1" {
			request.SeriesIDs = append(request.SeriesIDs, s.ID)
		}
	}
	_, second := d.takeOut(request)
	all, some := faces(t, first), faces(t, second)
	if len(some) != 3 || len(all) != 8 {
		t.Fatalf("%d and %d images", len(all), len(some))
	}
	for _, face := range some {
		if !slices.Contains(all, face) {
			t.Errorf("under the same key %s came out otherwise before", face)
		}
	}
	for what, key := range map[string]string{"another key": "trial-b", "no key": ""} {
		request.Key = key
		_, other := d.takeOut(request)
		for _, face := range faces(t, other) {
			id, _, _ := strings.Cut(face, " ")
			if slices.ContainsFunc(all, func(f string) bool {
				before, _, _ := strings.Cut(f, " ")
				return before == id || strings.Fields(f)[1] == strings.Fields(face)[1]
			}) {
				t.Errorf("under %s %s agrees with the first", what, face)
			}
		}
	}
}

// What exports under one key agree about is made once, by the first, so they never run at once.
func TestExportsUnderOneKeyTakeTurns(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(people()...)
	there, gate, first := make(chan struct{}), make(chan struct{}), true
	var mu sync.Mutex
	d.store.beforePut = func(context.Context) error {
		mu.Lock()
		holds := first
		first = false
		mu.Unlock()
		if holds {
			close(there)
			<-gate
		}
		return nil
	}
	open := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(open) // before the desk stops
	export := func(key string) tasks.Task {
		request := imaging.ExportRequest{Profile: "basic", Key: key}
		for _, s := range d.series(ada) {
			request.SeriesIDs = append(request.SeriesIDs, s.ID)
		}
		task, err := d.Export(t.Context(), ada, request)
		check(t, err)
		return task
	}
	turns := []tasks.Task{export("trial-a")}
	<-there
	turns = append(turns, export("trial-a"), export("trial-a"))
	d.finish(export("trial-b").ID) // another key is another lock, and the lane has a slot
	for _, waiting := range turns[1:] {
		now, err := d.tasks.Get(t.Context(), ada, waiting.ID)
		check(t, err)
		why, _, err := d.tasks.Waiting(t.Context(), ada, now)
		check(t, err)
		if why.For != tasks.WaitsForLock || why.Holder == nil || why.Holder.ID != turns[0].ID || now.Attempt != 0 {
			t.Errorf("the next export waits for %q, after %d attempts", why.For, now.Attempt)
		}
	}
	open()
	for i := range turns {
		turns[i] = d.finish(turns[i].ID)
		if i > 0 && turns[i].StartedAt.Before(turns[i-1].EndedAt) || turns[i].Attempt != 1 {
			t.Errorf("export %d began at %v, attempt %d; the one before it ended at %v", i, turns[i].StartedAt, turns[i].Attempt, turns[i-1].EndedAt)
		}
	}
}

// Threat: a person who knows the name of another's key.
func TestAKeyIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(people()...)
	_, mine := d.takeOut(imaging.ExportRequest{Key: "trial-a"})
	u, err := d.NewUpload(t.Context(), bob, "")
	check(t, err)
	defer u.Abort()
	for _, f := range people() {
		check(t, u.Add(t.Context(), f.name, bytes.NewReader(f.data)))
	}
	task, _, err := u.Commit(t.Context())
	check(t, err)
	d.endOf(bob, task.ID)
	request := imaging.ExportRequest{Profile: "basic", Key: "trial-a"}
	for _, s := range d.series(bob) {
		request.SeriesIDs = append(request.SeriesIDs, s.ID)
	}
	task, err = d.Export(t.Context(), bob, request)
	check(t, err)
	d.endOf(bob, task.ID)
	_, f, err := d.tasks.OpenFile(t.Context(), bob, task.ID)
	check(t, err)
	defer f.Close()
	var theirs bytes.Buffer
	_, err = theirs.ReadFrom(f)
	check(t, err)
	for _, face := range faces(t, theirs.Bytes()) {
		if slices.Contains(faces(t, mine), face) {
			t.Errorf("%s is the same for two people", face)
		}
	}
}

// endOf follows somebody's task to its end.
func (d *desk) endOf(p tasks.Person, id string) {
	d.t.Helper()
	sub := d.tasks.Subscribe(p, tasks.Scope{TaskID: id})
	defer sub.Close()
	for {
		t, err := d.tasks.Get(d.t.Context(), p, id)
		check(d.t, err)
		if t.Status.Final() {
			return
		}
		<-sub.Ready()
		sub.Take()
	}
}

func TestTheMappingLeadsBackAndStandsBesideTheArchive(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]string{"new UIDs": nil, "kept UIDs": {"retainUids"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			d.bring(people()...)
			task, archive := d.takeOut(imaging.ExportRequest{Options: on(options...)})
			for _, s := range d.series(ada) {
				d.deletes(s.ID) // the mapping outlives them
			}
			rows, err := d.Mapping(t.Context(), ada, task.ID)
			check(t, err)
			left := images(t, archive)
			ids := map[string]string{}
			for row, err := range rows {
				check(t, err)
				set := left[row.Name]
				if set == nil {
					t.Fatalf("there is no image %q in the archive", row.Name)
				}
				delete(left, row.Name)
				same(t, row.Name, []string{row.Pseudonym, row.NewStudyUID, row.NewSeriesUID, row.NewInstanceUID},
					[]string{text(set, tag.PatientID), text(set, tag.StudyInstanceUID), text(set, tag.SeriesInstanceUID), text(set, tag.SOPInstanceUID)})
				if kept := row.InstanceUID == row.NewInstanceUID; kept != (options != nil) {
					t.Errorf("%s was %s and became %s", row.Name, row.InstanceUID, row.NewInstanceUID)
				}
				ids[row.PatientID] = row.Pseudonym
			}
			if len(left) > 0 {
				t.Errorf("the mapping lacks %d images", len(left))
			}
			same(t, "patients", slices.Sorted(maps.Keys(ids)), []string{"SECRET-1", "SECRET-2", "SECRET-3"})
		})
	}
}

// Threat: somebody else, be it an administrator, who wants to know who the patients of an export are.
func TestTheMappingIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	d := setup(t)
	brought := d.bring(study(phantom.Study{})...)
	task, _ := d.takeOut(imaging.ExportRequest{})
	admin := bob
	admin.Admin = true
	for who, p := range map[string]tasks.Person{"bob": bob, "an administrator": admin} {
		if _, err := d.Mapping(t.Context(), p, task.ID); !errors.Is(err, tasks.ErrNotFound) {
			t.Errorf("%s got %v", who, err)
		}
	}
	if _, err := d.Mapping(t.Context(), ada, brought.ID); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("an import's mapping: %v", err)
	}
	stored, err := d.db.Tasks().Get(t.Context(), task.ID)
	check(t, err)
	_, err = d.db.Tasks().Update(t.Context(), stored, func(t *tasks.Task) error {
		t.File.ExpiresAt = time.Unix(0, 0)
		return nil
	})
	check(t, err)
	if _, err := d.Mapping(t.Context(), ada, task.ID); !errors.Is(err, tasks.ErrExpired) {
		t.Errorf("when the archive is gone: %v", err)
	}
}

func TestRectanglesAreBlackInWhatLeaves(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(burned(study(phantom.Study{Slices: 2}))...)
	id := d.series(ada)[0].ID
	task, archive := d.takeOut(imaging.ExportRequest{Options: on("cleanPixelData"), Blackout: map[string][][]int{id: {{0, 0, 16, 4}, {2, 8, 1, 1}}}})
	if task.Progress.Message != "2 of 2 exported" {
		t.Error(task.Progress.Message)
	}
	for name, set := range images(t, archive) {
		e, _ := set.Get(tag.PixelData)
		if e == nil || e.Len() != 512 {
			t.Fatalf("%s has no pixels", name)
		}
		pixels, err := e.Bytes(1 << 20)
		check(t, err)
		// The darkest value is the same everywhere, whatever the image shows elsewhere.
		dark := pixels[:2]
		for at := 0; at < 16*16; at++ {
			x, y := at%16, at/16
			black := y < 4 || x == 2 && y == 8
			if here := pixels[2*at : 2*at+2]; black && !bytes.Equal(here, dark) {
				t.Fatalf("%s shows %v at %d, %d", name, here, x, y)
			}
		}
		if bytes.Count(pixels, dark) == 16*16 {
			t.Errorf("%s is black all over", name)
		}
		codes := []string{}
		for _, item := range set.Items(tag.DeidentificationMethodCodeSequence) {
			codes = append(codes, text(item, tag.CodeValue))
		}
		if !slices.Contains(codes, "113101") || text(set, tag.BurnedInAnnotation) != "NO" {
			t.Errorf("%s is marked %v, Burned In Annotation %q", name, codes, text(set, tag.BurnedInAnnotation))
		}
	}
	if report := string(contents(t, archive)["report.json"]); !strings.Contains(report, "cleanPixelData") || !strings.Contains(report, "blanked") {
		t.Errorf("the report does not say so: %s", report)
	}
}

func TestWhatCannotBeBlackedOutIsRefused(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(append(study(phantom.Study{Seed: 1, Slices: 1}), study(phantom.Study{Seed: 2, Slices: 1, Size: 64})...)...)
	all := map[string][][]int{}
	for _, s := range d.series(ada) {
		all[s.ID] = [][]int{{20, 20, 4, 4}} // beside the smaller picture
	}
	task, _ := d.takeOut(imaging.ExportRequest{Blackout: all})
	if task.Progress.Message != "1 of 2 exported, 1 refused" {
		t.Error(task.Progress.Message)
	}
	rows, err := d.Receipts(t.Context(), task.ID, imaging.ReceiptQuery{After: -1, Limit: 10, Outcomes: []imaging.Outcome{imaging.Refused}})
	check(t, err)
	if len(rows) != 1 || rows[0].Reason != "cannot be de-identified: a rectangle to black out lies outside of a picture of 16 x 16 pixels" {
		t.Errorf("refused: %+v", rows)
	}
}

func TestWrongRectanglesKeysAndTimesAreRefusedByField(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(study(phantom.Study{})...)
	id := d.series(ada)[0].ID
	off := map[string]json.RawMessage{"cleanPixelData": json.RawMessage("false")}
	for name, c := range map[string]struct {
		request imaging.ExportRequest
		field   string
	}{
		"clean pixels without rectangles": {imaging.ExportRequest{Options: on("cleanPixelData")}, "options.cleanPixelData"},
		"rectangles but no clean pixels":  {imaging.ExportRequest{Options: off, Blackout: map[string][][]int{id: {{0, 0, 1, 1}}}}, "options.cleanPixelData"},
		"no rectangle":                    {imaging.ExportRequest{Blackout: map[string][][]int{id: {}}}, "blackout"},
		"three numbers":                   {imaging.ExportRequest{Blackout: map[string][][]int{id: {{0, 0, 1}}}}, "blackout"},
		"no area":                         {imaging.ExportRequest{Blackout: map[string][][]int{id: {{0, 0, 0, 1}}}}, "blackout"},
		"left of the picture":             {imaging.ExportRequest{Blackout: map[string][][]int{id: {{-1, 0, 1, 1}}}}, "blackout"},
		"another series":                  {imaging.ExportRequest{Blackout: map[string][][]int{"01J": {{0, 0, 1, 1}}}}, "blackout"},
		"a key with space around it":      {imaging.ExportRequest{Key: " a"}, "key"},
		"a key with a line in it":         {imaging.ExportRequest{Key: "a\nb"}, "key"},
		"times without dates":             {imaging.ExportRequest{Options: on("emptyTimes")}, "options"},
	} {
		c.request.SeriesIDs, c.request.Profile = []string{id}, "basic"
		_, err := d.Export(t.Context(), ada, c.request)
		if wrong, _ := errors.AsType[imaging.FieldErrors](err); len(wrong) != 1 || wrong[0].Field != c.field || wrong[0].Reason == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTimesAreEmptiedWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(study(phantom.Study{})...)
	_, archive := d.takeOut(imaging.ExportRequest{Options: on("retainFullDates", "emptyTimes")})
	for _, set := range images(t, archive) {
		if text(set, tag.StudyDate) != "20240305" || text(set, tag.StudyTime) != "" || !set.Has(tag.StudyTime) {
			t.Errorf("left: %q %q", text(set, tag.StudyDate), text(set, tag.StudyTime))
		}
	}
}
