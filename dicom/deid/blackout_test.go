package deid

import (
	"bytes"
	"errors"
	"image"
	"io"
	"slices"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

func TestRectanglesAreBlackInEveryFrame(t *testing.T) {
	t.Parallel()
	pixels := func(n int) *dicom.Element { return dicom.New(tag.PixelData, vr.OW, bytes.Repeat([]byte{7}, n)) }
	cases := []struct {
		name     string
		elements []*dicom.Element
		black    []int // bytes that change
		value    byte
	}{
		{"8 bits, two frames", []*dicom.Element{dicom.Ints(tag.BitsAllocated, 8), dicom.Ints(tag.BitsStored, 8), dicom.Ints(tag.HighBit, 7),
			dicom.Ints(tag.NumberOfFrames, 2), pixels(32)}, []int{6, 7, 10, 11, 22, 23, 26, 27}, 0},
		{"color beside color", []*dicom.Element{dicom.Ints(tag.BitsAllocated, 8), dicom.Ints(tag.BitsStored, 8), dicom.Ints(tag.HighBit, 7),
			dicom.Ints(tag.SamplesPerPixel, 3), dicom.Text(tag.PhotometricInterpretation, "RGB"), pixels(48)},
			[]int{18, 19, 20, 21, 22, 23, 30, 31, 32, 33, 34, 35}, 0},
		{"color by plane", []*dicom.Element{dicom.Ints(tag.BitsAllocated, 8), dicom.Ints(tag.BitsStored, 8), dicom.Ints(tag.HighBit, 7),
			dicom.Ints(tag.SamplesPerPixel, 3), dicom.Ints(tag.PlanarConfiguration, 1), dicom.Text(tag.PhotometricInterpretation, "RGB"), pixels(48)},
			[]int{6, 7, 10, 11, 22, 23, 26, 27, 38, 39, 42, 43}, 0},
		{"MONOCHROME1 is dark where it is high", []*dicom.Element{dicom.Ints(tag.BitsAllocated, 8), dicom.Ints(tag.BitsStored, 8), dicom.Ints(tag.HighBit, 7),
			dicom.Text(tag.PhotometricInterpretation, "MONOCHROME1"), pixels(16)}, []int{6, 7, 10, 11}, 0xFF},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := someone()
			s.Blackout = []image.Rectangle{image.Rect(2, 1, 99, 3)}
			d := ct(append(c.elements, dicom.Text(tag.BurnedInAnnotation, "YES"))...)
			_, out, _ := applied(t, plan(t, Options{}), file(t, d), s)
			e, _ := out.Dataset.Get(tag.PixelData)
			for i, b := range e.Value {
				want := byte(7)
				if slices.Contains(c.black, i) {
					want = c.value
				}
				if b != want {
					t.Fatalf("byte %d is %d, want %d: %v", i, b, want, e.Value)
				}
			}
			if text(out.Dataset, tag.BurnedInAnnotation) != "NO" || text(out.Dataset.Items(tag.DeidentificationMethodCodeSequence)[1], tag.CodeValue) != cleanPixels {
				t.Error("the marks do not say it")
			}
		})
	}
}

func TestSignedPixelsAreDarkAtTheirLowest(t *testing.T) {
	t.Parallel()
	s := someone()
	s.Blackout = []image.Rectangle{image.Rect(0, 0, 1, 1)}
	_, out, _ := applied(t, plan(t, Options{}), file(t, ct(dicom.Ints(tag.PixelRepresentation, 1))), s)
	e, _ := out.Dataset.Get(tag.PixelData)
	if w := words(e.Value); w[0] != 0xF800 || w[1] != 0x0123 {
		t.Errorf("got %04x", w[:2])
	}
}

func TestRectanglesThatCannotBeFoundAreRefused(t *testing.T) {
	t.Parallel()
	s := someone()
	s.Blackout = []image.Rectangle{image.Rect(0, 0, 1, 1)}
	compressed := dicom.NewFile(ct(dicom.Encapsulated(tag.PixelData, vr.OB, dicom.NewFragments([]byte{1, 2}))), uid.RLELossless)
	shared := file(t, ct(dicom.Text(tag.PhotometricInterpretation, "YBR_FULL_422")))
	for _, f := range []*dicom.File{compressed, shared} {
		if _, err := plan(t, Options{}).Apply(io.Discard, f, s); !errors.Is(err, ErrRefused) {
			t.Errorf("got %v", err)
		}
	}
}

// TestARectangleBesideThePictureIsRefused: who drew it meant something that would stay in sight.
func TestARectangleBesideThePictureIsRefused(t *testing.T) {
	t.Parallel()
	s := someone()
	s.Blackout = []image.Rectangle{image.Rect(0, 0, 1, 1), image.Rect(4, 0, 8, 2)}
	if _, err := plan(t, Options{}).Apply(io.Discard, file(t, ct()), s); !errors.Is(err, ErrRefused) {
		t.Errorf("got %v", err)
	}
}
