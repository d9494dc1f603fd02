package dicom_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// onDisk is a file of n bytes that are not all the same.
func onDisk(t *testing.T, n int) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i >> 3)
	}
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestAFileFromAFileIsTheFileFromAnythingElse: what the kernel copies is what the buffer would have copied,
// of files and of what only seems to lie in one.
func TestAFileFromAFileIsTheFileFromAnythingElse(t *testing.T) {
	t.Parallel()
	native := func(src *io.SectionReader) *dicom.File {
		return dicom.NewFile(dicom.NewDataset(dicom.Text(tag.PatientID, "ID 1"), dicom.NewLarge(tag.PixelData, vr.OW, src),
			dicom.New(tag.DataSetTrailingPadding, vr.OB, []byte("end"))), uid.ExplicitLE)
	}
	var packed bytes.Buffer
	parts := dicom.NewFragments(make([]byte, 90_000), make([]byte, 10), bytes.Repeat([]byte{7}, 70_001))
	if err := dicom.Write(&packed, dicom.NewFile(dicom.NewDataset(dicom.Encapsulated(tag.PixelData, vr.OB, parts)), uid.RLELossless)); err != nil {
		t.Fatal(err)
	}
	compressed := onDisk(t, 0)
	if _, err := compressed.Write(packed.Bytes()); err != nil {
		t.Fatal(err)
	}
	parsed, err := dicom.Parse(compressed, int64(packed.Len()))
	if err != nil {
		t.Fatal(err)
	}
	disk := onDisk(t, 300_000)
	whole := io.NewSectionReader(disk, 1001, 200_001)
	for name, f := range map[string]*dicom.File{
		"a section of a file":     native(whole),
		"a section of a section":  native(io.NewSectionReader(whole, 99, 150_000)),
		"fragments":               parsed,
		"a section in memory":     native(section(100_000)),
		"a section of no file":    native(io.NewSectionReader(struct{ io.ReaderAt }{disk}, 7, 100_000)),
		"a section that is short": native(io.NewSectionReader(disk, 7, 100)),
	} {
		for kind, flags := range map[string]int{"a new file": 0, "a file that is appended to": os.O_APPEND} {
			out, err := os.OpenFile(filepath.Join(t.TempDir(), "out"), os.O_CREATE|os.O_RDWR|flags, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(dicom.Write(out, f), out.Close()); err != nil {
				t.Fatalf("%s to %s: %v", name, kind, err)
			}
			if got, err := os.ReadFile(out.Name()); err != nil || !bytes.Equal(got, write(t, f)) {
				t.Errorf("%s came to %s as something else: %v", name, kind, err)
			}
		}
	}
}

func TestAFileThatBecameShorterIsNotCopied(t *testing.T) {
	t.Parallel()
	from, to := onDisk(t, 200_000), onDisk(t, 0)
	cut := func(src *io.SectionReader) *dicom.File {
		return dicom.NewFile(dicom.NewDataset(dicom.NewLarge(tag.PixelData, vr.OW, src)), uid.ExplicitLE)
	}
	for name, src := range map[string]*io.SectionReader{
		"a file":                     io.NewSectionReader(from, 100_000, 200_000),
		"a section that ends sooner": io.NewSectionReader(io.NewSectionReader(from, 0, 100_000), 0, 150_000),
	} {
		if err := dicom.Write(to, cut(src)); !errors.Is(err, dicom.ErrTruncated) {
			t.Errorf("%s: %v, want ErrTruncated", name, err)
		}
	}
}
