package dicom

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// BulkURI names the place of a binary value for the JSON model; "" puts the value itself there.
type BulkURI func(Node) string

// WriteJSON writes a data set in the DICOM JSON model (PS3.18 Annex F), in UTF-8 on one line. Values of
// OB, OW and their like stand there in base64 unless bulk, which may be nil, gives a URI for them;
// compressed pixel data has no other form than a URI, so without one the error wraps ErrSyntax. Group
// lengths and the file meta information have no place in the model.
func WriteJSON(w io.Writer, d *Dataset, bulk BulkURI) error {
	if bulk == nil {
		bulk = func(Node) string { return "" }
	}
	j := &jsonWriter{w: bufio.NewWriter(w), bulk: bulk}
	j.dataset(d, nil)
	j.raw("\n")
	if j.err != nil {
		return j.err
	}
	return j.w.Flush()
}

// jsonWriter writes the model piece by piece, so that it never holds more than one value.
type jsonWriter struct {
	w    *bufio.Writer
	bulk BulkURI
	err  error
}

// fail keeps the first error.
func (j *jsonWriter) fail(err error) {
	if j.err == nil {
		j.err = err
	}
}

func (j *jsonWriter) raw(s string) {
	if _, err := j.w.WriteString(s); err != nil {
		j.fail(err)
	}
}

func (j *jsonWriter) string(s string) {
	b, err := json.Marshal(s)
	if err != nil {
		j.fail(err)
	}
	j.raw(string(b))
}

func (j *jsonWriter) dataset(d *Dataset, path Path) {
	j.raw("{")
	first := true
	for t, e := range d.All() {
		if t.IsGroupLength() || t.Group() == tag.FileMetaInformationVersion.Group() {
			continue
		}
		if !first {
			j.raw(",")
		}
		first = false
		j.raw(fmt.Sprintf(`"%08X":{"vr":"%v"`, uint32(t), e.VR))
		j.value(Node{Path: append(path, Step{Tag: t}), Dataset: d, Element: e})
		j.raw("}")
	}
	j.raw("}")
}

// value writes what stands behind the VR: nothing for an empty element.
func (j *jsonWriter) value(n Node) {
	e := n.Element
	switch {
	case e.Tag == tag.SpecificCharacterSet:
		// The JSON text itself is UTF-8, whatever the data set was in.
		j.raw(`,"Value":["ISO_IR 192"]`)
	case e.IsEmpty():
	case e.IsSequence():
		j.list(len(e.Items), func(i int) {
			n.Path[len(n.Path)-1].Item = i + 1
			j.dataset(e.Items[i], n.Path)
		})
	case e.VR.IsString() && e.Len() > loadLimit:
		j.fail(n.Dataset.fail(e.Tag, ErrTooLarge, "text of "+thousands(e.Len())+" bytes: at most "+thousands(loadLimit)+" can be converted"))
	case e.VR.IsString():
		if values := n.Dataset.Values(e); len(values) != 1 || hasContent(values[0], e.VR) {
			j.text(values, e.VR)
		}
	default:
		j.binary(n)
	}
}

func (j *jsonWriter) list(n int, item func(int)) {
	if n == 0 {
		return
	}
	j.raw(`,"Value":[`)
	for i := range n {
		if i > 0 {
			j.raw(",")
		}
		item(i)
	}
	j.raw("]")
}

func (j *jsonWriter) text(values []string, v VR) {
	j.list(len(values), func(i int) {
		s := values[i]
		switch {
		case !hasContent(s, v):
			j.raw("null")
		case v == vr.PN:
			j.person(ParsePersonName(s))
		case v == vr.IS || v == vr.DS:
			j.decimal(s, v)
		default:
			j.string(s)
		}
	})
}

// hasContent tells a value from padding; a name of nothing but delimiters is none.
func hasContent(s string, v VR) bool {
	return s != "" && (v != vr.PN || strings.Trim(s, "^=") != "")
}

// decimal writes IS and DS as numbers, and as strings where they are none (PS3.18 section F.2.3.1).
func (j *jsonWriter) decimal(s string, v VR) {
	if v == vr.IS {
		if n, err := parseIS(s); err == nil {
			j.raw(strconv.FormatInt(n, 10))
			return
		}
	} else if f, err := parseDS(s); err == nil {
		j.float(f, 64)
		return
	}
	j.string(s)
}

// float writes a number; those that JSON does not have are strings.
func (j *jsonWriter) float(f float64, bits int) {
	switch {
	case math.IsNaN(f):
		j.raw(`"NaN"`)
	case math.IsInf(f, 1):
		j.raw(`"inf"`)
	case math.IsInf(f, -1):
		j.raw(`"-inf"`)
	default:
		j.raw(strconv.FormatFloat(f, 'g', -1, bits))
	}
}

func (j *jsonWriter) person(n PersonName) {
	j.raw("{")
	comma := ""
	for _, group := range []struct {
		name  string
		group NameGroup
	}{{"Alphabetic", n.Alphabetic}, {"Ideographic", n.Ideographic}, {"Phonetic", n.Phonetic}} {
		if s := group.group.String(); s != "" {
			j.raw(comma + `"` + group.name + `":`)
			j.string(s)
			comma = ","
		}
	}
	j.raw("}")
}

// binary writes numbers as numbers, tags as hexadecimal strings and the rest as base64 or a URI.
func (j *jsonWriter) binary(n Node) {
	e := n.Element
	switch e.VR {
	case vr.AT:
		tags, err := n.Dataset.Tags(e.Tag)
		j.values(len(tags), err, func(i int) { j.raw(fmt.Sprintf(`"%08X"`, uint32(tags[i]))) })
	case vr.FL, vr.FD:
		floats, err := n.Dataset.Floats(e.Tag)
		j.values(len(floats), err, func(i int) { j.float(floats[i], e.VR.Unit()*8) })
	case vr.US, vr.SS, vr.UL, vr.SL:
		ints, err := n.Dataset.Ints(e.Tag)
		j.values(len(ints), err, func(i int) { j.raw(strconv.FormatInt(ints[i], 10)) })
	case vr.SV, vr.UV:
		ints, err := n.Dataset.Ints(e.Tag)
		j.values(len(ints), err, func(i int) { j.long(ints[i], e.VR) })
	default:
		j.blob(n)
	}
}

func (j *jsonWriter) values(n int, err error, item func(int)) {
	if err != nil {
		j.fail(err)
	}
	j.list(n, item)
}

// long writes a 64-bit number; beyond 53 bits as a string, for most readers of JSON would round it.
func (j *jsonWriter) long(n int64, v VR) {
	s, exact := strconv.FormatInt(n, 10), n >= -1<<53 && n <= 1<<53
	if v == vr.UV {
		s, exact = strconv.FormatUint(uint64(n), 10), uint64(n) <= 1<<53
	}
	if !exact {
		s = `"` + s + `"`
	}
	j.raw(s)
}

func (j *jsonWriter) blob(n Node) {
	if uri := j.bulk(n); uri != "" {
		j.raw(`,"BulkDataURI":`)
		j.string(uri)
		return
	}
	if n.Element.Fragments != nil {
		j.fail(n.Dataset.fail(n.Element.Tag, ErrSyntax, "compressed pixel data cannot stand in JSON: give it a URI"))
		return
	}
	j.raw(`,"InlineBinary":"`)
	enc := base64.NewEncoder(base64.StdEncoding, j.w)
	copied, err := io.Copy(enc, n.Element.Open())
	if err == nil && copied < n.Element.Len() {
		err = n.Dataset.fail(n.Element.Tag, ErrTruncated, shorter)
	}
	if err := errors.Join(err, enc.Close()); err != nil {
		j.fail(err)
	}
	j.raw(`"`)
}
