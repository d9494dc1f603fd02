package views

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"filmroom/tasks"
)

func TestARowLooksTheSameHoweverItComes(t *testing.T) {
	t.Parallel()
	page := render(t, BoardPage(NewBoard(galleryFrame(), BoardQuery{}, tasks.Page{Items: galleryTasks()}, nil)))
	for _, task := range galleryTasks() {
		row := NewTaskRow(task, galleryNow)
		item := render(t, TaskRowItem(row))
		if !strings.Contains(page, item) {
			t.Errorf("%s: the page shows another row", task.Name)
		}
		if !strings.Contains(render(t, TaskRowPartial(row)), item) {
			t.Errorf("%s: the event shows another row", task.Name)
		}
	}
}

func TestARowOffersWhatCanBeDone(t *testing.T) {
	t.Parallel()
	for status, want := range map[tasks.Status]string{
		tasks.StatusQueued: "cancel", tasks.StatusPaused: "cancel", tasks.StatusProcessing: "cancel",
		tasks.StatusFinished: "dismiss", tasks.StatusError: "retry dismiss",
		tasks.StatusCanceled: "retry dismiss", tasks.StatusInterrupted: "retry dismiss",
	} {
		if got := offers(NewTaskRow(galleryTask("1", status, "x"), galleryNow)); got != want {
			t.Errorf("%s offers %q, want %q", status, got, want)
		}
	}
}

func offers(r TaskRow) string {
	var words []string
	for _, o := range []struct {
		can  bool
		word string
	}{{r.CanCancel, "cancel"}, {r.CanRetry, "retry"}, {r.CanDismiss, "dismiss"}} {
		if o.can {
			words = append(words, o.word)
		}
	}
	return strings.Join(words, " ")
}

func TestARowThatIsBeingCanceledOffersNoSecondCancel(t *testing.T) {
	t.Parallel()
	task := galleryTask("1", tasks.StatusProcessing, "x")
	task.CancelRequestedAt = galleryNow
	if row := NewTaskRow(task, galleryNow); row.CanCancel || !row.Canceling {
		t.Errorf("canceling %v, may cancel %v", row.Canceling, row.CanCancel)
	}
}

func TestADownloadIsOfferedUntilItExpires(t *testing.T) {
	t.Parallel()
	task := galleryTask("1", tasks.StatusFinished, "x")
	task.File = &tasks.File{Size: 212_400_000, ExpiresAt: galleryNow}
	before, after := NewTaskRow(task, galleryNow.Add(-time.Millisecond)), NewTaskRow(task, galleryNow)
	if before.Download != DownloadURL("1") || before.FileSize != "212 MB" {
		t.Errorf("before: %q, %q", before.Download, before.FileSize)
	}
	if after.Download != "" {
		t.Errorf("after: %q is still offered", after.Download)
	}
}

func TestABarSaysHundredPercentWhenAllIsDoneAndNotBefore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value, max            int64
		figures, percentWords string
	}{
		{0, 500, "0/500", "0 %"}, {312, 500, "312/500", "62 %"}, {999_999, 1_000_000, "999,999/1,000,000", "99 %"},
		{500, 500, "500/500", "100 %"}, {501, 500, "500/500", "100 %"}, {1<<62 - 1, 1 << 62, Count(int64(1<<62-1)) + "/" + Count(int64(1<<62)), "99 %"},
		{1204, 0, "1,204", ""}, {0, 0, "", ""},
	} {
		task := galleryTask("1", tasks.StatusProcessing, "x")
		task.Progress = tasks.Progress{Value: c.value, Max: c.max}
		bar := NewTaskRow(task, galleryNow).Bar
		if bar.Figures != c.figures || bar.Percent != c.percentWords {
			t.Errorf("%d of %d: %q, %q", c.value, c.max, bar.Figures, bar.Percent)
		}
	}
}

func TestJournalTellsHowLongEachRowLasted(t *testing.T) {
	t.Parallel()
	task := galleryTasks()[0]
	task.Journal = galleryJournal(task)
	rows := NewJournal(task, galleryNow)
	if rows[0].Word != "Asked for" || rows[0].Lasted != "2 min 53 s" || rows[2].Word != "unpacking" || rows[2].Lasted != "350 ms" {
		t.Errorf("%+v", rows)
	}
	if last := rows[len(rows)-1]; !last.Open || last.Lasted != "6.6 s" {
		t.Errorf("the present row: %+v", last)
	}
}

func TestStagesAreThoseOfTheLastAttemptAndThoseAhead(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return galleryNow.Add(time.Duration(s-60) * time.Second) }
	task := galleryTask("1", tasks.StatusProcessing, "x")
	task.Journal = []tasks.Entry{
		{At: at(0), Event: tasks.EventClaimed}, {At: at(1), Event: tasks.EventPhase, Note: "storing"}, {At: at(5), Event: tasks.EventRescued},
		{At: at(6), Event: tasks.EventClaimed}, {At: at(7), Event: tasks.EventPhase, Note: "unpacking"},
	}
	stages := NewTask(galleryFrame(), task, TaskParts{}).Stages
	if len(stages) != 2 || stages[0] != (Stage{"unpacking", "53 s", "now"}) || stages[1] != (Stage{"storing", "", "ahead"}) {
		t.Errorf("%+v", stages)
	}
}

func TestAnImportThatBroughtNothingInWearsNoTick(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]Status{
		`{"outcomes":{"imported":1,"duplicate":9}}`:   {tasks.StatusFinished, "finished", "Finished"},
		`{"outcomes":{"duplicate":9,"not-dicom":1}}`:  {tasks.StatusFinished, "nothing", "Nothing new"},
		`{"outcomes":{"not-dicom":1,"unreadable":1}}`: {tasks.StatusFinished, "nothing", "Nothing imported"},
		`null`: {tasks.StatusFinished, "finished", "Finished"},
	} {
		task := galleryTask("1", tasks.StatusFinished, "x")
		task.Result = json.RawMessage(result)
		if got := NewTaskRow(task, galleryNow).Status; got != want {
			t.Errorf("%s: %+v, want %+v", result, got, want)
		}
	}
	export := galleryTask("1", tasks.StatusFinished, "x")
	export.Kind, export.Result = "export", json.RawMessage(`{"outcomes":{"duplicate":9}}`)
	if got := NewTaskRow(export, galleryNow).Status.Mark; got != "finished" {
		t.Errorf("an export is marked %q", got)
	}
}

func TestSeriesAreShownOnlyOfAnImportThatBroughtSome(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		`{"outcomes":{"imported":1}}`: LibraryOfTaskURL("1"), `{"outcomes":{"imported":0,"not-dicom":3}}`: "", `null`: "", `{`: "",
	} {
		task := galleryTask("1", tasks.StatusFinished, "x")
		task.Result = json.RawMessage(result)
		if got := NewTaskRow(task, galleryNow).Library; got != want {
			t.Errorf("%s: %q, want %q", result, got, want)
		}
	}
}
