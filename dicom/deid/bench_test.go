package deid

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/phantom"
	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// slice is a generated CT file of half a megabyte.
func slice(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := (phantom.Study{Seed: 1, Slices: 1}).Write(0, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestAFileCostsFewAllocations counts those of reading, de-identifying and writing a CT file.
func TestAFileCostsFewAllocations(t *testing.T) {
	b, p, s := slice(t), plan(t, Options{}), someone()
	n := testing.AllocsPerRun(20, func() {
		f, err := dicom.Parse(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Apply(io.Discard, f, s); err != nil {
			t.Fatal(err)
		}
	})
	if n >= 200 {
		t.Errorf("%.0f allocations, want fewer than 200", n)
	}
}

// zeroes is a source of any size.
type zeroes struct{}

func (zeroes) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

// TestMemoryDoesNotGrowWithThePixels: 4 GB of them, streamed.
func TestMemoryDoesNotGrowWithThePixels(t *testing.T) {
	const size = 65535 * 32768 * 2
	d := ct(dicom.Ints(tag.Rows, 65535), dicom.Ints(tag.Columns, 32768))
	d.Set(dicom.NewLarge(tag.PixelData, vr.OW, io.NewSectionReader(zeroes{}, 0, size)))
	f := dicom.NewFile(d, "")
	p := plan(t, Options{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := p.Apply(io.Discard, f, someone()); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("%d bytes were allocated for a file of %d", n, int64(size))
	}
}

// BenchmarkDeidentifyToFile is the whole way of a file of half a megabyte, from page cache to page cache.
func BenchmarkDeidentifyToFile(b *testing.B) {
	dir := b.TempDir()
	in := filepath.Join(dir, "in.dcm")
	raw := slice(b)
	if err := os.WriteFile(in, raw, 0o600); err != nil {
		b.Fatal(err)
	}
	p, s := plan(b, Options{}), someone()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if err := deidentify(p, s, in, filepath.Join(dir, "out.dcm")); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "files/s")
}

func deidentify(p *Plan, s Subject, in, out string) error {
	src, err := os.Open(in)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	f, err := dicom.Parse(src, info.Size())
	if err != nil {
		return err
	}
	dst, err := os.Create(out)
	if err != nil {
		return err
	}
	defer dst.Close()
	_, err = p.Apply(dst, f, s)
	return err
}

// BenchmarkHeader is the part that is not copying pixels.
func BenchmarkHeader(b *testing.B) {
	raw := slice(b)
	f := parse(b, raw)
	f.Dataset.Remove(tag.PixelData)
	p, s := plan(b, Options{}), someone()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Apply(io.Discard, f, s); err != nil {
			b.Fatal(err)
		}
	}
}
