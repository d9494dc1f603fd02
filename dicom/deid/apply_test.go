package deid

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

func TestUIDsStayConsistentOverFiles(t *testing.T) {
	t.Parallel()
	first := leaves(t, Options{}, ct())
	second := leaves(t, Options{}, ct(dicom.Text(tag.SOPInstanceUID, "1.2.3.4.5.6.7.8.99"),
		dicom.Sequence(tag.ReferencedImageSequence, dicom.NewDataset(
			dicom.Text(tag.ReferencedSOPClassUID, uid.CTImageStorage),
			dicom.Text(tag.ReferencedSOPInstanceUID, "1.2.3.4.5.6.7.8.1")))))
	if text(first, tag.StudyInstanceUID) != text(second, tag.StudyInstanceUID) {
		t.Error("two files of a study are in two studies now")
	}
	item := second.Items(tag.ReferencedImageSequence)[0]
	if text(item, tag.ReferencedSOPInstanceUID) != text(first, tag.SOPInstanceUID) {
		t.Error("a reference leads nowhere")
	}
	if text(item, tag.ReferencedSOPClassUID) != uid.CTImageStorage {
		t.Error("a well-known UID was mapped")
	}
}

func TestNewUIDsAreUIDsAndDependOnTheKey(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, key := range []string{"0123456789abcdef", "0123456789abcdeF"} {
		for _, old := range []string{"1.2.3", "1.2.4", "not a UID at all"} {
			u := MapUID([]byte(key), old)
			if !uid.Valid(u) || !strings.HasPrefix(u, "2.25.") || seen[u] || u != MapUID([]byte(key), old) {
				t.Errorf("%q became %q", old, u)
			}
			seen[u] = true
		}
	}
	if u := MapUID([]byte("0123456789abcdef"), uid.ExplicitLE); u != uid.ExplicitLE {
		t.Errorf("a transfer syntax became %q", u)
	}
}

func TestTheHeaderSpeaksForADataSetWithoutInstanceUID(t *testing.T) {
	t.Parallel()
	d := ct()
	d.Remove(tag.SOPInstanceUID)
	f := dicom.NewFile(d, uid.ExplicitLE)
	f.Meta.Set(dicom.Text(tag.MediaStorageSOPInstanceUID, "1.2.3.4.5.6.7.8.1"))
	f.Meta.Set(dicom.Text(tag.SourceApplicationEntityTitle, "NORTHSIDE"))
	_, out, report := applied(t, plan(t, Options{}), f, someone())
	if got := text(out.Meta, tag.MediaStorageSOPInstanceUID); got != MapUID(someone().UIDKey, "1.2.3.4.5.6.7.8.1") {
		t.Errorf("got %s", got)
	}
	if out.Meta.Has(tag.SourceApplicationEntityTitle) || !strings.Contains(report.String(), "(0002,0016) removed") {
		t.Errorf("the sender is still there, or nobody says that it went")
	}
}

func TestOnePlanServesManyAtOnce(t *testing.T) {
	t.Parallel()
	p, f := plan(t, Options{CleanDescriptors: true, RetainSafePrivate: true}), file(t, private())
	want, _, _ := applied(t, p, f, someone())
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			var b bytes.Buffer
			if _, err := p.Apply(&b, f, someone()); err != nil || !bytes.Equal(b.Bytes(), want) {
				t.Errorf("other bytes than alone, or %v", err)
			}
		})
	}
	group.Wait()
}

// TestUIDsStayIfTheyAreToStay: all but those that Table E.1-1 maps whatever the options.
func TestUIDsStayIfTheyAreToStay(t *testing.T) {
	t.Parallel()
	out := leaves(t, Options{RetainUIDs: true}, ct(dicom.Text(tag.UID, "1.2.3.4.5.6.7.8.9")))
	if text(out, tag.SOPInstanceUID) != "1.2.3.4.5.6.7.8.1" || text(out, tag.UID) == "1.2.3.4.5.6.7.8.9" {
		t.Errorf("left: %q", values(out))
	}
}

// TestSequencesInDisguiseGo: items under another VR would escape the table.
func TestSequencesInDisguiseGo(t *testing.T) {
	t.Parallel()
	items := func(at tag.Tag, v vr.VR) *dicom.Element {
		e := dicom.Sequence(at, dicom.NewDataset(dicom.Text(tag.PatientComments, "Quux")))
		e.VR = v
		return e
	}
	for _, e := range []*dicom.Element{items(tag.PixelData, vr.SQ), items(tag.PixelData, vr.OB), items(tag.ReferencedImageSequence, vr.UN), items(tag.LUTData, vr.OW)} {
		pass, err := plan(t, Options{}).begin(dicom.NewFile(ct(), uid.ExplicitLE), new(someone()))
		if err != nil {
			t.Fatal(err)
		}
		out := dicom.NewDataset()
		if err := pass.dataset(dicom.NewDataset(e), out); err != nil || out.Has(e.Tag) {
			t.Errorf("%v %v is still there, or %v", e.Tag, e.VR, err)
		}
	}
}

func TestTheMarksSayWhatWasDone(t *testing.T) {
	t.Parallel()
	earlier := dicom.Sequence(tag.DeidentificationMethodCodeSequence,
		code("113101", "DCM", "whatever"), code("4711", "99QUUX", "Quux"))
	out := leaves(t, Options{ShiftDates: true, RetainDevice: true}, ct(earlier, dicom.Text(tag.DeidentificationMethod, "by Quux")))
	if text(out, tag.PatientIdentityRemoved) != "YES" || text(out, tag.LongitudinalTemporalInformationModified) != "MODIFIED" {
		t.Errorf("left: %q", values(out))
	}
	var codes []string
	for _, item := range out.Items(tag.DeidentificationMethodCodeSequence) {
		codes = append(codes, text(item, tag.CodeValue))
	}
	if want := []string{"113100", "113101", "113107", "113109"}; !slices.Equal(codes, want) {
		t.Errorf("codes %v, want %v", codes, want)
	}
	if got := text(out, tag.DeidentificationMethod); !strings.HasSuffix(got, `Basic Profile\retainDevice\shiftDates`) {
		t.Errorf("method %q", got)
	}
}

func TestTheTemporalMarkRemembersWhatWasDoneBefore(t *testing.T) {
	t.Parallel()
	mark := func(before string, o Options) string {
		return text(leaves(t, o, ct(dicom.Text(tag.LongitudinalTemporalInformationModified, before))), tag.LongitudinalTemporalInformationModified)
	}
	got := []string{mark("", Options{}), mark("UNMODIFIED", Options{RetainFullDates: true}), mark("MODIFIED", Options{RetainFullDates: true}), mark("REMOVED", Options{ShiftDates: true})}
	if want := []string{"REMOVED", "UNMODIFIED", "MODIFIED", "REMOVED"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestDatesMoveByTheOffsetAndTimesStay(t *testing.T) {
	t.Parallel()
	d := ct(
		dicom.New(tag.StudyDate, vr.DA, []byte("20210304")), dicom.New(tag.StudyTime, vr.TM, []byte("103000.5")),
		dicom.New(tag.AcquisitionDateTime, vr.DT, []byte("20210304103000.500000+0100")),
		dicom.New(tag.SeriesDate, vr.DA, []byte("2021.03.04")), dicom.New(tag.ContentDate, vr.DA, []byte("yesterday")),
		dicom.New(tag.FrameAcquisitionDateTime, vr.DT, []byte("2021")), dicom.New(tag.PatientBirthDate, vr.DA, []byte("19210304")),
		dicom.New(tag.TimezoneOffsetFromUTC, vr.SH, []byte("+0100")))
	out := leaves(t, Options{ShiftDates: true}, d)
	want := map[tag.Tag]string{
		tag.StudyDate: "20200112", tag.StudyTime: "103000.5", tag.AcquisitionDateTime: "20200112103000.500000+0100",
		tag.SeriesDate: "20200112", tag.ContentDate: dummyDate, tag.FrameAcquisitionDateTime: "2019", tag.PatientBirthDate: "",
		tag.TimezoneOffsetFromUTC: "+0100",
	}
	for at, s := range want {
		if got := text(out, at); got != s {
			t.Errorf("%s: %q, want %q", at.Keyword(), got, s)
		}
	}
}

func TestPaddingAndOverlaysInThePixelsGo(t *testing.T) {
	t.Parallel()
	pixels := bytes.Repeat([]byte{0x23, 0xF1}, 16) // bits 12 to 15 hold overlays
	plain := append(slices.Clone(pixels), "Quux was here   "...)
	e := func(d *dicom.Dataset) []byte {
		pixel, _ := d.Get(tag.PixelData)
		return pixel.Value
	}
	if out := e(leaves(t, Options{}, ct(dicom.New(tag.PixelData, vr.OW, plain)))); !bytes.Equal(out, pixels) {
		t.Errorf("without a sign of overlays the pixels became %x", out)
	}
	overlay := []*dicom.Element{dicom.Ints(0x60000010, 4), dicom.Ints(0x60000102, 12), dicom.New(tag.PixelData, vr.OW, plain)}
	for _, w := range words(e(leaves(t, Options{}, ct(overlay...)))) {
		if w != 0x0123 {
			t.Fatalf("a pixel became %04x, want 0123", w)
		}
	}
	large := dicom.NewLarge(tag.PixelData, vr.OW, io.NewSectionReader(bytes.NewReader(bytes.Repeat(pixels, 4096)), 0, 4096*32))
	overlay[2] = large
	out := leaves(t, Options{}, ct(append(overlay, dicom.Ints(tag.Rows, 256), dicom.Ints(tag.Columns, 256))...))
	pixel, _ := out.Get(tag.PixelData)
	b, err := pixel.Bytes(1 << 20)
	if err != nil || len(b) != 4096*32 || words(b)[70_000/2] != 0x0123 {
		t.Errorf("%d bytes of large pixels, %v", len(b), err)
	}
}

func TestTheSameInputGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	p := plan(t, Options{ShiftDates: true, CleanDescriptors: true})
	f := file(t, planted(&plants{}))
	before := values(f.Dataset)
	first, _, _ := applied(t, p, f, someone())
	second, _, _ := applied(t, plan(t, Options{ShiftDates: true, CleanDescriptors: true}), f, someone())
	if !bytes.Equal(first, second) {
		t.Error("a rerun writes other bytes")
	}
	if !slices.Equal(before, values(f.Dataset)) {
		t.Error("the source was changed")
	}
}

// TestDoingItTwiceChangesNothingMore: UIDs apart, which are mapped again.
func TestDoingItTwiceChangesNothingMore(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{RetainUIDs: true}, {RetainUIDs: true, RetainFullDates: true, CleanDescriptors: true, RetainSafePrivate: true}} {
		p := plan(t, o)
		first, out, _ := applied(t, p, file(t, planted(&plants{})), someone())
		second, _, report := applied(t, p, out, someone())
		if !bytes.Equal(first, second) {
			t.Errorf("%+v: a second pass changed\n%v", o, report.String())
		}
	}
}

func TestADryRunShowsWhatApplyDoes(t *testing.T) {
	t.Parallel()
	p, f := plan(t, Options{}), file(t, planted(&plants{}))
	_, _, report := applied(t, p, f, someone())
	changes, err := p.DryRun(f, someone())
	if err != nil || len(changes) != len(report.Rows) {
		t.Fatalf("%d changes, %d rows, %v", len(changes), len(report.Rows), err)
	}
	rows := map[string]Action{}
	for _, r := range report.Rows {
		rows[r.Path.String()] = r.Action
	}
	for _, c := range changes {
		if rows[c.Path.String()] != c.Action {
			t.Errorf("%v: %v, Apply says %v", c.Path, c.Action, rows[c.Path.String()])
		}
		if c.Path.String() == "(0010,0010)" && (c.After != "P0001" || !strings.HasSuffix(c.Before, "^Fred") || c.Keyword != "PatientName") {
			t.Errorf("the name: %+v", c)
		}
	}
}

func TestTheReportIsInTheOrderOfTheFileAndSaysWhere(t *testing.T) {
	t.Parallel()
	_, _, report := applied(t, plan(t, Options{}), file(t, ct(nested(2, dicom.Text(tag.OperatorsName, "Quux")), dicom.Text(tag.PatientComments, "x"))), someone())
	s := report.String()
	for _, line := range []string{
		"(0008,1115)[1] > (0008,1115)[1] > (0008,1070) replaced\n", "(0010,4000) removed\n", "(0020,000D) remapped\n", "(0012,0062) added\n",
	} {
		if !strings.Contains(s, line) {
			t.Errorf("%q is missing in\n%s", line, s)
		}
	}
	if !slices.IsSortedFunc(report.Rows, func(a, b Row) int { return comparePaths(a.Path, b.Path) }) {
		t.Error("rows are out of order")
	}
	if n := report.CountByAction(); n[Removed] != 1 || n[Remapped] != 4 {
		t.Errorf("counts %v", n)
	}
}
