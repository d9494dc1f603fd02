package handlers_test

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/tasks"
)

// takesOut exports one series with what more is asked for and returns the task's id and its images.
func (p *person) takesOut(series seriesAnswer, more map[string]any) (string, map[string]*dicom.Dataset) {
	p.t.Helper()
	request := map[string]any{"seriesIds": []string{series.SeriesID}, "profile": "basic"}
	for name, value := range more {
		request[name] = value
	}
	var got struct{ TaskID string }
	p.api("POST", "/api/exports", jsonBody(request)).wants(http.StatusAccepted).json(&got)
	return got.TaskID, p.images(got.TaskID)
}

// images are what an export took out, by name.
func (p *person) images(taskID string) map[string]*dicom.Dataset {
	p.t.Helper()
	if end := p.ends(taskID); end.Status != tasks.StatusFinished {
		p.t.Fatalf("ended %s: %s", end.Status, end.Error)
	}
	a := p.api("GET", "/api/tasks/"+taskID+"/download").wants(http.StatusOK)
	images := map[string]*dicom.Dataset{}
	for _, f := range must(zip.NewReader(bytes.NewReader(a.body), int64(len(a.body)))).File {
		if strings.HasSuffix(f.Name, ".dcm") {
			data := must(io.ReadAll(must(f.Open())))
			images[f.Name] = must(dicom.Parse(bytes.NewReader(data), int64(len(data)))).Dataset
		}
	}
	return images
}

func valueOf(d *dicom.Dataset, t dicom.Tag) string {
	s, _ := d.String(t)
	return s
}

func TestEveryFieldOfAnExportIsCarriedOut(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	series := ada.study()
	all := map[string]bool{"retainUids": true, "retainDevice": true, "retainInstitution": true, "retainPatientCharacteristics": true, "shiftDates": true,
		"emptyTimes": true, "cleanDescriptors": true, "cleanStructuredContent": true, "cleanGraphics": true, "cleanPixelData": true, "retainSafePrivate": true, "retainFullDates": false}
	_, images := ada.takesOut(series, map[string]any{
		"options": all, "pseudonyms": map[string]string{series.PatientID: "VOLUNTEER-7"}, "pixelsReviewed": []string{series.SeriesID},
		"blackout": map[string]any{series.SeriesID: [][]int{{0, 0, 4, 2}}}, "key": "trial-a",
	})
	if len(images) != 3 {
		t.Fatalf("%d images left instead of 3", len(images))
	}
	for name, d := range images {
		var codes []string
		for _, item := range d.Items(tag.DeidentificationMethodCodeSequence) {
			codes = append(codes, valueOf(item, tag.CodeValue))
		}
		want := []string{"113100", "113101", "113103", "113104", "113105", "113107", "113108", "113109", "113110", "113111", "113112"}
		if slices.Sort(codes); !slices.Equal(codes, want) {
			t.Errorf("%s is marked with %v", name, codes)
		}
		if valueOf(d, tag.PatientID) != "VOLUNTEER-7" || valueOf(d, tag.SeriesInstanceUID) != series.SeriesUID || valueOf(d, tag.StudyTime) != "" ||
			valueOf(d, tag.StudyDate) == series.StudyDate || valueOf(d, tag.StudyDate) == "" {
			t.Errorf("%s: %q %q %q %q", name, valueOf(d, tag.PatientID), valueOf(d, tag.SeriesInstanceUID), valueOf(d, tag.StudyTime), valueOf(d, tag.StudyDate))
		}
	}
	if _, images = ada.takesOut(series, map[string]any{"pseudonymPrefix": "TRIAL-"}); valueOf(images["P0001/ST001/SE001/IM000001.dcm"], tag.PatientID) != "TRIAL-0001" {
		t.Error("the prefix was ignored")
	}
}

func TestWhatAnExportCannotCarryOutIsRefusedByField(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	series := ada.study()
	for field, more := range map[string]map[string]any{
		"options.cleanPixelData":          {"options": map[string]bool{"cleanPixelData": true}},
		"options.cleanRecognizableVisual": {"options": map[string]bool{"cleanRecognizableVisual": true}},
		"options":                         {"options": map[string]bool{"shiftDates": true, "retainFullDates": true}},
		"blackout":                        {"blackout": map[string]any{series.SeriesID: [][]int{{1, 2, 3}}}},
		"pseudonyms":                      {"pseudonyms": map[string]string{series.PatientID: "a^b"}},
		"pseudonymPrefix":                 {"pseudonymPrefix": "="},
		"key":                             {"key": " a "},
	} {
		request := map[string]any{"seriesIds": []string{series.SeriesID}, "profile": "basic"}
		for name, value := range more {
			request[name] = value
		}
		ada.api("POST", "/api/exports", jsonBody(request)).refuses(field)
	}
}

func TestTheMappingIsAFileOfItsOwn(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada := d.person("ada@example.org")
	series := ada.study()
	taskID, images := ada.takesOut(series, nil)
	a := ada.api("GET", "/api/tasks/"+taskID+"/mapping").wants(http.StatusOK)
	if name := a.response.Header.Get("Content-Disposition"); name != `attachment; filename="identities-of-`+taskID+`.csv"` {
		t.Errorf("it is offered as %s", name)
	}
	rows := must(csv.NewReader(bytes.NewReader(a.body)).ReadAll())
	if len(rows) != 4 {
		t.Fatalf("%d lines for 3 images", len(rows))
	}
	for _, row := range rows[1:] {
		set := images[row[0]]
		want := []string{row[0], series.PatientID, valueOf(set, tag.PatientID), series.StudyUID, valueOf(set, tag.StudyInstanceUID),
			series.SeriesUID, valueOf(set, tag.SeriesInstanceUID), row[7], valueOf(set, tag.SOPInstanceUID)}
		if !slices.Equal(row, want) {
			t.Errorf("got %v, want %v", row, want)
		}
	}
	page := ada.page("GET", "/tasks/"+taskID).wants(http.StatusOK)
	if !bytes.Contains(page.body, []byte("/api/tasks/"+taskID+"/mapping")) {
		t.Error("the task's page does not lead to it")
	}
	d.person("bob@example.org").api("GET", "/api/tasks/"+taskID+"/mapping").problem(http.StatusNotFound)
	root := d.admin("root@example.org")
	root.api("GET", "/api/tasks/"+taskID+"/mapping").problem(http.StatusNotFound)
	if _, read := root.actions("&action=downloaded&target=" + taskID); len(read.Items) == 0 || read.Items[0].Note != "identities" {
		t.Errorf("that the identities were read stands nowhere: %+v", read)
	}
	ada.api("GET", "/api/tasks/"+series.TaskID+"/mapping").problem(http.StatusNotFound)
	ada.api("GET", "/api/tasks/"+taskID+"/mapping?x=1").refuses("x")
}

func TestTheDialogOffersWhatTheAPIDoes(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	series := ada.study()
	a := ada.page("POST", "/exports", formBody("seriesIds", series.SeriesID, "profile", "basic", "name", "trial", "options", "cleanDescriptors", "options", "emptyTimes",
		"dates", "retainFullDates", "pseudonymPrefix", "T-", "key", "trial-a", "blackout."+series.SeriesID+".x", "0", "blackout."+series.SeriesID+".y", "0", "blackout."+series.SeriesID+".width", "4", "blackout."+series.SeriesID+".height", "2",
		"blackout."+series.SeriesID+".x", "", "blackout."+series.SeriesID+".y", "", "blackout."+series.SeriesID+".width", "", "blackout."+series.SeriesID+".height", "")).wants(http.StatusSeeOther)
	taskID := strings.TrimPrefix(a.response.Header.Get("Location"), "/tasks/")
	for name, d := range ada.images(taskID) {
		if valueOf(d, tag.StudyDate) != series.StudyDate || valueOf(d, tag.StudyTime) != "" || !strings.HasPrefix(valueOf(d, tag.PatientID), "T-") ||
			valueOf(d, tag.BurnedInAnnotation) != "NO" || !d.Has(tag.SeriesDescription) {
			t.Errorf("%s: %q %q %q", name, valueOf(d, tag.StudyDate), valueOf(d, tag.StudyTime), valueOf(d, tag.PatientID))
		}
	}
	again := ada.page("POST", "/exports", formBody("seriesIds", series.SeriesID, "profile", "basic", "name", "trial", "options", "retainDevice",
		"dates", "shiftDates", "key", "trial-a", "blackout."+series.SeriesID+".x", "7", "blackout."+series.SeriesID+".y", "here")).wants(http.StatusUnprocessableEntity)
	for _, kept := range []string{`value="trial-a"`, `value="shiftDates" selected`, `value="retainDevice" checked`, "A rectangle is [x, y, width, height]", `value="here"`, "Nothing was taken out"} {
		if !bytes.Contains(again.body, []byte(kept)) {
			t.Errorf("the dialog comes back without %s", kept)
		}
	}
}

func TestADryRunFollowsTheDialog(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada := d.person("ada@example.org")
	series := ada.study()
	form := func(more ...string) edit {
		return formBody(append([]string{"seriesIds", series.SeriesID, "profile", "basic", "name", "trial", "shown", ""}, more...)...)
	}
	live := func(status int, more ...string) string {
		return string(ada.page("POST", "/library/dry-run", form(more...), htmx).wants(status).body)
	}
	has := func(what, body string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(body, part) {
				t.Errorf("%s: there is no %s in\n%s", what, part, body)
			}
		}
	}
	plain := live(http.StatusOK)
	has("as it is", plain, "P0001", "Study Date", "pseudonymised", "without a key the take-out makes others", `hx-target="#take-out-sample"`)
	if strings.Contains(plain, "<form") || strings.Contains(plain, `name="options"`) {
		t.Error("a dry run touches what somebody types into")
	}
	has("with a prefix and a key", live(http.StatusOK, "pseudonymPrefix", "TRIAL-", "key", "a"), "TRIAL-", "those that leave under this key")
	kept := live(http.StatusOK, "dates", "retainFullDates")
	has("with dates", kept, `<span class="secondary">kept</span>`)
	for field, more := range map[string][]string{
		"options": {"options", "emptyTimes"}, "pseudonymPrefix": {"pseudonymPrefix", "^"}, "key": {"key", " a"},
		"blackout": {"blackout." + series.SeriesID + ".x", "5"}, "head": {"profile", "x"},
	} {
		request := form(more...)
		if field == "head" {
			request = formBody("seriesIds", series.SeriesID, "profile", "x")
		}
		body := string(ada.page("POST", "/library/dry-run", request, htmx).wants(http.StatusUnprocessableEntity).body)
		_, place, _ := strings.Cut(body, `id="take-out-error-`+field+`"`)
		if place, _, _ = strings.Cut(place, "</p>"); !strings.Contains(place, "<span>") {
			t.Errorf("%s: nothing is said in its place: %s", field, body)
		}
		has(field, body, "Nothing can be shown until")
	}
	page := string(ada.page("POST", "/library/dry-run", form("dates", "shiftDates", "options", "retainDevice")).wants(http.StatusOK).body)
	has("without scripts", page, "<title>", `value="shiftDates" selected`, `value="retainDevice" checked`, `value="trial"`, "What will leave")
	d.person("bob@example.org").page("POST", "/library/dry-run", form()).wants(http.StatusNotFound)
	if log := d.log.String(); strings.Contains(log, series.PatientName) {
		t.Error("the log names a patient")
	}
}
