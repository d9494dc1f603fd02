package handlers_test

import (
	"archive/zip"
	"bytes"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"filmroom/tasks"
)

type seriesAnswer struct {
	SeriesID, SeriesUID, StudyUID, PatientID, PatientName, StudyDate, Modality, TaskID string
	Instances                                                                          int
	Bytes                                                                              int64
}

type seriesList struct {
	Items      []seriesAnswer
	Total      int
	NextCursor *string
}

// study brings a small study in and returns its series.
func (p *person) study() seriesAnswer {
	p.t.Helper()
	if end := p.brings(multi("files", slices3()...)); end.Status != tasks.StatusFinished {
		p.t.Fatalf("the import ended %s: %s", end.Status, end.Error)
	}
	var list seriesList
	p.api("GET", "/api/series").wants(http.StatusOK).json(&list)
	if len(list.Items) != 1 {
		p.t.Fatalf("the library has %d series", len(list.Items))
	}
	return list.Items[0]
}

func TestASeriesIsFoundShownAndDeleted(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	series := ada.study()
	for filter, want := range map[string]int{
		"modality=CT": 1, "modality=MR": 0, "taskId=" + series.TaskID: 1, "from=1900-01-01&to=29991231": 1, "to=1900-01-01": 0, "sort=patientName": 1, "limit=0": 0,
	} {
		var list seriesList
		ada.api("GET", "/api/series?"+filter).wants(http.StatusOK).json(&list)
		if len(list.Items) != want {
			t.Errorf("%s finds %d series instead of %d", filter, len(list.Items), want)
		}
	}
	var one seriesAnswer
	ada.api("GET", "/api/series/"+series.SeriesID).wants(http.StatusOK).json(&one)
	if one != series {
		t.Errorf("alone it is %+v, in the list %+v", one, series)
	}
	picture := ada.api("GET", "/api/series/"+series.SeriesID+"/preview.png?index=0&size=16").wants(http.StatusOK)
	if _, err := png.Decode(bytes.NewReader(picture.body)); err != nil {
		t.Errorf("the preview is no PNG: %v", err)
	}
	ada.api("DELETE", "/api/series/"+series.SeriesID).wants(http.StatusNoContent)
	ada.api("GET", "/api/series/"+series.SeriesID).problem(http.StatusNotFound)
	ada.api("DELETE", "/api/series/"+series.SeriesID).problem(http.StatusNotFound)
}

func TestInstancesArePagedThrough(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	series := ada.study()
	var uids []string
	for path := "/instances?limit=2"; path != ""; {
		var page struct {
			Items      []struct{ SOPInstanceUID string }
			NextCursor *string
		}
		ada.api("GET", "/api/series/"+series.SeriesID+path).wants(http.StatusOK).json(&page)
		for _, i := range page.Items {
			uids = append(uids, i.SOPInstanceUID)
		}
		if path = ""; page.NextCursor != nil {
			path = "/instances?limit=2&cursor=" + *page.NextCursor
		}
	}
	if len(uids) != 3 || uids[0] == uids[1] || uids[1] == uids[2] {
		t.Errorf("paged through %v", uids)
	}
	ada.api("GET", "/api/series/"+series.SeriesID+"/instances?cursor=x").refuses("cursor")
}

// Threat: a patient's name in an address, and so in logs, histories and proxies.
func TestPatientsAreSearchedForByPostAlone(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	series := ada.study()
	for _, name := range []string{"q", "patientId", "patientName", "studyUid", "seriesUid"} {
		ada.api("GET", "/api/series?"+name+"=x").refuses(name)
		ada.page("GET", "/library?"+name+"=x").wants(http.StatusUnprocessableEntity)
	}
	for what, want := range map[string]int{
		`{}`: 1,
		`{"patientId":"` + series.PatientID + `"}`:                                      1,
		`{"patientId":"nobody"}`:                                                        0,
		`{"patientName":"` + series.PatientName[:2] + `"}`:                              1,
		`{"studyUid":"` + series.StudyUID + `","seriesUid":"` + series.SeriesUID + `"}`: 1,
		`{"q":"ct","limit":5,"sort":"-studyDate","modality":"CT","from":"1900-01-01"}`:  1,
	} {
		var list seriesList
		ada.api("POST", "/api/series/search", body("application/json", what)).wants(http.StatusOK).json(&list)
		if len(list.Items) != want {
			t.Errorf("%s finds %d series instead of %d", what, len(list.Items), want)
		}
	}
	ada.api("POST", "/api/series/search", jsonBody(map[string]any{"limit": 500, "sort": "name"})).refuses("sort", "limit")
	ada.api("POST", "/api/series/search", jsonBody(map[string]any{"patient": "x"})).refuses("patient")
	if log := ada.log.String(); strings.Contains(log, series.PatientName) || strings.Contains(log, series.PatientID) || strings.Contains(log, series.SeriesID) {
		t.Error("the log names a patient or a series")
	}
}

func TestSeriesAreTakenOutAsAZip(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	series := ada.study()
	var got struct{ TaskID string }
	ada.api("POST", "/api/exports", jsonBody(map[string]any{"seriesIds": []string{series.SeriesID}, "profile": "basic", "name": "trial A"})).
		wants(http.StatusAccepted).json(&got)
	if end := ada.ends(got.TaskID); end.Status != tasks.StatusFinished {
		t.Fatalf("ended %s: %s", end.Status, end.Error)
	}
	a := ada.api("GET", "/api/tasks/"+got.TaskID+"/download").wants(http.StatusOK)
	archive, err := zip.NewReader(bytes.NewReader(a.body), int64(len(a.body)))
	if err != nil {
		t.Fatalf("the download is no ZIP: %v", err)
	}
	images := 0
	for _, f := range archive.File {
		if strings.HasSuffix(f.Name, ".dcm") {
			images++
		}
	}
	if images != 3 {
		t.Errorf("the ZIP has %d images instead of 3", images)
	}
	if rows := ada.receiptOf(got.TaskID); len(rows) != 3 || rows[0].Outcome != "exported" {
		t.Errorf("the receipt is %+v", rows)
	}
}

func TestATakeOutThatIsWrongIsRefusedByField(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, bob := d.person("ada@example.org"), d.person("bob@example.org")
	series := ada.study()
	ada.api("POST", "/api/exports", jsonBody(map[string]any{"profile": "basic", "seriesIds": []string{}})).refuses("seriesIds")
	ada.api("POST", "/api/exports", jsonBody(map[string]any{"profile": "odd", "seriesIds": []string{series.SeriesID}})).refuses("profile")
	ada.api("POST", "/api/exports", jsonBody(map[string]any{"profile": "basic", "seriesIds": []string{"01J00000000000000000000000"}})).problem(http.StatusNotFound)
	bob.api("POST", "/api/exports", jsonBody(map[string]any{"profile": "basic", "seriesIds": []string{series.SeriesID}})).problem(http.StatusNotFound)
	ada.api("POST", "/api/exports", jsonBody(map[string]any{"series": 1})).refuses("series")
	ada.api("POST", "/api/exports", jsonBody(map[string]any{"seriesIds": "all"})).refuses("seriesIds")
}
