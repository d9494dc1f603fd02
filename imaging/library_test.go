package imaging_test

import (
	"bytes"
	"errors"
	"image/png"
	"slices"
	"strings"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/phantom"
	"filmroom/dicom/tag"
	"filmroom/imaging"
)

func noPreview(err error) bool { return errors.Is(err, imaging.ErrNoPreview) }

func TestAPreviewIsThePictureOfTheMiddleSlice(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(study(phantom.Study{Slices: 3, Size: 64})...)
	id := d.series(ada)[0].ID
	middle := d.preview(id, imaging.PreviewOptions{Index: -1, Size: 32})
	picture, err := png.Decode(bytes.NewReader(middle))
	check(t, err)
	if b := picture.Bounds(); b.Dx() != 32 || b.Dy() != 32 {
		t.Errorf("the picture is %v", b)
	}
	if !bytes.Equal(middle, d.preview(id, imaging.PreviewOptions{Index: 1, Size: 32})) {
		t.Error("the middle of three slices is not the second")
	}
	if bytes.Equal(middle, d.preview(id, imaging.PreviewOptions{Index: 0, Size: 32})) {
		t.Error("the first slice looks like the second")
	}
	if _, err := d.Preview(t.Context(), ada, id, imaging.PreviewOptions{Index: 3}); !noPreview(err) {
		t.Errorf("a slice that is not there: %v", err)
	}
}

func (d *desk) preview(id string, o imaging.PreviewOptions) []byte {
	d.t.Helper()
	picture, err := d.Preview(d.t.Context(), ada, id, o)
	check(d.t, err)
	return picture
}

func TestPreviewsAreKeptWithinBounds(t *testing.T) {
	t.Parallel()
	d := setup(t, func(c *imaging.Config) { c.PreviewCache = 1500 })
	d.bring(study(phantom.Study{Slices: 6, Size: 32})...)
	id := d.series(ada)[0].ID
	for i := range 6 {
		d.preview(id, imaging.PreviewOptions{Index: i, Size: 32})
	}
	if got := len(d.paths("previews")); got != 6 {
		t.Errorf("%d pictures are kept of 6", got)
	}
	imaging.Sweep(d.Desk, t.Context())
	total := 0
	for _, p := range d.paths("previews") {
		total += len(read(t, p))
	}
	if total > 1500 || total == 0 {
		t.Errorf("%d bytes of pictures are kept, the bound is 1500", total)
	}
	d.deletes(id)
	if left := d.paths("previews"); len(left) > 0 {
		t.Errorf("pictures of a deleted series are left: %v", left)
	}
}

func TestAPreviewFollowsASeriesThatGrows(t *testing.T) {
	t.Parallel()
	d := setup(t)
	images := study(phantom.Study{Slices: 5, Size: 64})
	d.bring(images[0])
	id := d.series(ada)[0].ID
	before := d.preview(id, imaging.PreviewOptions{Index: -1, Size: 64})
	d.bring(images...)
	if bytes.Equal(before, d.preview(id, imaging.PreviewOptions{Index: -1, Size: 64})) {
		t.Error("the middle of five slices is still the first")
	}
}

func TestHostileTextsOfAnImageAreKeptShort(t *testing.T) {
	t.Parallel()
	d := setup(t)
	parsed, err := dicom.Parse(bytes.NewReader(study(phantom.Study{})[0].data), int64(len(study(phantom.Study{})[0].data)))
	check(t, err)
	parsed.Dataset.Set(dicom.Text(tag.PatientName, strings.Repeat("<script>", 1000)))
	parsed.Dataset.Set(dicom.Text(tag.SeriesDescription, "a\x00b\x07c"))
	parsed.Dataset.Set(dicom.Text(tag.StudyDate, "yesterday"))
	var b bytes.Buffer
	check(t, dicom.Write(&b, parsed))
	d.bring(file{"x", b.Bytes()})
	s := d.series(ada)[0]
	if len(s.PatientName) > 600 || s.StudyDate != "" || strings.ContainsFunc(s.Description, func(r rune) bool { return r < ' ' }) {
		t.Errorf("series is %+v", s)
	}
}

func TestNamesAreShownAsTheyAreButForControls(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 1000)
	for name, want := range map[string]string{
		"plain.dcm":         "plain.dcm",
		`"quoted" <b>`:      `"quoted" <b>`,
		"=cmd()":            "=cmd()",
		"\u202eright":       "\u202eright",
		"🩻":                 "🩻",
		"M\x81ller":         "Müller", // code page 437
		"tab\tbell\a\u0085": "tab\uFFFDbell\uFFFD\uFFFD",
		long:                long[:1020] + "…",
	} {
		if got := imaging.Displayable(name); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
}

func TestALibraryIsSearchedByItsOwner(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.bring(people()...)
	page, err := d.ListSeries(t.Context(), ada, imaging.SeriesQuery{Words: []string{"secrett"}, Sort: imaging.ByPatientName, Limit: 10})
	check(t, err)
	var names []string
	for _, s := range page.Items {
		names = append(names, s.PatientName)
	}
	slices.Sort(names)
	same(t, "found", names, []string{"Secretthree^Cy", "Secrettwo^Bea", "Secrettwo^Bea", "Secrettwo^Bea"})
}
