package dicom_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/phantom"
	"filmroom/dicom/tag"
)

// phantoms writes CT slices of half a megabyte and returns their names.
func phantoms(b *testing.B, n int) []string {
	b.Helper()
	study, dir := phantom.Study{Slices: n}, b.TempDir()
	names := make([]string, n)
	for i := range names {
		var file bytes.Buffer
		if err := study.Write(i, &file); err != nil {
			b.Fatal(err)
		}
		names[i] = filepath.Join(dir, fmt.Sprintf("%03d.dcm", i))
		if err := os.WriteFile(names[i], file.Bytes(), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return names
}

// BenchmarkHeader opens a file, reads what an import wants to know of it, and closes it.
func BenchmarkHeader(b *testing.B) {
	names := phantoms(b, 500)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		readHeader(b, names[i%len(names)])
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "files/s")
}

func readHeader(b *testing.B, name string) {
	file, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		b.Fatal(err)
	}
	f, err := dicom.Parse(file, info.Size())
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range []dicom.Tag{tag.SOPClassUID, tag.SOPInstanceUID, tag.StudyInstanceUID, tag.SeriesInstanceUID} {
		if _, ok := f.Dataset.UID(t); !ok {
			b.Fatal(t)
		}
	}
	for _, t := range []dicom.Tag{tag.PatientID, tag.PatientName, tag.StudyDate, tag.Modality, tag.SeriesDescription, tag.BodyPartExamined, tag.InstanceNumber} {
		if _, ok := f.Dataset.String(t); !ok {
			b.Fatal(t)
		}
	}
	if rows, err := f.Dataset.Int(tag.Rows); err != nil || rows != 512 {
		b.Fatal(rows, err)
	}
}

// BenchmarkRewrite reads a whole file and writes it again.
func BenchmarkRewrite(b *testing.B) {
	names := phantoms(b, 20)
	b.ReportAllocs()
	b.SetBytes(512 * 512 * 2)
	for i := 0; b.Loop(); i++ {
		file, err := os.Open(names[i%len(names)])
		if err != nil {
			b.Fatal(err)
		}
		info, err := file.Stat()
		if err != nil {
			b.Fatal(err)
		}
		f, err := dicom.Parse(file, info.Size())
		if err == nil {
			err = dicom.Write(io.Discard, f)
		}
		if err != nil {
			b.Fatal(err)
		}
		file.Close()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "files/s")
}
