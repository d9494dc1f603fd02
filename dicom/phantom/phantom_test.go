package phantom_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/flate"

	"filmroom/dicom"
	"filmroom/dicom/phantom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
)

func write(t *testing.T, s phantom.Study, i int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(i, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestASliceIsASoundCTImageOfHalfAMegabyte(t *testing.T) {
	t.Parallel()
	s := phantom.Study{Seed: 7, Series: 2, Slices: 3}
	b := write(t, s, 4)
	if len(b) < 512*512*2 || len(b) > 512*512*2+4096 {
		t.Errorf("file of %d bytes, want the pixels and a header", len(b))
	}
	f, err := dicom.Parse(bytes.NewReader(b), int64(len(b)), dicom.Strict())
	if err != nil {
		t.Fatal(err)
	}
	text := func(t tag.Tag) string { s, _ := f.Dataset.String(t); return s }
	got := []string{f.TransferSyntax, f.SOPClass(), text(tag.StudyInstanceUID), text(tag.SeriesInstanceUID), text(tag.SOPInstanceUID),
		text(tag.PatientName), text(tag.SeriesNumber), text(tag.InstanceNumber)}
	want := []string{uid.ExplicitLE, uid.CTImageStorage, s.UID(), s.SeriesUID(1), s.InstanceUID(4), "Phantom^Sample", "2", "2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	for _, u := range got[2:5] {
		if !uid.Valid(u) {
			t.Errorf("%q is no UID", u)
		}
	}
	pixels, ok := f.Dataset.Get(tag.PixelData)
	if !ok || pixels.Len() != 512*512*2 {
		t.Errorf("no pixel data of 512 x 512 x 2 bytes")
	}
}

func TestTheSameStudyIsTheSameBytesEverywhere(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256(write(t, phantom.Study{Seed: 1, Slices: 10, Size: 64}, 5))
	const want = "bb663e1ed239fff134c7c61c0f768ac105a2fa46e02684a15d54b550aaa0f4bc"
	if got := hex.EncodeToString(sum[:]); got != want {
		t.Errorf("file has hash %s, want %s", got, want)
	}
	if bytes.Equal(write(t, phantom.Study{Seed: 1, Slices: 2, Size: 64}, 0), write(t, phantom.Study{Seed: 2, Slices: 2, Size: 64}, 0)) {
		t.Error("two seeds gave one file")
	}
}

func TestASliceCompressesLikeARealOne(t *testing.T) {
	t.Parallel()
	b := write(t, phantom.Study{Slices: 500}, 250)
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// CT slices of real scanners deflate to between a third and two thirds.
	if ratio := float64(packed.Len()) / float64(len(b)); ratio < 0.33 || ratio > 0.66 {
		t.Errorf("deflated to %.2f of the size", ratio)
	}
}
