package preview

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/uid"
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

// shownSyntaxes are the compressed ones that a picture can be had of.
var shownSyntaxes = map[string]bool{uid.JPEGBaseline: true, uid.RLELossless: true, uid.DeflatedFrame: true}

func TestEverySampleHasAPictureOrAReason(t *testing.T) {
	t.Parallel()
	shown := 0
	eachSample(t, func(name string, b []byte) {
		f, err := dicom.Parse(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		_, err = PNG(f, Options{Frame: Middle, MaxSide: 64})
		switch {
		case err == nil:
			shown++
		case errors.Is(err, ErrNoImage), filepath.Dir(name) == "malformed":
		case !errors.Is(err, ErrUnsupported), shownSyntaxes[f.TransferSyntax], !dicom.IsEncapsulated(f.TransferSyntax):
			t.Errorf("%s: %v", name, err)
		}
	})
	if shown < 90 {
		t.Errorf("%d samples have a picture, want 90 at least", shown)
	}
}

func FuzzRender(f *testing.F) {
	var b bytes.Buffer
	for _, p := range []picture{
		{rows: 2, columns: 2, allocated: 16, stored: 12, photometric: "MONOCHROME1", pixels: gray16(1, 2, 3, 4), more: windowed(2, 3)},
		{rows: 1, columns: 4, allocated: 16, stored: 16, photometric: "MONOCHROME2", syntax: uid.RLELossless, fragments: [][]byte{rleFrame([]byte{0xFD, 1}, []byte{3, 0, 0x55, 0xAA, 0xFF})}},
		paletted(),
	} {
		b.Reset()
		if err := dicom.Write(&b, p.file()); err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(b.Bytes()), 0)
	}
	if _, err := os.Stat(filepath.Join(shared(), "dicom-samples")); err == nil {
		eachSample(f, func(_ string, b []byte) {
			if len(b) < 20_000 {
				f.Add(b, Middle)
			}
		})
	}
	f.Fuzz(func(t *testing.T, b []byte, frame int) {
		file, err := dicom.Parse(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		img, err := Render(file, Options{Frame: frame, MaxSide: 32})
		if err != nil {
			if !errors.Is(err, ErrNoImage) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrDamaged) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		if s := img.Bounds().Size(); s.X < 1 || s.Y < 1 || s.X > 32 || s.Y > 32 {
			t.Fatalf("a picture of %v", s)
		}
	})
}
