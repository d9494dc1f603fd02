package deid

import (
	"bytes"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// read counts what a file's reader and its pixels' reader ask for.
type read struct {
	src   *bytes.Reader
	bytes int64
	calls int64
}

func (r *read) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.src.ReadAt(p, off)
	r.bytes, r.calls = r.bytes+int64(n), r.calls+1
	return n, err
}

// spent is what de-identifying a file costs, whatever comes of it.
func spent(b []byte, p *Plan, s Subject) (bytesRead, calls int64, allocated, allocations uint64) {
	src := &read{src: bytes.NewReader(b)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if f, err := dicom.Parse(src, int64(len(b))); err == nil {
		var id Identity
		id.Collect(f.Dataset)
		s.Identity = id
		_, _ = p.Apply(io.Discard, f, s)
	}
	runtime.ReadMemStats(&after)
	return src.bytes, src.calls, after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs
}

// TestEveryMalformedSampleIsDeidentifiedInBoundedSteps: or refused. Not parallel: it counts what the whole process
// allocates.
func TestEveryMalformedSampleIsDeidentifiedInBoundedSteps(t *testing.T) {
	s := someone()
	s.PixelsReviewed = true
	p := plan(t, Options{RetainSafePrivate: true, CleanDescriptors: true, CleanStructuredContent: true, CleanGraphics: true})
	eachSample(t, func(path string, b []byte) {
		if !strings.HasPrefix(path, "malformed/") && !strings.HasPrefix(path, "broken/") {
			return
		}
		bytesRead, calls, allocated, allocations := spent(b, p, s)
		if limit := int64(4*len(b) + 256<<10); bytesRead > limit {
			t.Errorf("%s: read %d bytes of %d", path, bytesRead, len(b))
		}
		if limit := int64(len(b)/16 + 256); calls > limit {
			t.Errorf("%s: read %d times in a file of %d bytes", path, calls, len(b))
		}
		if limit := uint64(60*len(b) + 1<<20); allocated > limit {
			t.Errorf("%s: allocated %d bytes for a file of %d", path, allocated, len(b))
		}
		if limit := uint64(len(b) + 5000); allocations > limit {
			t.Errorf("%s: %d allocations for a file of %d bytes", path, allocations, len(b))
		}
	})
}

// TestWorkGrowsWithTheFileAlone: twice as much of what once took the square of it costs about twice as much.
// Allocations stand for steps: each of these made some at every step.
func TestWorkGrowsWithTheFileAlone(t *testing.T) {
	p := plan(t, Options{RetainSafePrivate: true, CleanDescriptors: true})
	numbers := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, strconv.Itoa(100000+i))
		}
		return strings.Join(all, `\`)
	}
	texts := func(n int) (all []*dicom.Element) {
		for i := range n {
			all = append(all, dicom.New(tag.New(0x0009, uint16(0x1000+i)), vr.LO, []byte("\xfcber ")))
		}
		return append(all, dicom.New(0x00090010, vr.LO, []byte("QUX ")))
	}
	for name, made := range map[string]func(n int) *dicom.Dataset{
		"character sets and texts": func(n int) *dicom.Dataset {
			return ct(append(texts(n/16), dicom.New(tag.SpecificCharacterSet, vr.CS, bytes.Repeat([]byte(`ISO 2022 IR 100\`), n/2)))...)
		},
		"other IDs": func(n int) *dicom.Dataset { return ct(dicom.New(tag.OtherPatientIDs, vr.UC, []byte(numbers(n)))) },
		"declared elements": func(n int) *dicom.Dataset {
			all := make([]int64, n)
			return ct(append(texts(n/16), dicom.Sequence(tag.PrivateDataElementCharacteristicsSequence, dicom.NewDataset(
				dicom.Ints(tag.PrivateGroupReference, 9), dicom.Text(tag.PrivateCreatorReference, "QUX"),
				dicom.Text(tag.BlockIdentifyingInformationStatus, "MIXED"), dicom.Ints(tag.NonidentifyingPrivateElements, all...))))...)
		},
	} {
		cost := func(n int) uint64 {
			var b bytes.Buffer
			if err := dicom.Write(&b, dicom.NewFile(made(n), uid.ExplicitLE)); err != nil {
				t.Fatal(err)
			}
			_, _, allocated, allocations := spent(b.Bytes(), p, someone())
			return allocated + 100*allocations
		}
		cost(100) // what is made once
		if once, twice := cost(2000), cost(4000); twice > 3*once {
			t.Errorf("%s: %d, and twice of it %d", name, once, twice)
		}
	}
}
