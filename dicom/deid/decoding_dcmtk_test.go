package deid

import (
	"bytes"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
)

// dcmtk runs a program of DCMTK, or skips the test where it is not installed.
func dcmtk(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed: apt-get install dcmtk", program)
	}
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v: %.500s", program, err, out)
	}
	return out
}

// save is a file for other programs.
func save(t *testing.T, b []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file.dcm")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestDecompressedImagesAreAcceptedByDcmdumpAndDcmftest(t *testing.T) {
	t.Parallel()
	for _, c := range cines {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, _, _ := applied(t, plan(t, Options{}), c.cine.file(t, c.cine.fragments(t)...), painter())
			name := save(t, b)
			if out := dcmtk(t, "dcmftest", name); !bytes.HasPrefix(out, []byte("yes:")) {
				t.Errorf("dcmftest: %s", out)
			}
			dcmtk(t, "dcmdump", "-q", name)
		})
	}
}

// TestSamplesThatAreCompressedArePaintedOver: in each frame the rectangle is of one color, and outside of it is what
// another decoder made of RLE.
func TestSamplesThatAreCompressedArePaintedOver(t *testing.T) {
	t.Parallel()
	painted := map[string]int{}
	eachSample(t, func(name string, b []byte) {
		f, err := dicom.Parse(bytes.NewReader(b), int64(len(b)))
		if err != nil || f.TransferSyntax != uid.RLELossless && f.TransferSyntax != uid.JPEGBaseline || filepath.Dir(name) == "malformed" {
			return
		}
		s := someone()
		s.Blackout = []image.Rectangle{image.Rect(1, 1, 20, 9)}
		_, out, _ := applied(t, plan(t, Options{}), f, s)
		checkBlack(t, out.Dataset, s.Blackout[0])
		painted[f.TransferSyntax]++
		if f.TransferSyntax == uid.RLELossless {
			checkAgainstDCMTK(t, name, b, out, s.Blackout[0])
		}
	})
	if painted[uid.RLELossless] < 3 || painted[uid.JPEGBaseline] < 3 {
		t.Errorf("only %v samples were painted over", painted)
	}
}

func checkAgainstDCMTK(t *testing.T, name string, b []byte, out *dicom.File, r image.Rectangle) {
	t.Helper()
	plain := save(t, nil)
	dcmtk(t, "dcmdrle", save(t, b), plain)
	raw, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours := interleaved(t, parse(t, raw).Dataset), interleaved(t, out.Dataset)
	d := out.Dataset
	columns, rows := int(positive(d, tag.Columns)), int(positive(d, tag.Rows))
	size := int(positive(d, tag.SamplesPerPixel) * positive(d, tag.BitsAllocated) / 8)
	if len(theirs) != len(ours) {
		t.Fatalf("%s: %d bytes of pixels, DCMTK has %d", name, len(ours), len(theirs))
	}
	for i := range len(ours) / size {
		if at := image.Pt(i%columns, i/columns%rows); !at.In(r) && !bytes.Equal(ours[i*size:(i+1)*size], theirs[i*size:(i+1)*size]) {
			t.Fatalf("%s: pixel %v of frame %d is not DCMTK's", name, at, i/columns/rows)
		}
	}
}

// interleaved are native pixels with the samples of each beside each other.
func interleaved(t *testing.T, d *dicom.Dataset) []byte {
	t.Helper()
	e, _ := d.Get(tag.PixelData)
	b, err := e.Bytes(1 << 26)
	if err != nil {
		t.Fatal(err)
	}
	planar, err := d.Int(tag.PlanarConfiguration)
	samples := int(positive(d, tag.SamplesPerPixel))
	if samples == 1 || err != nil || planar != 1 {
		return b
	}
	cell := int(positive(d, tag.BitsAllocated) / 8)
	plane := int(positive(d, tag.Rows) * positive(d, tag.Columns))
	out := make([]byte, 0, len(b))
	for frame := b; len(frame) >= plane*samples*cell; frame = frame[plane*samples*cell:] {
		for i := range plane {
			for s := range samples {
				out = append(out, frame[(s*plane+i)*cell:][:cell]...)
			}
		}
	}
	return out
}
