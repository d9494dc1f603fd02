package dicom_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// A header must cost a header, whatever the file's size.
func TestTheHeaderOfATwoGigabyteFileCostsItsHeader(t *testing.T) {
	t.Parallel()
	first := explicitFile(explicit(tag.PatientID, vr.LO, "ID"), head(tag.PixelData, vr.OW, 2<<30))
	for _, opts := range [][]dicom.Option{nil, {dicom.StopAtPixels()}} {
		src := &counted{src: sparse{first, int64(len(first)) + 2<<30}}
		f, err := dicom.Parse(src, int64(len(first))+2<<30, opts...)
		if err != nil {
			t.Fatal(err)
		}
		if src.bytes > 64<<10 || src.calls > 1 {
			t.Errorf("read %d bytes in %d calls, want at most 64 KiB in one", src.bytes, src.calls)
		}
		if e, ok := f.Dataset.Get(tag.PixelData); !ok || e.Section.Size() != 2<<30 || e.Value != nil {
			t.Error("the pixel data is no section of 2 GiB")
		}
	}
}

// A thousand frames must not cost a thousand windows of 64 KiB.
func TestFragmentsAreCountedByTheirHeaders(t *testing.T) {
	t.Parallel()
	fragment := item(make([]byte, 100_000))
	file := part10(uid.JPEGBaseline, head(tag.PixelData, vr.OB, undefined), item(), repeat(fragment, 50), closeSequence())
	src := &counted{src: bytes.NewReader(file)}
	f, err := dicom.Parse(src, int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	e, _ := f.Dataset.Get(tag.PixelData)
	if e.Fragments.Len() != 50 {
		t.Errorf("%d fragments, want 50", e.Fragments.Len())
	}
	if limit := int64(64<<10 + 50*4<<10); src.bytes > limit {
		t.Errorf("read %d bytes, want at most %d", src.bytes, limit)
	}
}

func TestStopAtPixelsDoesNotLookBeyondThem(t *testing.T) {
	t.Parallel()
	id := explicit(tag.PatientID, vr.LO, "ID")
	compressed := part10(uid.JPEGBaseline, id, head(tag.PixelData, vr.OB, undefined), item(), []byte("broken"))
	f, err := parse(compressed, dicom.StopAtPixels())
	if err != nil || !f.Partial {
		t.Fatalf("%v, want a partial file", err)
	}
	if err := dicom.Write(io.Discard, f); !errors.Is(err, dicom.ErrIncomplete) {
		t.Errorf("writing says %v, want ErrIncomplete", err)
	}
	short := explicitFile(id, head(tag.PixelData, vr.OW, 100), make([]byte, 99))
	if _, err := parse(short, dicom.StopAtPixels()); !errors.Is(err, dicom.ErrTruncated) {
		t.Errorf("native pixel data that is one byte short: %v, want ErrTruncated", err)
	}
	icon := explicit(tag.IconImageSequence, vr.SQ, string(item(explicit(tag.PixelData, vr.OB, "abcd"))))
	f, err = parse(explicitFile(icon, explicit(0x00880906, vr.ST, "x ")), dicom.StopAtPixels())
	if err != nil || f.Partial || f.Dataset.Len() != 2 {
		t.Errorf("an icon's pixels ended reading: %v", err)
	}
}

// Nested sequences must not exhaust the stack: other servers die at fifty levels.
func TestNestingIsBounded(t *testing.T) {
	t.Parallel()
	nested := func(depth int) []byte {
		open := join(head(tag.ReferencedImageSequence, vr.SQ, undefined), leTag(tag.Item), le32(undefined))
		end := join(leTag(tag.ItemDelimitationItem), le32(0), closeSequence())
		return explicitFile(repeat(open, depth), repeat(end, depth))
	}
	if _, err := parse(nested(dicom.DefaultMaxDepth)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := parse(nested(dicom.DefaultMaxDepth + 1)); !errors.Is(err, dicom.ErrTooDeep) {
		t.Errorf("beyond the limit: %v, want ErrTooDeep", err)
	}
	if _, err := parse(nested(1_000_000)); !errors.Is(err, dicom.ErrTooDeep) {
		t.Errorf("a million deep: %v, want ErrTooDeep", err)
	}
	if _, err := parse(nested(2), dicom.MaxDepth(1)); !errors.Is(err, dicom.ErrTooDeep) {
		t.Errorf("two deep with MaxDepth(1): %v, want ErrTooDeep", err)
	}
}

// Each element of eight bytes becomes a struct of ninety: a file of them must not become memory.
// Not parallel: it counts what the whole process allocates.
func TestMemoryIsBoundedByTheOptionNotByTheFile(t *testing.T) {
	const budget = 1 << 20
	empty := implicit(0x00091001, "")
	emptyItems := part10(uid.ImplicitLE, leTag(tag.ReferencedImageSequence), le32(undefined), repeat(item(), 200_000), closeSequence())
	// Attempts to read UN as a sequence must cost as well: each fails at its end.
	attempt := explicit(0x00091001, vr.UN, string(join(leTag(tag.Item), le32(8*1000+3), repeat(empty, 1000), []byte("bad"))))
	for name, file := range map[string][]byte{
		"elements":      part10(uid.ImplicitLE, implicit(0x00080000, string(le32(0))), repeat(empty, 200_000)),
		"items":         emptyItems,
		"held values":   explicitFile(repeat(explicit(tag.TextValue, vr.UT, strings.Repeat("x", 60_000)), 100)),
		"fragments":     part10(uid.JPEGBaseline, head(tag.PixelData, vr.OB, undefined), repeat(item(), 200_000), closeSequence()),
		"offset table":  part10(uid.JPEGBaseline, head(tag.PixelData, vr.OB, undefined), item(make([]byte, 2<<20)), closeSequence()),
		"failed guess":  explicitFile(repeat(attempt, 200)),
		"deflated bomb": part10(uid.DeflatedLE, deflate(repeat(explicit(0x00091001, vr.UN, ""), 200_000))),
	} {
		t.Run(name, func(t *testing.T) {
			before := allocated()
			_, err := parse(file, dicom.MaxMemory(budget))
			if !errors.Is(err, dicom.ErrTooLarge) {
				t.Errorf("%v, want ErrTooLarge", err)
			}
			if got := allocated() - before; got > 4*budget {
				t.Errorf("allocated %d bytes with a budget of %d", got, budget)
			}
		})
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestADeflateBombIsRefusedAtItsLimit(t *testing.T) {
	t.Parallel()
	file := part10(uid.DeflatedLE, deflate(make([]byte, 10<<20)))
	if _, err := parse(file, dicom.MaxInflated(1<<20)); !errors.Is(err, dicom.ErrTooLarge) {
		t.Errorf("%v, want ErrTooLarge", err)
	}
}

// A deflated data set is inflated while it is read: from many places at once, forwards and back.
func TestLargeValuesOfADeflatedFileAreReadInAnyOrder(t *testing.T) {
	t.Parallel()
	want := read(section(100_000))
	f := mustParse(t, write(t, dicom.NewFile(everything(t), uid.DeflatedLE), dicom.As(uid.DeflatedLE)))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			pixels, _ := f.Dataset.Get(tag.PixelData)
			got := make([]byte, 10)
			for _, at := range []int64{99_990, 0, 50_000, 10} {
				if _, err := pixels.Section.ReadAt(got, at); err != nil || !bytes.Equal(got, want[at:at+10]) {
					t.Errorf("at %d: %x, %v", at, got, err)
				}
			}
			if all := read(pixels.Open()); !bytes.Equal(all, want) {
				t.Error("read from the start it differs")
			}
		})
	}
	wg.Wait()
}

// Zeros at the end are looked at to make sure they are zeros: that must not happen for each element
// again.
func TestTimeIsLinear(t *testing.T) {
	t.Parallel()
	zeros := make([]byte, 1<<20)
	for name, file := range map[string][]byte{
		"zeros that are no padding": part10(uid.ImplicitLE, implicit(tag.PatientID, "ID"), zeros, []byte{1}),
		"zeros in between":          part10(uid.ImplicitLE, implicit(tag.PatientID, "ID"), repeat(join(make([]byte, 4000), implicit(tag.PatientID, "ID")), 250)),
		"UN within UN":              explicitFile(nestedUN(50, 1<<20)),
		"elements that repeat":      part10(uid.ImplicitLE, repeat(implicit(tag.SmallestImagePixelValue, "\x00\x00"), 100_000)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := &counted{src: bytes.NewReader(file)}
			_, _ = dicom.Parse(src, int64(len(file)))
			if limit := int64(4*len(file) + 1<<20); src.bytes > limit {
				t.Errorf("read %d bytes of a file of %d", src.bytes, len(file))
			}
		})
	}
}

// nestedUN is an item in UN in an item in UN and so on, and each is broken behind what it holds.
func nestedUN(depth, size int) []byte {
	b := make([]byte, size)
	for range depth {
		b = explicit(0x00091001, vr.UN, string(join(leTag(tag.Item), le32(uint32(len(b)+3)), b, []byte("bad"))))
	}
	return b
}

func TestEveryMalformedSampleEndsInBoundedSteps(t *testing.T) {
	for _, s := range samples(t) {
		if s.expect != "no-crash" && s.expect != "refuse" {
			continue
		}
		file := s.read(t)
		src := &counted{src: bytes.NewReader(file)}
		before := allocated()
		f, err := dicom.Parse(src, int64(len(file)))
		if err == nil {
			err = dicom.Dump(io.Discard, f, dicom.DumpOptions{Names: true})
		}
		if err == nil {
			// What cannot be written says so; it must not cost more than what can.
			_ = dicom.Write(io.Discard, f)
		}
		if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
			t.Errorf("%s: control characters in %q", s.path, err)
		}
		if limit := int64(3*len(file) + 128<<10); src.bytes > limit {
			t.Errorf("%s: read %d bytes of %d", s.path, src.bytes, len(file))
		}
		if got := allocated() - before; got > uint64(20*len(file)+256<<10) {
			t.Errorf("%s: allocated %d bytes for a file of %d", s.path, got, len(file))
		}
	}
}

// A source that fails or ends before its stated size must not be taken for a whole file.
func TestASourceThatFailsIsAnError(t *testing.T) {
	t.Parallel()
	file := explicitFile(explicit(tag.PatientID, vr.LO, "ID"), explicit(tag.TextValue, vr.UT, strings.Repeat("x", 70_000)), explicit(0x00420010, vr.ST, "ab"))
	broken := errors.New("disk on fire")
	for n := range len(file) {
		if n%997 != 0 && n > 300 {
			continue
		}
		if _, err := dicom.Parse(failing{bytes.NewReader(file[:n]), broken}, int64(len(file))); !errors.Is(err, broken) {
			t.Errorf("failing after %d bytes: %v", n, err)
		}
		if _, err := dicom.Parse(bytes.NewReader(file[:n]), int64(len(file))); err == nil {
			t.Errorf("ending after %d bytes: no error", n)
		}
	}
	if _, err := dicom.Parse(bytes.NewReader(file), -1); !errors.Is(err, dicom.ErrNotDICOM) {
		t.Errorf("a negative size: %v", err)
	}
}

// failing is a source that ends with an error instead of io.EOF.
type failing struct {
	src io.ReaderAt
	err error
}

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.src.ReadAt(p, off)
	if err != nil {
		err = f.err
	}
	return n, err
}
