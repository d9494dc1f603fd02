package deid

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// outcome is what Apply says, and under a subject whose pixels were looked at.
func outcome(t *testing.T, o Options, f *dicom.File) (unseen, seen error) {
	t.Helper()
	p, s := plan(t, o), someone()
	_, unseen = p.Apply(io.Discard, f, s)
	s.PixelsReviewed = true
	_, seen = p.Apply(io.Discard, f, s)
	return unseen, seen
}

func TestPixelsThatMayShowANameAreHeldBackUntilSomebodyLooked(t *testing.T) {
	t.Parallel()
	class := func(u string) *dicom.Element { return dicom.Text(tag.SOPClassUID, u) }
	burned := func(s string) *dicom.Element { return dicom.Text(tag.BurnedInAnnotation, s) }
	cases := []struct {
		name     string
		elements []*dicom.Element
		held     bool
	}{
		{"a CT image goes", nil, false},
		{"one that says YES is held", []*dicom.Element{burned("YES")}, true},
		{"one that says y is held", []*dicom.Element{burned("y")}, true},
		{"one that says yes is held", []*dicom.Element{burned("yes")}, true},
		{"one that says no goes", []*dicom.Element{burned("no")}, false},
		{"one that says it in the wrong VR is held", []*dicom.Element{dicom.New(tag.BurnedInAnnotation, vr.OB, []byte("NO"))}, true},
		{"ultrasound is held", []*dicom.Element{class(uid.UltrasoundImageStorage)}, true},
		{"ultrasound that says NO goes", []*dicom.Element{class(uid.UltrasoundImageStorage), burned("NO")}, false},
		{"a secondary capture is held", []*dicom.Element{class(uid.SecondaryCaptureImageStorage)}, true},
		{"a photograph is held", []*dicom.Element{class(uid.VLPhotographicImageStorage)}, true},
		{"a class that nobody knows is held", []*dicom.Element{class("1.2.3.4")}, true},
		{"a CT scanner's saved screen is held", []*dicom.Element{dicom.Text(tag.ImageType, `DERIVED\SECONDARY\SCREEN SAVE`)}, true},
		{"even if it says NO", []*dicom.Element{dicom.Text(tag.ImageType, `DERIVED\SECONDARY\SCREEN SAVE`), burned("NO")}, true},
		{"a slide's label is held", []*dicom.Element{class(uid.VLWholeSlideMicroscopyImageStorage), dicom.Text(tag.ImageType, `ORIGINAL\PRIMARY\LABEL\NONE`), burned("NO")}, true},
		{"a digitised film is held", []*dicom.Element{dicom.Text(tag.ConversionType, "DF")}, true},
		{"modality OT is held", []*dicom.Element{dicom.Text(tag.Modality, "OT")}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			unseen, seen := outcome(t, Options{}, file(t, ct(c.elements...)))
			if c.held != errors.Is(unseen, ErrHeld) || !c.held && unseen != nil {
				t.Errorf("unseen: %v", unseen)
			}
			if seen != nil {
				t.Errorf("looked at: %v", seen)
			}
		})
	}
}

func TestADataSetWithoutPixelsIsNotHeld(t *testing.T) {
	t.Parallel()
	d := ct(dicom.Text(tag.SOPClassUID, uid.UltrasoundImageStorage))
	d.Remove(tag.PixelData)
	if err, _ := outcome(t, Options{}, file(t, d)); err != nil {
		t.Error(err)
	}
}

// What a document says cannot be searched in general, so somebody has to read it. What can be found is not taken all
// the same.
func TestADocumentIsHeldBackUntilSomebodyHasReadIt(t *testing.T) {
	t.Parallel()
	document := func(text string) *dicom.Element { return dicom.New(tag.EncapsulatedDocument, vr.OB, []byte(text)) }
	for name, d := range map[string]*dicom.Dataset{
		"at the top":     ct(document("%PDF")),
		"within an item": ct(dicom.Sequence(tag.ReferencedImageSequence, dicom.NewDataset(document("%PDF")))),
	} {
		if unseen, seen := outcome(t, Options{}, file(t, d)); !errors.Is(unseen, ErrHeld) || seen != nil {
			t.Errorf("%s: unread: %v; read: %v", name, unseen, seen)
		}
	}
	for text, want := range map[string]string{"%PDF of nobody": "%PDF of nobody", "%PDF of Garply, Grault": ""} {
		s := someone()
		s.PixelsReviewed = true
		var b bytes.Buffer
		d := ct(dicom.Text(tag.PatientName, "Garply^Grault"), document(text))
		if _, err := plan(t, Options{}).Apply(&b, file(t, d), s); err != nil {
			t.Fatal(err)
		}
		out, err := dicom.Parse(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		left := ""
		if e, ok := out.Dataset.Get(tag.EncapsulatedDocument); ok {
			left = strings.TrimRight(string(e.Value), "\x00")
		}
		if left != want {
			t.Errorf("of %q is left %q, want %q", text, left, want)
		}
	}
}

func TestWhatNoPlanCanCleanIsRefused(t *testing.T) {
	t.Parallel()
	annotated := dicom.Sequence(tag.WaveformAnnotationSequence, dicom.NewDataset(dicom.Text(tag.UnformattedTextValue, "Quux")))
	embedded := dicom.Ints(0x60000102, 12)
	cases := []struct {
		name string
		d    *dicom.Dataset
	}{
		{"a voice", ct(dicom.Text(tag.SOPClassUID, uid.BasicVoiceAudioWaveformStorage))},
		{"a DICOMDIR", ct(dicom.Text(tag.SOPClassUID, uid.MediaStorageDirectory))},
		{"annotated waveforms", ct(annotated)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			unseen, seen := outcome(t, Options{}, file(t, c.d))
			if !errors.Is(unseen, ErrRefused) || !errors.Is(seen, ErrRefused) {
				t.Errorf("unseen: %v; looked at: %v", unseen, seen)
			}
		})
	}
	t.Run("but the option to clean structured content takes annotations", func(t *testing.T) {
		t.Parallel()
		if err, _ := outcome(t, Options{CleanStructuredContent: true}, file(t, ct(annotated))); err != nil {
			t.Error(err)
		}
	})
	t.Run("an overlay within compressed pixels", func(t *testing.T) {
		t.Parallel()
		d := ct(embedded, dicom.Encapsulated(tag.PixelData, vr.OB, dicom.NewFragments([]byte{1, 2})))
		f := dicom.NewFile(d, uid.RLELossless)
		if _, err := plan(t, Options{}).Apply(io.Discard, f, someone()); !errors.Is(err, ErrRefused) {
			t.Error(err)
		}
	})
}

// TestWhatCannotBeReadToItsEndCannotLeave: the package's promise to fail closed.
func TestWhatCannotBeReadToItsEndCannotLeave(t *testing.T) {
	t.Parallel()
	p := plan(t, Options{})
	var b bytes.Buffer
	if err := dicom.Write(&b, dicom.NewFile(ct(), uid.ExplicitLE)); err != nil {
		t.Fatal(err)
	}
	partial, err := dicom.Parse(bytes.NewReader(b.Bytes()), int64(b.Len()), dicom.StopAtPixels())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(io.Discard, partial, someone()); !errors.Is(err, dicom.ErrIncomplete) {
		t.Errorf("a file read up to its pixels: %v", err)
	}
	d := ct()
	d.Set(dicom.NewLarge(tag.PixelData, vr.OW, io.NewSectionReader(shortReader{10}, 0, 32)))
	if _, err := p.Apply(io.Discard, dicom.NewFile(d, uid.ExplicitLE), someone()); err == nil {
		t.Error("a source that ends too soon was taken for whole")
	}
}

func TestASubjectThatLacksSomethingIsRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*Subject){
		"no pseudonym":                func(s *Subject) { s.Pseudonym = "" },
		"one with a caret":            func(s *Subject) { s.Pseudonym = "Quux^Fred" },
		"one outside ASCII":           func(s *Subject) { s.Pseudonym = "Müller" },
		"one that is too long":        func(s *Subject) { s.Pseudonym = string(make([]byte, 65)) },
		"a short key":                 func(s *Subject) { s.UIDKey = s.UIDKey[:15] },
		"dates to be shifted by none": func(s *Subject) { s.DateOffset = 0 },
	}
	p := plan(t, Options{ShiftDates: true})
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := someone()
			spoil(&s)
			if _, err := p.Apply(io.Discard, dicom.NewFile(ct(), uid.ExplicitLE), s); !errors.Is(err, ErrSubject) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPlansThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := Compile("advanced", Options{}); !errors.Is(err, ErrPlan) {
		t.Errorf("an unknown profile: %v", err)
	}
	if _, err := Compile(Basic, Options{RetainFullDates: true, ShiftDates: true}); !errors.Is(err, ErrPlan) {
		t.Errorf("dates that stay and move: %v", err)
	}
}
