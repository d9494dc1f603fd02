package sqlite

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"filmroom/tasks"
)

func TestAJournalIsWrittenAsItsJSON(t *testing.T) {
	t.Parallel()
	if n := reflect.TypeFor[tasks.Entry]().NumField(); n != 6 {
		t.Fatalf("an entry has %d fields, 6 are written", n)
	}
	entry := rapid.Custom(func(t *rapid.T) tasks.Entry {
		return tasks.Entry{
			At:    tasks.Millis(time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "at"))),
			Event: rapid.SampledFrom([]tasks.Event{tasks.EventQueued, tasks.EventRetryScheduled, "<&\">"}).Draw(t, "event"),
			By:    rapid.String().Draw(t, "by"), Note: string(rapid.SliceOf(rapid.Byte()).Draw(t, "note")),
			Attempt: rapid.IntRange(0, 300).Draw(t, "attempt"), Folded: rapid.IntRange(0, 300).Draw(t, "folded"),
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		rows := rapid.SliceOfN(entry, 1, 5).Draw(rt, "rows")
		want, err := json.Marshal(rows)
		if err != nil {
			rt.Fatal(err)
		}
		if got := appendJournal(nil, rows); string(got) != string(want) {
			rt.Fatalf("wrote %s, want %s", got, want)
		}
	})
}
