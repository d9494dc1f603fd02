package dicom

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// loadLimit bounds what an accessor loads at once. Longer values are read through Element.Open.
const loadLimit = 1 << 20

// Path leads from the outermost data set to this one; nil for the outermost itself.
func (d *Dataset) Path() Path {
	var p Path
	for ; d != nil && d.parent != nil; d = d.parent {
		for _, e := range d.parent.elements {
			if i := slices.Index(e.Items, d); i >= 0 {
				p = append(p, Step{Tag: e.Tag, Item: i + 1})
				break
			}
		}
	}
	slices.Reverse(p)
	return p
}

// fail is an error about an element of d.
func (d *Dataset) fail(t Tag, err error, reason string) error {
	offset := int64(-1)
	if e, ok := d.Get(t); ok {
		offset = e.Offset
	}
	return &Error{Err: err, Path: append(d.Path(), Step{Tag: t}), Offset: offset, Reason: reason}
}

// present finds an element that has a value.
func (d *Dataset) present(t Tag) (*Element, error) {
	e, ok := d.Get(t)
	if !ok {
		return nil, d.fail(t, ErrAbsent, "the element is absent")
	}
	if e.Len() == 0 {
		return nil, d.fail(t, ErrAbsent, "the element has no value")
	}
	return e, nil
}

// Text is the whole value of an element of d as one string, decoded and without its padding; values
// stay joined by backslashes. ok is false for VRs that are not text and for values over 1 MiB.
func (d *Dataset) Text(e *Element) (text string, ok bool) {
	if !e.VR.IsString() {
		return "", false
	}
	b, err := e.Bytes(loadLimit)
	if err != nil {
		return "", false
	}
	return strings.TrimRight(d.decode(e.VR, b), " \x00"), true
}

// Values are the values of a text element of d, decoded, each without padding: leading spaces count
// only in ST, LT, UT and UC (PS3.5 section 6.2).
func (d *Dataset) Values(e *Element) []string {
	s, ok := d.Text(e)
	if !ok || s == "" {
		return nil
	}
	if e.VR.IsMultiline() {
		return []string{s}
	}
	values := strings.Split(s, `\`)
	for i, v := range values {
		values[i] = trim(e.VR, v)
	}
	return values
}

// trim takes the padding off one of several values.
func trim(v VR, s string) string {
	s = strings.TrimRight(s, " \x00")
	if v != vr.UC {
		s = strings.TrimLeft(s, " ")
	}
	return s
}

// Strings are the values of a text element. ok is false where there is none.
func (d *Dataset) Strings(t Tag) (values []string, ok bool) {
	e, found := d.Get(t)
	if !found {
		return nil, false
	}
	values = d.Values(e)
	return values, len(values) > 0
}

// String is the first value of a text element. ok is false where it is absent, empty or not text.
func (d *Dataset) String(t Tag) (value string, ok bool) {
	e, ok := d.Get(t)
	if !ok {
		return "", false
	}
	value, ok = d.Text(e)
	if ok && !e.VR.IsMultiline() {
		value, _, _ = strings.Cut(value, `\`)
		value = trim(e.VR, value)
	}
	return value, value != ""
}

// UID is the value of a UI element. ok is false where there is none or it cannot serve as an
// identifier: up to 64 letters, digits, dots, dashes and underscores, not dots alone. So what is ok can
// stand in a path or a query. Old de-identifiers write hashes where UIDs belong, so digits alone are
// not demanded; uid.Valid tells whether the form is right.
func (d *Dataset) UID(t Tag) (value string, ok bool) {
	value, ok = d.String(t)
	return value, ok && len(value) <= uid.MaxLen && strings.Trim(value, ".") != "" && strings.IndexFunc(value, notInUID) < 0
}

func notInUID(r rune) bool {
	return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '.' && r != '-' && r != '_'
}

// Int is the first value of IS or of a binary integer (US, SS, UL, SL, UV, SV). The error wraps
// ErrAbsent or ErrValue.
func (d *Dataset) Int(t Tag) (int64, error) {
	values, err := d.Ints(t)
	if err != nil {
		return 0, err
	}
	return values[0], nil
}

// Ints are all values of IS or of a binary integer; there is at least one where err is nil.
// A value over 1 MiB is ErrTooLarge.
func (d *Dataset) Ints(t Tag) ([]int64, error) {
	e, err := d.present(t)
	if err != nil {
		return nil, err
	}
	if e.VR == vr.IS {
		return parseAll(d, e, parseIS)
	}
	read := integer(e.VR)
	if read == nil {
		return nil, d.fail(t, ErrValue, fmt.Sprintf("%v holds no integers: want IS, US, SS, UL, SL, UV or SV", e.VR))
	}
	return binaryValues(d, e, read)
}

// Float is the first value of DS, FL, FD or any integer. The error wraps ErrAbsent or ErrValue.
func (d *Dataset) Float(t Tag) (float64, error) {
	values, err := d.Floats(t)
	if err != nil {
		return 0, err
	}
	return values[0], nil
}

// Floats are all values of DS, FL, FD, OF, OD or of an integer; there is at least one where err is nil.
func (d *Dataset) Floats(t Tag) ([]float64, error) {
	e, err := d.present(t)
	if err != nil {
		return nil, err
	}
	switch e.VR {
	case vr.DS:
		return parseAll(d, e, parseDS)
	case vr.FL, vr.OF:
		return binaryValues(d, e, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) })
	case vr.FD, vr.OD:
		return binaryValues(d, e, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) })
	}
	ints, err := d.Ints(t)
	if err != nil {
		return nil, err
	}
	floats := make([]float64, len(ints))
	for i, n := range ints {
		floats[i] = float64(n)
	}
	return floats, nil
}

// Tags are the values of an AT element.
func (d *Dataset) Tags(t Tag) ([]Tag, error) {
	e, err := d.present(t)
	if err != nil {
		return nil, err
	}
	if e.VR != vr.AT {
		return nil, d.fail(t, ErrValue, fmt.Sprintf("%v holds no tags: want AT", e.VR))
	}
	return binaryValues(d, e, func(b []byte) Tag {
		return Tag(binary.LittleEndian.Uint16(b))<<16 | Tag(binary.LittleEndian.Uint16(b[2:]))
	})
}

// integer is how one value of a binary integer VR is read; nil for other VRs. An unsigned 64-bit
// number above the signed range comes out negative.
func integer(v VR) func([]byte) int64 {
	switch v {
	case vr.US, vr.OW:
		return func(b []byte) int64 { return int64(binary.LittleEndian.Uint16(b)) }
	case vr.SS:
		return func(b []byte) int64 { return int64(int16(binary.LittleEndian.Uint16(b))) }
	case vr.UL, vr.OL:
		return func(b []byte) int64 { return int64(binary.LittleEndian.Uint32(b)) }
	case vr.SL:
		return func(b []byte) int64 { return int64(int32(binary.LittleEndian.Uint32(b))) }
	case vr.UV, vr.SV, vr.OV:
		return func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }
	}
	return nil
}

// binaryValues reads a value as numbers of its VR's size.
func binaryValues[T any](d *Dataset, e *Element, read func([]byte) T) ([]T, error) {
	b, err := e.Bytes(loadLimit)
	if err != nil {
		return nil, err
	}
	size := e.VR.Unit()
	if len(b)%size != 0 {
		return nil, d.fail(e.Tag, ErrValue, fmt.Sprintf("%d bytes are no whole number of %v values: want a multiple of %d", len(b), e.VR, size))
	}
	values := make([]T, len(b)/size)
	for i := range values {
		values[i] = read(b[i*size:])
	}
	return values, nil
}

// parseAll reads each value of a text element with parse, which says what it wants when it fails.
func parseAll[T any](d *Dataset, e *Element, parse func(string) (T, error)) ([]T, error) {
	texts := d.Values(e)
	if len(texts) == 0 {
		return nil, d.fail(e.Tag, ErrAbsent, "the element has no value")
	}
	values := make([]T, len(texts))
	for i, s := range texts {
		v, err := parse(s)
		if err != nil {
			return nil, d.fail(e.Tag, ErrValue, fmt.Sprintf("value %d: %v", i+1, err))
		}
		values[i] = v
	}
	return values, nil
}

// malformedValue is an error about one value, which says what would be right.
type malformedValue string

func (m malformedValue) Error() string { return string(m) }

func (m malformedValue) Unwrap() error { return ErrValue }

// parseIS reads an integer string: an optional sign and digits, within 32 bits (PS3.5 section 6.2).
func parseIS(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || len(s) > vr.IS.Limit() {
		return 0, malformedValue("not an integer string: want digits with an optional sign, from -2147483648 to 2147483647")
	}
	return n, nil
}

// parseDS reads a decimal string: fixed or floating point, at most 16 characters (PS3.5 section 6.2).
func parseDS(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || len(s) > vr.DS.Limit() || strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, malformedValue("not a decimal string: want a number such as 0.75 or -1.5E-3, at most 16 characters")
	}
	return f, nil
}
