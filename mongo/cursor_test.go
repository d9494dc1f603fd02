package mongo

import (
	"encoding/base64"
	"strings"
	"testing"

	"filmroom/imaging"
	"filmroom/imaging/imagingtest"
)

// A cursor stands in URLs, so it must not tell whose images the last row shows.
func TestACursorTellsNoNameAndIsReadByEveryProcess(t *testing.T) {
	t.Parallel()
	db := setup(t)
	s := db.Imaging()
	l := imagingtest.Library(t, s)
	imagingtest.Arrive(t, s, l, "task-1", arrivals()...)
	q := imaging.SeriesQuery{LibraryID: l, Sort: imaging.ByPatientName, Limit: 1}
	page, err := s.ListSeries(t.Context(), q)
	did(t, err)
	sealed, err := base64.RawURLEncoding.DecodeString(page.NextCursor)
	did(t, err)
	if name := page.Items[0].PatientName; strings.Contains(string(sealed), name) || strings.Contains(page.NextCursor, name) {
		t.Error("the patient's name can be read from the cursor")
	}
	q.Cursor = page.NextCursor
	next, err := open(t, db.name).Imaging().ListSeries(t.Context(), q)
	did(t, err)
	if len(next.Items) != 1 || next.Items[0].ID == page.Items[0].ID {
		t.Errorf("another process read %d rows behind the cursor, want the other one", len(next.Items))
	}
}
