package views

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"filmroom/accounts"
	"filmroom/imaging"
	"filmroom/tasks"
)

// The gallery is every page in its states: full, empty, hostile. The tests below read it as a browser
// would. With FILMROOM_GALLERY set to a folder it is written there, to be looked at.

var galleryNow = time.Date(2026, 11, 21, 14, 2, 17, 0, time.UTC)

// hostile is text as an attacker or an unlucky scanner would have it: markup, quotes, a right-to-left
// override, an emoji, and no place to break.
const hostile = `<script>alert(1)</script>"'>&<b>` + "\u202egnp.exe \u200f" + `😀` + `</title><img src=x onerror=alert(2)>`

func galleryFrame() Frame {
	return Frame{User: Viewer{Email: "ada@example.org", Name: "Ada", Admin: true}, Now: galleryNow}
}

func gallery() map[string]templ.Component {
	f := galleryFrame()
	pages := map[string]templ.Component{
		"login":          LoginPage(NewLogin(Frame{Now: galleryNow}, Login{After: "/library"})),
		"login-refused":  LoginPage(NewLogin(Frame{Now: galleryNow}, Login{Email: hostile, Error: "That e-mail and password do not belong together."})),
		"setup":          SetupPage(NewSetup(Frame{Now: galleryNow}, Setup{})),
		"setup-refused":  SetupPage(NewSetup(Frame{Now: galleryNow}, Setup{Email: hostile, Name: hostile, Secret: hostile, Error: "The password must have at least 10 characters."})),
		"board":          BoardPage(NewBoard(f, BoardQuery{}, tasks.Page{Items: galleryTasks(), Total: 128, TotalExact: true, NextCursor: "abc"}, galleryCounts())),
		"board-new":      BoardPage(NewBoard(f, BoardQuery{}, tasks.Page{}, nil)),
		"board-none":     BoardPage(NewBoard(f, BoardQuery{Statuses: []tasks.Status{tasks.StatusError}, Words: hostile}, tasks.Page{TotalExact: true}, galleryCounts())),
		"board-past-end": BoardPage(NewBoard(f, BoardQuery{Cursor: "abc", Dismissed: true}, tasks.Page{TotalExact: true}, galleryCounts())),
		"board-hostile":  BoardPage(NewBoard(f, BoardQuery{Kind: hostile, Words: hostile}, tasks.Page{Items: hostileTasks(), Total: 10000}, galleryCounts())),
		"library":        LibraryPage(NewLibrary(f, LibraryQuery{}, imaging.SeriesPage{Items: gallerySeries(), Total: 214, TotalExact: true, NextCursor: "abc"})),
		"library-new":    LibraryPage(NewLibrary(f, LibraryQuery{}, imaging.SeriesPage{TotalExact: true})),
		"library-none":   LibraryPage(NewLibrary(f, LibraryQuery{Search: hostile, TaskID: "01JC"}, imaging.SeriesPage{TotalExact: true})),
		"library-hostile": LibraryPage(NewLibrary(f, LibraryQuery{Modality: hostile},
			imaging.SeriesPage{Items: hostileSeries(), Total: 1})),
		"series":         SeriesPage(NewSeriesView(f, gallerySeries()[0])),
		"series-hostile": SeriesPage(NewSeriesView(f, hostileSeries()[0])),
		"take-out":       TakeOutPage(galleryTakeOut(f, gallerySeries()[:4])),
		"take-out-empty": TakeOutPage(NewTakeOut(f, nil)),
		"delete":         DeletionPage(NewDeletion(f, gallerySeries()[:4])),
		"delete-empty":   DeletionPage(NewDeletion(f, nil)),
		"delete-hostile": DeletionPage(NewDeletion(f, hostileSeries())),
		"take-out-bad":   TakeOutPage(refusedTakeOut(f)),
		"account":        AccountPage(NewAccount(f, galleryTokens("nightly export"), Account{NewToken: "frm_k3J9d0sVb2Qm7XwT1yZr8LpA", NewTokenName: "nightly export"})),
		"account-bare":   AccountPage(NewAccount(f, nil, Account{TokenName: hostile, TokenError: hostile, PasswordError: "The present password is wrong."})),
		"account-hostile": AccountPage(NewAccount(Frame{User: Viewer{Email: hostile, Name: hostile}, Now: galleryNow, Notice: Notice{Text: hostile, Failed: true}},
			galleryTokens(hostile), Account{})),
	}
	maps.Copy(pages, steeringGallery())
	for name, t := range galleryTaskPages() {
		pages["task-"+name] = TaskPage(t)
	}
	for _, status := range []int{401, 403, 404, 409, 410, 413, 418, 422, 429, 500, 503, 507} {
		pages[fmt.Sprintf("error-%d", status)] = ErrorPage(NewError(f, status, "", "01JCZ7"))
		pages[fmt.Sprintf("error-%d-nobody", status)] = ErrorPage(NewError(Frame{Now: galleryNow}, status, hostile, "01JCZ7"))
	}
	return pages
}

// fragments are what is sent into an open page.
func fragments() map[string]templ.Component {
	full := galleryTaskPages()["finished"]
	all := map[string]templ.Component{
		"row":      TaskRowPartial(NewTaskRow(hostileTasks()[0], galleryNow)),
		"counts":   CountsPartial(BoardQuery{}, galleryCounts()),
		"new":      NewCountPartial(BoardQuery{Cursor: "x"}, 12, []string{"01JA", "01JB"}),
		"head":     TaskHeadPartial(NewTaskRow(hostileTasks()[0], galleryNow)),
		"details":  TaskDetailPartials(full),
		"notice":   NoticePartial(Notice{Text: hostile, Failed: true}),
		"series":   SeriesList(NewLibrary(galleryFrame(), LibraryQuery{Search: hostile}, imaging.SeriesPage{Items: hostileSeries()})),
		"more":     SeriesMore(NewLibrary(galleryFrame(), LibraryQuery{}, imaging.SeriesPage{Items: gallerySeries(), NextCursor: "abc"})),
		"receipt":  ReceiptSection(*full.Receipt),
		"dialog":   TakeOutDialog(refusedTakeOut(galleryFrame())),
		"delete":   DeletionDialog(NewDeletion(galleryFrame(), hostileSeries())),
		"dry-run":  TakeOutLive(galleryTakeOut(galleryFrame(), gallerySeries())),
		"dry-fail": TakeOutLive(refusedTakeOut(galleryFrame())),
		"viewer":   SeriesViewer(NewSeriesRow(hostileSeries()[0], galleryNow)),
		"previous": SeriesViewer(NewSeriesRow(gallerySeries()[0], galleryNow)),
	}
	maps.Copy(all, steeringFragments())
	return all
}

func galleryTask(id string, s tasks.Status, name string) tasks.Task {
	return tasks.Task{
		ID: id, UserEmail: "ada@example.org", Kind: "import", Name: name, Status: s, Lane: "import", Priority: 100,
		Attempt: 1, MaxAttempts: 5, CreatedAt: galleryNow.Add(-3 * time.Minute), AvailableAt: galleryNow.Add(-3 * time.Minute),
		StartedAt: galleryNow.Add(-130 * time.Second), Args: json.RawMessage(`{"entries":500,"bytes":264000000}`),
	}
}

func galleryTasks() []tasks.Task {
	running := galleryTask("01JCA", tasks.StatusProcessing, "Import, 500 files")
	running.Phase, running.Progress = "storing", tasks.Progress{Message: "Importing", Value: 312, Max: 500}
	running.StartedAt = galleryNow.Add(-7 * time.Second)

	unknown := galleryTask("01JCB", tasks.StatusProcessing, "Import, 1 archive")
	unknown.Phase, unknown.Progress = "unpacking", tasks.Progress{Message: "Reading the archive's directory", Value: 1204}
	unknown.StartedAt = galleryNow.Add(-2 * time.Second)

	canceling := galleryTask("01JCC", tasks.StatusProcessing, "Take-out, 2 series")
	canceling.Kind, canceling.CancelRequestedAt = "export", galleryNow
	canceling.Progress = tasks.Progress{Message: "De-identifying", Value: 9, Max: 240}

	queued := galleryTask("01JCD", tasks.StatusQueued, "Import, 12,000 files")
	queued.Attempt = 0

	again := galleryTask("01JCE", tasks.StatusQueued, "Import, 80 files")
	again.Attempt, again.AvailableAt = 2, galleryNow.Add(42*time.Second)

	done := galleryTask("01JCF", tasks.StatusFinished, `Take-out "trial A", 4 series`)
	done.Kind, done.Lane, done.EndedAt = "export", "export", galleryNow.Add(-2*time.Minute)
	done.Progress = tasks.Progress{Message: "480 of 500 exported, 20 refused", Value: 500, Max: 500}
	done.StartedAt = done.EndedAt.Add(-6 * time.Second)
	done.File = &tasks.File{Name: "trial A.zip", Size: 212_400_000, SHA256: strings.Repeat("3f", 32), ExpiresAt: galleryNow.Add(7 * 24 * time.Hour)}

	expired := done
	expired.ID, expired.Name = "01JCG", `Take-out "pilot", 1 series`
	expired.EndedAt = galleryNow.Add(-9 * 24 * time.Hour)
	expired.StartedAt = expired.EndedAt.Add(-75 * time.Minute)
	expired.File = &tasks.File{Size: 1_070_000_000, ExpiresAt: galleryNow.Add(-48 * time.Hour)}

	imported := galleryTask("01JCH", tasks.StatusFinished, "Import, 500 files")
	imported.EndedAt = galleryNow.Add(-4 * time.Hour)
	imported.StartedAt = imported.EndedAt.Add(-900 * time.Millisecond)
	imported.Result = json.RawMessage(`{"files":500,"outcomes":{"imported":480,"duplicate":12}}`)
	imported.Progress = tasks.Progress{Message: "480 imported, 12 duplicates, 1 conflict, 5 not DICOM, 2 unreadable"}

	nothing := imported
	nothing.ID, nothing.Result = "01JCP", json.RawMessage(`{"files":500,"outcomes":{"duplicate":500}}`)
	nothing.Progress = tasks.Progress{Message: "0 imported, 500 already here"}

	failed := galleryTask("01JCI", tasks.StatusError, "Import, 12 files")
	failed.StartedAt = galleryNow.Add(-310 * time.Second)
	failed.EndedAt, failed.Error = galleryNow.Add(-5*time.Minute), "The ZIP ends in the middle (entry 7). Send the whole file again."

	canceled := galleryTask("01JCJ", tasks.StatusCanceled, "Import, 9,120 files")
	canceled.StartedAt = galleryNow.Add(-60 * time.Hour)
	canceled.EndedAt, canceled.Error = galleryNow.Add(-26*time.Hour), "Canceled at 4,012/9,120 Importing."

	interrupted := galleryTask("01JCK", tasks.StatusInterrupted, "Import, 150 files")
	interrupted.StartedAt = galleryNow.Add(-60 * time.Hour)
	interrupted.EndedAt, interrupted.Error = galleryNow.Add(-50*time.Hour), "The program stopped while this was running at 12/150 Importing."

	paused := galleryTask("01JCL", tasks.StatusPaused, "Take-out, 31 series")
	paused.Kind = "export"
	return []tasks.Task{running, unknown, canceling, queued, again, paused, done, imported, failed, interrupted, canceled, expired, nothing}
}

func hostileTasks() []tasks.Task {
	var all []tasks.Task
	for i, s := range tasks.Statuses {
		t := galleryTask(fmt.Sprintf("01JH%d", i), s, strings.Repeat(hostile, 3))
		t.Kind, t.Error, t.Phase, t.Dismissed = hostile, hostile, hostile, s == tasks.StatusCanceled
		t.Progress = tasks.Progress{Message: strings.Repeat(hostile, 4), Value: 1 << 60, Max: 1<<60 + 5}
		t.Args, t.Result = json.RawMessage(`{"a":"</script>"}`), json.RawMessage(`["<b>"]`)
		if s.Final() {
			t.EndedAt = galleryNow
		}
		all = append(all, t)
	}
	return all
}

func galleryCounts() []tasks.Count {
	return []tasks.Count{
		{Status: tasks.StatusProcessing, Kind: "import", N: 2}, {Status: tasks.StatusQueued, Kind: "import", N: 4}, {Status: tasks.StatusPaused, Kind: "export", N: 1},
		{Status: tasks.StatusFinished, Kind: "import", N: 1105}, {Status: tasks.StatusFinished, Kind: "export", N: 12}, {Status: tasks.StatusError, Kind: "import", N: 3},
		{Status: tasks.StatusInterrupted, Kind: "import", N: 1}, {Status: tasks.StatusCanceled, Kind: "import", Dismissed: true, N: 40},
	}
}

func gallerySeries() []imaging.Series {
	var all []imaging.Series
	for i, d := range []struct{ patient, pid, study, modality, desc, body string }{
		{"Marsh^Ada", "P-1001", "1.2.1", "CT", "Thorax 1.0 B70f", "CHEST"}, {"Marsh^Ada", "P-1001", "1.2.1", "CT", "Thorax 5.0 B30f", "CHEST"},
		{"Marsh^Ada", "P-1001", "1.2.1", "SR", "Dose report", ""}, {"Okafor^Ben", "P-2", "1.2.2", "US", "Abdomen", "ABDOMEN"},
		{"山田^太郎", "91-44-2", "1.2.3", "MR", "t2_tse_sag_384", "LSPINE"}, {"山田^太郎", "91-44-2", "1.2.3", "MR", "", ""},
	} {
		all = append(all, imaging.Series{
			ID: fmt.Sprintf("01JS%d", i), StudyUID: d.study, PatientName: d.patient, PatientID: d.pid, PatientBirth: "19610214", StudyDate: "20261118",
			StudyDesc: "Follow-up", Accession: "A77120", Modality: d.modality, Description: d.desc, BodyPart: d.body, SeriesNumber: i + 1,
			Instances: 40 * (i + 1), Bytes: 21_000_000 * int64(i+1), ImportedAt: galleryNow.Add(-4 * time.Hour), TaskID: "01JCH",
		})
	}
	return all
}

func hostileSeries() []imaging.Series {
	return []imaging.Series{{
		ID: "01JX", StudyUID: hostile, PatientName: strings.Repeat(hostile, 3), PatientID: hostile, PatientBirth: hostile, StudyDate: hostile, StudyDesc: hostile,
		Accession: hostile, Modality: hostile, Description: strings.Repeat(hostile, 3), BodyPart: hostile, BurnedIn: "YES", Instances: 1, ImportedAt: galleryNow,
	}}
}

func galleryTakeOut(f Frame, s []imaging.Series) TakeOut {
	d := NewTakeOut(f, s)
	d.Dry.Sample = []imaging.TagChange{
		{Tag: "(0010,0010)", Name: "Patient's Name", Before: "Marsh^Ada", After: "P0001"}, {Tag: "(0010,0020)", Name: "Patient ID", Before: "P-1001", After: "P0001"},
		{Tag: "(0010,0030)", Name: "Patient's Birth Date", Before: "19610214"}, {Tag: "(0008,0050)", Name: "Accession Number", Before: "A77120"},
		{Tag: "(0008,0080)", Name: "Institution Name", Before: "St Elsewhere", Gone: true}, {Tag: "(0008,0060)", Name: "Modality", Before: "CT", After: "CT", Action: "kept"},
	}
	d.Dry.Changes = []imaging.TagChange{
		{Tag: "(0008,0080)", Name: "InstitutionName", Action: "removed"}, {Tag: "(0010,0010)", Name: "PatientName", Action: "pseudonymised"},
		{Tag: "(0040,0275)[1] > (0040,0007)", Action: "removed"},
	}
	for _, row := range d.Series {
		d.Dry.Shown = row.ID
		if row.BurnedIn {
			d.Suspect = append(d.Suspect, Suspect{SeriesRow: row, Columns: 512, Rows: 384, Last: row.Instances - 1})
			d.Dry.refuse("held back: Burned In Annotation says YES; a person must look at the series first", row.Description, row.Instances)
		}
	}
	return d
}

func refusedTakeOut(f Frame) TakeOut {
	d := galleryTakeOut(f, hostileSeries())
	d.Refused, d.Name, d.Prefix, d.Key = true, hostile, hostile, hostile
	d.Looked["01JX"] = true
	d.Painted["01JX"] = []Rectangle{{"0", "0", "512", "40"}, {X: hostile}}
	for _, field := range []string{"options.shiftDates", "options", "blackout", "key", "name", "pseudonymPrefix", "seriesIds", "profile"} {
		d.Blame(field, hostile)
	}
	return d
}

func galleryTokens(name string) []accounts.Token {
	return []accounts.Token{
		{ID: "01JT1", Name: name, CreatedAt: galleryNow.Add(-72 * time.Hour), LastUsedAt: galleryNow.Add(-11 * time.Minute)},
		{ID: "01JT2", Name: "laptop", CreatedAt: galleryNow.Add(-time.Minute)},
	}
}

func galleryTaskPages() map[string]Task {
	pages := map[string]Task{}
	f := galleryFrame()
	for i, t := range galleryTasks() {
		name := []string{"running", "unknown", "canceling", "queued", "again", "paused", "finished", "imported", "failed", "interrupted", "canceled", "expired", "nothing"}[i]
		t.Journal = galleryJournal(t)
		if t.Kind == "export" {
			t.Result = json.RawMessage(`{"exported":480,"refused":20}`)
		}
		receipt := NewReceipt(t.ID, ReceiptFilter{After: -1}, galleryOutcomes(), galleryReceipts(), len(galleryReceipts()))
		pages[name] = NewTask(f, t, TaskParts{Log: galleryLog(t.ID), Receipt: &receipt})
	}
	bare := galleryTask("01JCZ", tasks.StatusQueued, "Import, 3 files")
	pages["bare"] = NewTask(f, bare, TaskParts{})
	bad := hostileTasks()[4]
	bad.Journal = []tasks.Entry{{At: galleryNow, Event: hostile, By: hostile, Note: hostile}, {At: galleryNow, Event: tasks.EventPhase, Note: hostile}}
	bad.Failures = []tasks.Failure{{Attempt: 1, At: galleryNow, Cause: tasks.CausePanic, Message: hostile}}
	receipt := NewReceipt(bad.ID, ReceiptFilter{Search: hostile, Outcome: imaging.Refused, After: -1}, map[imaging.Outcome]int{imaging.Refused: 1},
		[]imaging.Receipt{{Name: strings.Repeat(hostile, 5), Reason: hostile, Outcome: imaging.Refused}}, 50)
	pages["hostile"] = NewTask(f, bad, TaskParts{Log: []tasks.LogLine{{Attempt: 1, Level: "error", Text: hostile}}, LogMore: true, Receipt: &receipt})
	return pages
}

func galleryJournal(t tasks.Task) []tasks.Entry {
	j := []tasks.Entry{{At: t.CreatedAt, Event: tasks.EventQueued, By: t.UserEmail}}
	if t.Attempt == 0 {
		return j
	}
	j = append(j, tasks.Entry{At: t.StartedAt, Event: tasks.EventClaimed, Attempt: 1},
		tasks.Entry{At: t.StartedAt.Add(50 * time.Millisecond), Event: tasks.EventPhase, Attempt: 1, Note: "unpacking"},
		tasks.Entry{At: t.StartedAt.Add(400 * time.Millisecond), Event: tasks.EventPhase, Attempt: 1, Note: "storing"})
	switch t.Status {
	case tasks.StatusFinished:
		j = append(j, tasks.Entry{At: t.EndedAt, Event: tasks.EventFinished, Note: t.Progress.Message})
	case tasks.StatusError:
		j = append(j, tasks.Entry{At: t.EndedAt, Event: tasks.EventFailed, Note: t.Error})
	case tasks.StatusInterrupted:
		j = append(j, tasks.Entry{At: t.EndedAt, Event: tasks.EventInterrupted, Note: t.Error})
	}
	return j
}

func galleryOutcomes() map[imaging.Outcome]int {
	return map[imaging.Outcome]int{imaging.Imported: 480, imaging.Duplicate: 12, imaging.Conflict: 1, imaging.NotDICOM: 5, imaging.Unreadable: 2}
}

func galleryReceipts() []imaging.Receipt {
	return []imaging.Receipt{
		{Index: 0, Name: "DICOM/ST0001/SE0001/IM0001.dcm", Size: 527_104, Outcome: imaging.Imported},
		{Index: 1, Name: "DICOM/ST0001/SE0001/IM0002.dcm", Size: 527_104, Outcome: imaging.Duplicate, Reason: "The same bytes were here already."},
		{Index: 2, Name: "DICOM/ST0001/SE0001/IM0003.dcm", Size: 527_110, Outcome: imaging.Conflict, Reason: "Another image has this SOP Instance UID; the first was kept."},
		{Index: 3, Name: "README.TXT", Size: 812, Outcome: imaging.NotDICOM, Reason: "No DICM mark after the preamble."},
		{Index: 4, Name: "DICOM/ST0001/SE0002/IM0119.dcm", Size: 1_048_000_000, Outcome: imaging.Unreadable, Reason: "The file ends inside element (7FE0,0010)."},
	}
}

func galleryLog(id string) []tasks.LogLine {
	return []tasks.LogLine{
		{TaskID: id, Attempt: 1, Seq: 1, At: galleryNow.Add(-129 * time.Second), Level: "info", Text: "opened the archive: 500 entries, 264 MB unpacked"},
		{TaskID: id, Attempt: 1, Seq: 2, At: galleryNow.Add(-128 * time.Second), Level: "warn", Text: "entry 4 is no DICOM file"},
		{TaskID: id, Attempt: 2, Seq: 3, At: galleryNow.Add(-9 * time.Second), Level: "error", Text: "the disk is slow: a write took 4 s"},
	}
}

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(templ.WithNonce(context.Background(), "n0nce"), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGalleryIsWrittenWhereAsked(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("FILMROOM_GALLERY")
	if dir == "" {
		t.Skip("FILMROOM_GALLERY names no folder to write the pages to")
	}
	for name, page := range gallery() {
		if err := os.WriteFile(filepath.Join(dir, name+".html"), []byte(render(t, page)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
