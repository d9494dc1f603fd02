package deid

import (
	"bytes"
	"errors"
	"image"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// shared is the folder of samples, beside the repository.
func shared() string {
	if dir := os.Getenv("FILMROOM_SHARED"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "..", "shared")
}

// eachSample calls do with each sample file, or skips the test where the samples are not.
func eachSample(t testing.TB, do func(name string, b []byte)) {
	t.Helper()
	root := filepath.Join(shared(), "dicom-samples")
	if _, err := os.Stat(root); err != nil {
		t.Skip("the DICOM samples are not beside the repository: set FILMROOM_SHARED to the folder that has dicom-samples")
	}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		do(filepath.ToSlash(path[len(root)+1:]), b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// scan is one file held against what leaves of it.
type scan struct {
	t       *testing.T
	name    string
	out     *dicom.File
	raw     []byte // what leaves, without its native pixels
	sets    map[*dicom.Charset]bool
	stays   map[string]bool // texts that the table keeps
	removed map[string]bool // texts that went
}

// TestNothingThatWasRemovedStandsAnywhere is the leak scan. In the decoded text of what leaves no removed
// value of three characters or more stands as a whole token, and in its bytes none of six or more. Terms
// are excepted: coded values and codes, registered UIDs, names of products, numbers.
//
// Each file is scanned alone, and as a desk exports it: with what all files of its study say of the patient, and
// with a rectangle to paint over.
func TestNothingThatWasRemovedStandsAnywhere(t *testing.T) {
	t.Parallel()
	studies := studiesOfSamples(t)
	scanned := map[bool]int{}
	for name, o := range map[string]Options{
		"basic": {}, "shifted": {ShiftDates: true, RetainPatientCharacteristics: true}, "private": {RetainSafePrivate: true},
		"cleaned": {CleanDescriptors: true, CleanStructuredContent: true, CleanGraphics: true},
		"device":  {RetainDevice: true, RetainInstitution: true, RetainUIDs: true, RetainFullDates: true},
		"days":    {RetainFullDates: true, EmptyTimes: true, RetainSafePrivate: true, CleanDescriptors: true},
	} {
		p := plan(t, o)
		eachSample(t, func(path string, b []byte) {
			f, err := dicom.Parse(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				return
			}
			for _, exported := range []bool{false, true} {
				s := someone()
				s.PixelsReviewed = true
				if exported {
					s.Identity = *studies[studyOf(f)]
					gossip(f.Dataset, &s.Identity)
					s.Blackout = []image.Rectangle{image.Rect(0, 0, 3, 2)}
				}
				if scanOne(t, name+" "+path, p, f, s) {
					scanned[exported]++
				}
			}
		})
	}
	if scanned[false] < 6*140 || scanned[true] < 6*90 { // most compressed pixels are not painted over
		t.Errorf("only %v files were scanned", scanned)
	}
}

// gossip writes all that is known of the patient into a text, which the author of no sample thought of. What
// the character set cannot hold stays out, and a name of nothing but marks is none.
func gossip(d *dicom.Dataset, id *Identity) {
	known := slices.DeleteFunc(slices.Concat(id.Names, id.IDs), func(s string) bool { return !strings.ContainsFunc(s, wordRune) })
	_ = d.SetString(tag.AcquisitionProtocolName, "of "+strings.Join(known, " and "))
}

// scanOne scans what leaves of one file; false says that it may not leave.
func scanOne(t *testing.T, name string, p *Plan, f *dicom.File, s Subject) bool {
	t.Helper()
	var w bytes.Buffer
	if _, err := p.Apply(&w, f, s); err != nil {
		if !errors.Is(err, ErrRefused) && !errors.Is(err, dicom.ErrSyntax) {
			t.Errorf("%s: %v", name, err)
		}
		return false
	}
	scan := newScan(t, name, p.options, f, w.Bytes())
	scan.know(&s.Identity)
	scan.run()
	checkTimes(t, p, scan.out.Dataset)
	for _, r := range s.Blackout {
		checkBlack(t, scan.out.Dataset, r)
	}
	return true
}

// studiesOfSamples is what the samples say of their patients, by study.
func studiesOfSamples(t *testing.T) map[string]*Identity {
	t.Helper()
	studies := map[string]*Identity{}
	eachSample(t, func(_ string, b []byte) {
		f, err := dicom.Parse(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		if studies[studyOf(f)] == nil {
			studies[studyOf(f)] = &Identity{}
		}
		studies[studyOf(f)].Collect(f.Dataset)
	})
	return studies
}

func studyOf(f *dicom.File) string {
	study, _ := f.Dataset.UID(tag.StudyInstanceUID)
	return study
}

func newScan(t *testing.T, name string, o Options, f *dicom.File, b []byte) *scan {
	s := &scan{t: t, name: name, sets: map[*dicom.Charset]bool{}, stays: map[string]bool{}, removed: map[string]bool{}}
	s.out = parse(t, b)
	s.raw = b
	if e, ok := s.out.Dataset.Get(tag.PixelData); ok && e.Fragments == nil {
		const header = 12 // tag, VR, two reserved bytes, length
		s.raw = slices.Concat(b[:e.Offset], b[e.Offset+header+e.Len():])
	}
	for n := range s.out.Dataset.Walk() {
		for _, v := range n.Dataset.Values(n.Element) {
			s.stays[n.Path.String()+v] = true
		}
	}
	s.sets[f.Dataset.Charset()] = true
	for n := range f.Dataset.Walk() {
		if n.Element.Tag == tag.SpecificCharacterSet {
			s.sets[n.Dataset.Charset()] = true
		}
		for _, v := range n.Dataset.Values(n.Element) {
			if !s.stays[n.Path.String()+v] && identifying(n.Element, v, o) {
				s.removed[v] = true
			}
		}
	}
	return s
}

// know adds what is known of the patient from elsewhere to what may not be there.
func (s *scan) know(id *Identity) {
	for _, name := range id.Names {
		for _, part := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("^= ", r) }) {
			if utf8.RuneCountInString(part) >= 3 {
				s.removed[part] = true
			}
		}
	}
	for _, number := range id.IDs {
		if utf8.RuneCountInString(number) >= 3 && strings.Trim(number, "0123456789.+-") != "" {
			s.removed[number] = true
		}
	}
}

// identifying reports whether a value is more than a number, a term, or something that was asked for.
func identifying(e *dicom.Element, v string, o Options) bool {
	_, known := uid.Lookup(v)
	if known || utf8.RuneCountInString(v) < 3 || v == dummyText {
		return false
	}
	switch e.VR {
	case vr.DS, vr.IS, vr.AS, vr.CS:
		return false
	case vr.UI:
		return !o.RetainUIDs
	case vr.DA, vr.DT:
		return !o.RetainFullDates
	}
	return strings.Trim(v, "0123456789.+-") != ""
}

// exempt reports whether an element holds terms, as the test's name for them says.
func exempt(e *dicom.Element) bool {
	switch e.VR {
	case vr.DS, vr.IS, vr.CS, vr.AS, vr.TM:
		return true
	}
	return isTerm(e.Tag) || e.Tag == tag.DeidentificationMethod
}

func (s *scan) run() {
	terms := map[string]bool{}
	for n := range s.out.Dataset.Walk() {
		text, ok := n.Dataset.Text(n.Element)
		if !ok || text == "" {
			continue
		}
		if exempt(n.Element) {
			terms[text] = true
			continue
		}
		for v := range s.removed {
			if standsIn(text, v) {
				s.t.Errorf("%s: %v %s still holds a removed value of %d characters: %q in %q", s.name, n.Path, n.Element.VR, len(v), v, text)
			}
		}
	}
	for v := range s.removed {
		for _, b := range s.encodings(v) {
			if len(b) >= 6 && bytes.Contains(s.raw, b) && !withinAny(terms, v) {
				s.t.Errorf("%s: a removed value of %d bytes stands in what leaves: %q", s.name, len(v), v)
			}
		}
	}
}

// encodings are the bytes of a text in UTF-8 and in each character set of the file.
func (s *scan) encodings(v string) [][]byte {
	all := [][]byte{[]byte(v)}
	if strings.IndexFunc(v, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return all
	}
	for cs := range s.sets {
		if b, err := cs.Encode(vr.LO, v); err == nil {
			all = append(all, b)
		}
	}
	return all
}

func withinAny(terms map[string]bool, v string) bool {
	for s := range terms {
		if strings.Contains(s, v) {
			return true
		}
	}
	return false
}

// standsIn reports whether v stands in text as a whole token.
func standsIn(text, v string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], v)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at+i])
		after, _ := utf8.DecodeRuneInString(text[at+i+len(v):])
		if !wordRune(before) && !wordRune(after) {
			return true
		}
		at += i + 1
	}
}

func wordRune(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
