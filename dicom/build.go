package dicom

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"filmroom/dicom/vr"
)

// New makes an element of a value in little-endian order; a value of odd length gets the padding of
// its VR.
func New(t Tag, v VR, value []byte) *Element {
	if len(value)%2 == 1 {
		value = append(value[:len(value):len(value)], v.Pad())
	}
	return &Element{Tag: t, VR: v, Offset: -1, Value: value}
}

// NewLarge makes an element whose value is read from its source when it is written.
func NewLarge(t Tag, v VR, value *io.SectionReader) *Element {
	return &Element{Tag: t, VR: v, Offset: -1, Section: value}
}

// Text makes a text element of the dictionary's VR. It is for text in ASCII, such as UIDs and codes, or
// for data sets in UTF-8: other character sets need Dataset.SetString.
func Text(t Tag, values ...string) *Element {
	return New(t, dictionaryVR(t, VR.IsString), []byte(strings.Join(values, `\`)))
}

// Ints makes an element of integers of the dictionary's VR: IS, US, SS, UL, SL, UV or SV. It panics
// where the dictionary has another, which is a mistake in the calling code.
func Ints(t Tag, values ...int64) *Element {
	v := dictionaryVR(t, isInteger)
	return New(t, v, formatInts(v, values))
}

// Floats makes an element of numbers of the dictionary's VR: DS, FL or FD. It panics as Ints does.
func Floats(t Tag, values ...float64) *Element {
	v := dictionaryVR(t, isFloat)
	return New(t, v, formatFloats(v, values))
}

// Sequence makes a sequence with items. They must not belong to another sequence.
func Sequence(t Tag, items ...*Dataset) *Element {
	return &Element{Tag: t, VR: vr.SQ, Offset: -1, Items: items}
}

// Encapsulated makes encapsulated pixel data; v is OB in every syntax of the standard.
func Encapsulated(t Tag, v VR, f *Fragments) *Element {
	return &Element{Tag: t, VR: v, Offset: -1, Fragments: f, Undefined: true}
}

func isInteger(v VR) bool { return v == vr.IS || integer(v) != nil && v != vr.OW }

func isFloat(v VR) bool { return v == vr.DS || v == vr.FL || v == vr.FD }

// dictionaryVR is the first VR of the tag that fits.
func dictionaryVR(t Tag, fits func(VR) bool) VR {
	e, _ := t.Lookup()
	for _, v := range e.VRs {
		if v != 0 && fits(v) {
			return v
		}
	}
	panic(fmt.Sprintf("dicom: the dictionary has VR %v for %v: want another constructor, or New", e.VR(), t))
}

func formatInts(v VR, values []int64) []byte {
	if v == vr.IS {
		texts := make([]string, len(values))
		for i, n := range values {
			texts[i] = strconv.FormatInt(n, 10)
		}
		return []byte(strings.Join(texts, `\`))
	}
	var b []byte
	for _, n := range values {
		switch v.Unit() {
		case 2:
			b = binary.LittleEndian.AppendUint16(b, uint16(n))
		case 4:
			b = binary.LittleEndian.AppendUint32(b, uint32(n))
		default:
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
	}
	return b
}

func formatFloats(v VR, values []float64) []byte {
	var b []byte
	for i, f := range values {
		switch v {
		case vr.FL:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f)))
		case vr.FD:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
		default:
			if i > 0 {
				b = append(b, '\\')
			}
			b = append(b, FormatDS(f)...)
		}
	}
	return b
}

// FormatDS writes a decimal string: the most exact one of at most 16 characters (PS3.5 section 6.2).
func FormatDS(f float64) string {
	for precision := -1; ; precision-- {
		if precision == -2 {
			precision = 16
		}
		if s := strconv.FormatFloat(f, 'g', precision, 64); len(s) <= vr.DS.Limit() {
			return s
		}
	}
}

// vrOf is the VR that a new value of t should have: that of the element there, else the dictionary's.
func (d *Dataset) vrOf(t Tag, fits func(VR) bool, want string) (VR, error) {
	if e, ok := d.Get(t); ok && fits(e.VR) {
		return e.VR, nil
	}
	entry, _ := t.Lookup()
	for _, v := range entry.VRs {
		if v != 0 && fits(v) {
			return v, nil
		}
	}
	return 0, d.fail(t, ErrValue, "the dictionary has no VR for this kind of value here: want "+want)
}

// SetString sets a text element, encoded in the data set's effective character set. The VR is that of
// the element there, or else the dictionary's. The error wraps ErrCharset or ErrValue.
func (d *Dataset) SetString(t Tag, values ...string) error {
	v, err := d.vrOf(t, VR.IsString, "a text element")
	if err != nil {
		return err
	}
	return d.SetText(t, v, values...)
}

// SetText is SetString with a VR of the caller's choice, for private elements.
func (d *Dataset) SetText(t Tag, v VR, values ...string) error {
	b, err := d.Charset().Encode(v, strings.Join(values, `\`))
	if err != nil {
		return d.fail(t, ErrCharset, err.Error())
	}
	d.Set(New(t, v, b))
	return nil
}

// SetInts sets an element of integers. The VR is that of the element there, or else the dictionary's.
func (d *Dataset) SetInts(t Tag, values ...int64) error {
	v, err := d.vrOf(t, isInteger, "an integer element")
	if err != nil {
		return err
	}
	d.Set(New(t, v, formatInts(v, values)))
	return nil
}

// SetFloats sets an element of numbers. The VR is that of the element there, or else the dictionary's.
func (d *Dataset) SetFloats(t Tag, values ...float64) error {
	v, err := d.vrOf(t, isFloat, "a DS, FL or FD element")
	if err != nil {
		return err
	}
	d.Set(New(t, v, formatFloats(v, values)))
	return nil
}

// SetItems sets a sequence. The items must not belong to another sequence.
func (d *Dataset) SetItems(t Tag, items ...*Dataset) { d.Set(Sequence(t, items...)) }

// Clear takes an element's value away and leaves the element, and reports whether it is there.
func (d *Dataset) Clear(t Tag) bool {
	e, ok := d.Get(t)
	if ok {
		*e = Element{Tag: e.Tag, VR: e.VR, Offset: e.Offset}
	}
	return ok
}
