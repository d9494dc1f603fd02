package dicom_test

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// of is a data set with one element.
func of(t dicom.Tag, v dicom.VR, value string) *dicom.Dataset {
	return dicom.NewDataset(&dicom.Element{Tag: t, VR: v, Value: []byte(value), Offset: 1204})
}

func TestTextLosesItsPaddingAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v     dicom.VR
		value string
		want  []string
	}{
		{vr.LO, " a b ", []string{"a b"}},
		{vr.LO, `a \ b\\`, []string{"a", "b", "", ""}},
		{vr.UI, "1.2\x00", []string{"1.2"}},
		{vr.ST, `  a\b  `, []string{`  a\b`}},
		{vr.UC, " a ", []string{" a"}},
		{vr.LO, "   ", nil},
		{vr.US, "ab", nil},
	} {
		got, ok := of(tag.PatientID, c.v, c.value).Strings(tag.PatientID)
		if diff := cmp.Diff(c.want, got); diff != "" || ok != (c.want != nil) {
			t.Errorf("%v %q: %t, %s", c.v, c.value, ok, diff)
		}
	}
}

func TestUIDsAreSafeToUseAsNames(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		"1.2.840.10008\x00": true, "2e2884fea560": true, "..": false, "../../etc/passwd": false, `..\..\x`: false, "1 2": false,
		"": false, "1.2\n": false, strings.Repeat("1", 64): true, strings.Repeat("1", 65): false, "é": false,
	} {
		if got, ok := of(tag.SOPInstanceUID, vr.UI, value).UID(tag.SOPInstanceUID); ok != want {
			t.Errorf("%q: %q, %t, want %t", value, got, ok, want)
		}
	}
}

func TestNumbersAreReadByTheirVR(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v      dicom.VR
		value  string
		ints   []int64
		floats []float64
	}{
		{vr.IS, ` 12\-3\+4 `, []int64{12, -3, 4}, []float64{12, -3, 4}},
		{vr.DS, `1.5\-2e3`, nil, []float64{1.5, -2000}},
		{vr.US, "\x01\x80", []int64{0x8001}, []float64{0x8001}},
		{vr.SS, "\xff\xff", []int64{-1}, []float64{-1}},
		{vr.UL, "\xff\xff\xff\xff", []int64{math.MaxUint32}, []float64{math.MaxUint32}},
		{vr.SL, "\xff\xff\xff\xff", []int64{-1}, []float64{-1}},
		{vr.SV, "\xfe\xff\xff\xff\xff\xff\xff\xff", []int64{-2}, []float64{-2}},
		{vr.UV, "\x01\x00\x00\x00\x00\x00\x00\x00", []int64{1}, []float64{1}},
		{vr.FL, "\x00\x00\xc0\x3f", nil, []float64{1.5}},
		{vr.OF, "\x00\x00\xc0\x3f\x00\x00\xc0\xbf", nil, []float64{1.5, -1.5}},
		{vr.FD, "\x00\x00\x00\x00\x00\x00\xf8\x3f", nil, []float64{1.5}},
		{vr.IS, "1.5", nil, nil},
		{vr.IS, "2147483648", nil, nil},
		{vr.IS, "0000000000001", nil, nil},
		{vr.DS, "NaN", nil, nil},
		{vr.DS, "0x1p3", nil, nil},
		{vr.DS, "1.2345678901234567", nil, nil},
		{vr.US, "abc", nil, nil},
		{vr.LO, "12", nil, nil},
		{vr.IS, " ", nil, nil},
	} {
		d := of(tag.InstanceNumber, c.v, c.value)
		ints, err := d.Ints(tag.InstanceNumber)
		if diff := cmp.Diff(c.ints, ints); diff != "" || (err == nil) != (c.ints != nil) {
			t.Errorf("%v %q as integers: %v, %s", c.v, c.value, err, diff)
		}
		floats, err := d.Floats(tag.InstanceNumber)
		if diff := cmp.Diff(c.floats, floats); diff != "" || (err == nil) != (c.floats != nil) {
			t.Errorf("%v %q as floats: %v, %s", c.v, c.value, err, diff)
		}
		if f, err := d.Float(tag.InstanceNumber); err == nil && f != floats[0] {
			t.Errorf("the first of %v is %v", floats, f)
		}
	}
}

func TestTagsAreReadFromAT(t *testing.T) {
	t.Parallel()
	got, err := of(tag.FrameIncrementPointer, vr.AT, "\x18\x00\x63\x10\x28\x00\x10\x00").Tags(tag.FrameIncrementPointer)
	if diff := cmp.Diff([]dicom.Tag{tag.FrameTime, tag.Rows}, got); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
	if _, err := of(tag.Rows, vr.US, "ab").Tags(tag.Rows); !errors.Is(err, dicom.ErrValue) {
		t.Errorf("tags from US: %v, want ErrValue", err)
	}
	if _, err := dicom.NewDataset().Tags(tag.Rows); !errors.Is(err, dicom.ErrAbsent) {
		t.Errorf("tags from nothing: %v, want ErrAbsent", err)
	}
}

func TestErrorsOfValuesNameTheirPlaceAndWhatIsWanted(t *testing.T) {
	t.Parallel()
	inner := of(tag.StudyDate, vr.DA, "2024-01-01")
	d := dicom.NewDataset(dicom.Sequence(tag.ReferencedStudySequence, dicom.NewDataset(), dicom.NewDataset(dicom.Sequence(tag.ReferencedSeriesSequence, inner))))
	for _, c := range []struct {
		err  func() error
		want string
		is   error
	}{
		{func() error { _, err := inner.Date(tag.StudyDate); return err }, "(0008,1110)[2] > (0008,1115)[1] > (0008,0020) at 1,204: value 1: not a date: want YYYYMMDD", dicom.ErrValue},
		{func() error { _, err := d.Date(tag.StudyDate); return err }, "(0008,0020): the element is absent", dicom.ErrAbsent},
		{func() error { _, err := of(tag.Rows, vr.US, "").Int(tag.Rows); return err }, "(0028,0010) at 1,204: the element has no value", dicom.ErrAbsent},
		{func() error { _, err := of(tag.Rows, vr.US, "abc").Int(tag.Rows); return err }, "(0028,0010) at 1,204: 3 bytes are no whole number of US values: want a multiple of 2", dicom.ErrValue},
		{func() error { _, err := of(tag.Rows, vr.LO, "abc").Int(tag.Rows); return err }, "(0028,0010) at 1,204: LO holds no integers: want IS, US, SS, UL, SL, UV or SV", dicom.ErrValue},
	} {
		err := c.err()
		if err == nil || err.Error() != c.want || !errors.Is(err, c.is) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if got := (&dicom.Error{Err: dicom.ErrTruncated, Offset: -1}).Error(); got != "the file ends too soon" {
		t.Errorf("without a reason: %q", got)
	}
}

func TestLongValuesAreReadOnlyOnDemand(t *testing.T) {
	t.Parallel()
	d := mustParse(t, write(t, dicom.NewFile(everything(t), ""))).Dataset
	pixels, _ := d.Get(tag.PixelData)
	if _, err := pixels.Bytes(99_999); !errors.Is(err, dicom.ErrTooLarge) {
		t.Errorf("beyond the limit: %v, want ErrTooLarge", err)
	}
	b, err := pixels.Bytes(100_000)
	if err != nil || len(b) != 100_000 || string(b) != string(read(section(100_000))) || pixels.Len() != 100_000 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	short := dicom.NewLarge(tag.PixelData, vr.OW, io.NewSectionReader(section(10), 0, 100))
	if _, err := short.Bytes(100); !errors.Is(err, dicom.ErrTruncated) {
		t.Errorf("a source that became shorter: %v, want ErrTruncated", err)
	}
	for range 2 {
		if got := read(pixels.Open()); len(got) != 100_000 {
			t.Errorf("Open reads %d bytes", len(got))
		}
	}
	huge := dicom.NewDataset(dicom.NewLarge(tag.TextValue, vr.UT, io.NewSectionReader(section(10), 0, 2<<20)))
	if s, ok := huge.String(tag.TextValue); ok {
		t.Errorf("a text of 2 MiB was loaded: %d bytes", len(s))
	}
	if _, err := dicom.NewDataset(dicom.NewLarge(tag.PixelData, vr.OW, io.NewSectionReader(section(10), 0, 2<<20))).Ints(tag.PixelData); !errors.Is(err, dicom.ErrTooLarge) {
		t.Errorf("numbers of 2 MiB: %v, want ErrTooLarge", err)
	}
}

func TestPersonNamesComeApartAndTogether(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]dicom.PersonName{
		"Yamada^Tarou=山田^太郎=やまだ^たろう": {
			Alphabetic: dicom.NameGroup{Family: "Yamada", Given: "Tarou"}, Ideographic: dicom.NameGroup{Family: "山田", Given: "太郎"}, Phonetic: dicom.NameGroup{Family: "やまだ", Given: "たろう"}},
		"Adams^John Robert Quincy^^Rev.^B.A. M.Div.": {Alphabetic: dicom.NameGroup{Family: "Adams", Given: "John Robert Quincy", Prefix: "Rev.", Suffix: "B.A. M.Div."}},
		"=山田": {Ideographic: dicom.NameGroup{Family: "山田"}},
		"":    {},
	} {
		got := dicom.ParsePersonName(text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
		if got.String() != text {
			t.Errorf("%q comes together as %q", text, got.String())
		}
	}
	if got := dicom.ParsePersonName("a^b^c^d^e^f=g=h=i").String(); got != "a^b^c^d^e=g=h" {
		t.Errorf("what is too much stays: %q", got)
	}
	if got := dicom.ParsePersonName("Adams^John^Q^Rev.^Jr.").Alphabetic.Display(); got != "Rev. John Q Adams Jr." {
		t.Errorf("displayed as %q", got)
	}
	if n, ok := of(tag.PatientName, vr.PN, "A^B ").PersonName(tag.PatientName); !ok || n.Alphabetic.Given != "B" {
		t.Errorf("%v, %t", n, ok)
	}
	if _, ok := dicom.NewDataset().PersonName(tag.PatientName); ok {
		t.Error("a name out of nothing")
	}
}

func TestDatesTimesAndAgesAreReadStrictly(t *testing.T) {
	t.Parallel()
	day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	d := of(tag.StudyDate, vr.DA, "20240229")
	if got, err := d.Date(tag.StudyDate); err != nil || !got.Equal(day) || dicom.FormatDate(got) != "20240229" {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"20230229", "2024.02.29", "202402", "2024022900", "+2024022"} {
		if got, err := dicom.ParseDate(bad); !errors.Is(err, dicom.ErrValue) {
			t.Errorf("%q is %v", bad, got)
		}
	}
	for text, want := range map[string]dicom.Clock{
		"07":            {7 * time.Hour, dicom.Hour},
		"0730":          {7*time.Hour + 30*time.Minute, dicom.Minute},
		"073015":        {7*time.Hour + 30*time.Minute + 15*time.Second, dicom.Second},
		"073015.25":     {7*time.Hour + 30*time.Minute + 15*time.Second + 250*time.Millisecond, dicom.Fraction},
		"235960":        {24 * time.Hour, dicom.Second},
		"000000.000001": {time.Microsecond, dicom.Fraction},
	} {
		if got, err := of(tag.StudyTime, vr.TM, text).Clock(tag.StudyTime); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"7", "24", "0760", "073061", "07:30", "0730.5", "073015.", "073015.1234567", "073015.x"} {
		if got, err := dicom.ParseClock(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
	zone := time.FixedZone("", 3600)
	for text, want := range map[string]dicom.DateTime{
		"2024":                       {time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), dicom.Year, false},
		"202402":                     {time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC), dicom.Month, false},
		"20240229":                   {day, dicom.Day, false},
		"2024022907":                 {day.Add(7 * time.Hour), dicom.Hour, false},
		"20240229073015.5+0100":      {time.Date(2024, 2, 29, 7, 30, 15, 5e8, zone), dicom.Fraction, true},
		"2024-0500":                  {time.Date(2024, 1, 1, 5, 0, 0, 0, time.UTC), dicom.Year, true},
		"20240229073015.123456+1400": {time.Date(2024, 2, 28, 17, 30, 15, 123456e3, time.UTC), dicom.Fraction, true},
	} {
		got, err := of(tag.DateTime, vr.DT, text).DateTime(tag.DateTime)
		if err != nil || !got.Time.Equal(want.Time) || got.Precision != want.Precision || got.HasZone != want.HasZone {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "24", "20243", "20241301", "2024022925", "2024+01", "2024+1500", "2024-1300", "2024+0160", "2024+01x0"} {
		if got, err := dicom.ParseDateTime(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
	if got, err := of(tag.PatientAge, vr.AS, "034Y").Age(tag.PatientAge); err != nil || got != (dicom.Age{N: 34, Unit: 'Y'}) || got.String() != "034Y" {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"34Y", "034X", "-34Y", "034"} {
		if _, err := dicom.ParseAge(bad); err == nil {
			t.Errorf("%q is an age", bad)
		}
	}
}
