package handlers_test

import (
	"bytes"
	"net/http"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// compressed3 are slices with a name burned in, whose pixels say that they are compressed.
func compressed3(t *testing.T, syntax string) []file {
	t.Helper()
	files := slices3()
	for i, f := range files {
		parsed, err := dicom.Parse(bytes.NewReader([]byte(f.content)), int64(len(f.content)))
		if err != nil {
			t.Fatal(err)
		}
		parsed.Dataset.Set(dicom.Encapsulated(tag.PixelData, vr.OB, dicom.NewFragments(make([]byte, 128))))
		parsed.Dataset.Set(dicom.Text(tag.BurnedInAnnotation, "YES"))
		parsed.TransferSyntax = syntax
		var b bytes.Buffer
		if err := dicom.Write(&b, parsed); err != nil {
			t.Fatal(err)
		}
		files[i].content = b.String()
	}
	return files
}

func TestTheDialogOffersToPaintWhereItCanBeDone(t *testing.T) {
	t.Parallel()
	for syntax, offered := range map[string]bool{uid.RLELossless: true, uid.JPEGBaseline: true, uid.JPEG2000: false} {
		ada := setup(t).person("ada@example.org")
		ada.brings(multi("files", compressed3(t, syntax)...))
		var list seriesList
		ada.api("GET", "/api/series").wants(http.StatusOK).json(&list)
		if len(list.Items) != 1 {
			t.Fatalf("%s: the library has %d series", syntax, len(list.Items))
		}
		body := ada.page("POST", "/library/take-out", formBody("seriesIds", list.Items[0].SeriesID)).wants(http.StatusOK).body
		if bytes.Contains(body, []byte("data-paint ")) != offered || bytes.Contains(body, []byte("cannot paint over")) == offered {
			t.Errorf("%s: to paint is not offered as it should be: %v", uid.Name(syntax), offered)
		}
	}
}
