package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/jpeg"
	"testing"

	"filmroom/dicom"
)

func TestFragmentsAreJoinedInTheRoomThereIs(t *testing.T) {
	t.Parallel()
	f := dicom.NewFragments([]byte{1, 2}, []byte{3, 4}, []byte{5, 6})
	room := make([]byte, 0, 8)
	b, err := Join(room, f, 1, 3)
	if err != nil || !bytes.Equal(b, []byte{3, 4, 5, 6}) || &b[0] != &room[:1][0] {
		t.Errorf("got %v: %v", b, err)
	}
	if _, err := Join(nil, f.In(bytes.NewReader([]byte{1, 2, 3})), 0, 3); !errors.Is(err, ErrDamaged) {
		t.Errorf("a source that is too short: %v", err)
	}
}

// TestAFrameMustBeAbleToHoldWhatItClaims: memory is taken for no more than the bytes can stand for.
func TestAFrameMustBeAbleToHoldWhatItClaims(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		native int64
		size   int
		want   error
	}{{64 * 100, 100, nil}, {64*100 + 1, 100, ErrDamaged}, {MaxBytes, MaxBytes, nil}, {MaxBytes + 1, MaxBytes, ErrTooLarge}} {
		if err := RLEFits(c.native, c.size); !errors.Is(err, c.want) {
			t.Errorf("%d of %d: %v, want %v", c.native, c.size, err, c.want)
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8)), nil); err != nil {
		t.Fatal(err)
	}
	huge := b.Bytes()
	at := bytes.Index(huge, []byte{0xFF, 0xC0}) + 5
	for side, want := range map[uint16]error{4000: ErrDamaged, 6000: ErrTooLarge} {
		binary.BigEndian.PutUint16(huge[at:], side)
		binary.BigEndian.PutUint16(huge[at+2:], side)
		if _, _, err := JPEG(huge, int(side), int(side)); !errors.Is(err, want) {
			t.Errorf("%d a side: %v, want %v", side, err, want)
		}
	}
}

func TestRLEPutsTheHighestByteLast(t *testing.T) {
	t.Parallel()
	b := make([]byte, 64)
	binary.LittleEndian.PutUint32(b, 2)
	binary.LittleEndian.PutUint32(b[4:], 64)
	binary.LittleEndian.PutUint32(b[8:], 66)
	b = append(b, 0xFF, 1, 1, 7, 8) // twice 1; then 7, 8
	out := make([]byte, 4)
	if err := RLE(out, b, 1, 2); err != nil || !bytes.Equal(out, []byte{7, 1, 8, 1}) {
		t.Errorf("got %v: %v", out, err)
	}
	if err := RLE(out, b[:len(b)-1], 1, 2); !errors.Is(err, ErrDamaged) {
		t.Errorf("a segment that ends too soon: %v", err)
	}
}
