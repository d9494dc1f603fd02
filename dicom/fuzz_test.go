package dicom_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// seed adds the samples, if they are there, and files of this package's own making: small ones, for the
// fuzzer does little with large ones.
func seed(f *testing.F) {
	for _, syntax := range []string{uid.ExplicitLE, uid.ImplicitLE, uid.ExplicitBE, uid.DeflatedLE} {
		d := everything(f)
		d.Remove(tag.TextValue, tag.PixelData)
		f.Add(write(f, dicom.NewFile(d, syntax), dicom.As(syntax)))
	}
	f.Add(part10(uid.JPEGBaseline, head(tag.PixelData, vr.OB, undefined), item(), item([]byte("ab")), closeSequence()))
	f.Add(explicitFile(nestedUN(5, 10)))
	if hasSamples() {
		for _, s := range samples(f) {
			if b := s.read(f); len(b) < 3_000 {
				f.Add(b)
			}
		}
	}
}

// FuzzRead: whatever the bytes, reading ends without a panic, within its budget, and everything that
// can be asked of what was read can be answered.
func FuzzRead(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		src := &counted{src: bytes.NewReader(b)}
		file, err := dicom.Parse(src, int64(len(b)), dicom.MaxMemory(4<<20), dicom.MaxInflated(1<<20))
		if limit := int64(8*len(b) + 1<<20); src.bytes > limit {
			t.Errorf("read %d bytes of %d", src.bytes, len(b))
		}
		if err != nil {
			if file != nil || !utf8.ValidString(err.Error()) || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
				t.Errorf("error %q, file %v", err, file)
			}
			return
		}
		ask(t, file)
	})
}

func ask(t *testing.T, file *dicom.File) {
	for n := range file.Dataset.Walk() {
		d, e := n.Dataset, n.Element
		for _, s := range d.Values(e) {
			dicom.ParsePersonName(s)
		}
		_, _ = d.Floats(e.Tag)
		_, _ = d.Tags(e.Tag)
		_, _ = d.Date(e.Tag)
		_, _ = d.DateTime(e.Tag)
		_, _ = d.Creator(e.Tag)
	}
	if err := dicom.Dump(io.Discard, file, dicom.DumpOptions{Names: true}); err != nil {
		t.Error(err)
	}
	_ = dicom.WriteJSON(io.Discard, file.Dataset, func(dicom.Node) string { return "x" })
}

// FuzzWrite: what could be read can be written, in its own syntax and in explicit little endian, and
// what was written is read strictly and is the same.
func FuzzWrite(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		first, err := parse(b, dicom.MaxInflated(1<<20))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := dicom.Write(&out, first, dicom.As(first.TransferSyntax)); err != nil {
			return // compressed pixels in a native syntax: refused
		}
		second, err := parse(out.Bytes())
		if err != nil {
			t.Fatalf("what was written is refused: %v", err)
		}
		var again bytes.Buffer
		if err := dicom.Write(&again, second, dicom.As(second.TransferSyntax)); err != nil {
			t.Fatal(err)
		}
		// The first writing may change things: implicit VR loses the VRs, and the header is made of what has one.
		if diff := cmp.Diff(lines(second.Dataset), lines(mustParse(t, again.Bytes()).Dataset)); diff != "" {
			t.Errorf("written twice it differs:\n%s", diff)
		}
	})
}

// FuzzCharset: every byte decodes to valid text, and text that can be encoded comes back the same.
func FuzzCharset(f *testing.F) {
	for _, n := range names {
		f.Add(n.charset, unhex(f, n.bytes), n.text)
	}
	f.Fuzz(func(t *testing.T, terms string, b []byte, text string) {
		cs, _ := dicom.ParseCharset(strings.Split(terms, `\`)...)
		if s := cs.Decode(vr.PN, b); !utf8.ValidString(s) {
			t.Errorf("%x in %q decodes to %q", b, terms, s)
		}
		encoded, err := cs.Encode(vr.PN, text)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		if s := cs.Decode(vr.PN, encoded); s != text {
			t.Errorf("%q in %q becomes %x and then %q", text, terms, encoded, s)
		}
	})
}
