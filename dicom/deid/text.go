package deid

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// struck is what stands where a word was taken out of a text. It is as short as the shortest word that
// is taken out, so that the text still fits its VR.
const struck = "***"

// text is a text value decoded to UTF-8. It is only valid until the element changes.
func (p *pass) text(d *dicom.Dataset, e *dicom.Element) []byte {
	for _, c := range e.Value {
		if c >= 0x80 || c == 0x1b {
			s, _ := d.Text(e)
			return []byte(s)
		}
	}
	return e.Value
}

// textAs is text for an element that should be of another VR than it is.
func (p *pass) textAs(d *dicom.Dataset, e *dicom.Element, v vr.VR) []byte {
	if e.VR == v || e.VR.IsString() {
		return p.text(d, e)
	}
	return []byte(d.Charset().Decode(v, e.Value))
}

// keepText keeps a text element without what identifies: what the search finds in it, UIDs, and, where
// the text was to be cleaned, what looks like a date, a number or a person's name.
func (p *pass) keepText(src, out *dicom.Dataset, e *dicom.Element, cleaned bool) {
	if e.Section != nil {
		p.note(src, e, Removed, out, nil) // too long to be searched
		return
	}
	text := p.text(src, e)
	kinds := kindsFor(e, text, cleaned)
	switch kinds {
	case nothing:
		if p.search.numbers(e.VR, text) {
			p.set(src, e, Cleaned, out, e.VR, nil)
			return
		}
		out.Set(e)
		return
	case everything:
		p.note(src, e, Removed, out, nil) // a text where there should be a number; a wrong number would be worse than none
		return
	}
	found, all := p.search.find(kinds, text)
	if !found {
		all = p.foundOtherwise(kinds, e.Value, text)
	}
	if isFree(e.VR) && !all {
		found = p.findForms(text, cleaned) || found
	}
	switch {
	case all:
		p.set(src, e, Cleaned, out, e.VR, nil)
	case !found:
		out.Set(e)
	case !isFree(e.VR):
		p.set(src, e, Cleaned, out, e.VR, p.strikeValues(kinds, text, e.VR))
	default:
		p.strikeWords(src, out, e, text)
	}
}

// foundOtherwise reports whether a text names somebody if its bytes are read in another character set than
// the one that is declared: a name in UTF-8 where ISO 8859-1 is said to be, or the other way round.
func (p *pass) foundOtherwise(kinds needle, value, text []byte) bool {
	if bytes.IndexByte(value, escape) >= 0 {
		if found, _ := p.search.find(kinds, withoutEscapes(text)); found {
			return true
		}
	}
	if bytes.Equal(value, text) {
		return false
	}
	if utf8.Valid(value) {
		found, _ := p.search.find(kinds, value)
		p.search.hits = p.search.hits[:0]
		return found
	}
	latin := make([]byte, 0, 2*len(value))
	for _, c := range value {
		latin = utf8.AppendRune(latin, rune(c))
	}
	found, _ := p.search.find(kinds, latin)
	return found
}

const escape = 0x1b

// withoutEscapes is text as a reader shows it that knows escape sequences where none is announced: ESC,
// bytes from 20 to 2F, and the one behind them (ISO 2022).
func withoutEscapes(text []byte) []byte {
	shown := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != escape {
			shown = append(shown, text[i])
			continue
		}
		for i++; i < len(text) && text[i] >= 0x20 && text[i] <= 0x2F; i++ {
		}
	}
	return shown
}

// findForms adds to the search's hits what its form gives away, and reports whether there was any.
func (p *pass) findForms(text []byte, cleaned bool) bool {
	s := p.search
	before := len(s.hits)
	if !p.plan.options.RetainUIDs {
		s.hits = appendUIDs(s.hits, text)
	}
	if cleaned {
		s.hits = appendForms(s.hits, text, p.plan.options.RetainFullDates)
	}
	if len(s.hits) == before {
		return false
	}
	slices.SortFunc(s.hits, func(a, b hit) int { return int(a.from - b.from) })
	return true
}

// kindsFor says what is searched for in an element that stays. cleaned says that it stays by an option
// that cleans it.
func kindsFor(e *dicom.Element, text []byte, cleaned bool) needle {
	switch {
	case e.Tag == tag.ManufacturerModelName && isFree(e.VR):
		return identity | shortName | agent
	case isFree(e.VR) && isTerm(e.Tag):
		return identity | shortName
	case isFree(e.VR) && cleaned && !e.Tag.IsPrivate():
		return identity | shortName | removedValue
	case isFree(e.VR):
		return identity | shortName | removedValue | privateValue
	}
	marks, strict := numerals(e.VR)
	switch {
	case strict && !consistsOf(text, marks):
		return everything
	case e.VR == vr.DA || e.VR == vr.DT:
		return identity
	case strict, e.Tag == tag.SpecificCharacterSet:
		return nothing // a patient whose ID is 120 must not cost the image its 120 kV: see numbers
	}
	return identity | agent
}

// numerals are the characters beside digits that values of a VR for numbers and times have; ok is false
// for other VRs.
func numerals(v vr.VR) (marks string, ok bool) {
	switch v {
	case vr.DS, vr.IS:
		return "+-.eE", true
	case vr.AS:
		return "DWMY", true
	case vr.DA, vr.TM, vr.DT:
		return ":.+-", true
	}
	return "", false
}

// consistsOf reports whether a text has nothing but digits, marks and what parts and pads values.
func consistsOf(text []byte, marks string) bool {
	for _, c := range text {
		if (c < '0' || c > '9') && strings.IndexByte(marks, c) < 0 && c != ' ' && c != '\\' && c != 0 {
			return false
		}
	}
	return true
}

// isFree reports whether people may write into such an element what they like.
func isFree(v vr.VR) bool {
	switch v {
	case vr.LO, vr.SH, vr.ST, vr.LT, vr.UT, vr.UC, vr.PN:
		return true
	}
	return false
}

// definedTerms are coded values of the standard without which nobody can read an image. A patient called
// Axial must not cost the image its type.
var definedTerms = func() map[string]bool {
	m := map[string]bool{}
	for s := range strings.FieldsSeq(`ORIGINAL DERIVED PRIMARY SECONDARY MIXED AXIAL LOCALIZER MPR MIP MINIP VOLUME NONE REFORMATTED
		RESAMPLED PROJECTION SCREEN SUBTRACTION MULTIPLICATION DIVISION FLUOROSCOPY DIFFUSION PERFUSION PROTON_DENSITY
		MONOCHROME1 MONOCHROME2 RGB YBR_FULL YBR_FULL_422 YBR_PARTIAL_422 YBR_PARTIAL_420 YBR_ICT YBR_RCT
		ANN ASMT BMD CFM DMS DOC ECG EEG EMG EOG EPS FID IOL IVOCT IVUS KER LEN OAM OCT OPM OPT OPTBSV OPTENF OPV OSS PLAN POS
		REG RESP RTDOSE RTIMAGE RTINTENT RTPLAN RTRAD RTRECORD RTSEGANN RTSTRUCT RWV SEG SMR SRF STAIN TEXTUREMAP XAPROTOCOL CTPROTOCOL
		LINEAR LINEAR_EXACT SIGMOID IDENTITY INVERSE BINARY FRACTIONAL LABELMAP YES HFS HFP FFS FFP HFDR HFDL FFDR FFDL
		CONTAINER TEXT CODE NUM PNAME DATE TIME DATETIME UIDREF COMPOSITE IMAGE WAVEFORM SCOORD SCOORD3D TCOORD TABLE
		UNKNOWN OTHER UNSPECIFIED CONTAINS SEPARATE CONTINUOUS LEFT RIGHT HEAD NECK CHEST BREAST HEART ABDOMEN PELVIS SPINE HAND KNEE FOOT BRAIN`) {
		m[s] = true
	}
	return m
}()

// isTerm reports whether an element holds a term of a code table or a product's name. What is said there
// and in a description that was removed ("BRAIN", "SIEMENS") identifies nobody.
func isTerm(t tag.Tag) bool {
	switch t {
	case tag.Manufacturer, tag.ManufacturerModelName, tag.SoftwareVersions:
		return true
	}
	return t >= tag.CodeValue && t <= tag.MappingResourceName
}

// strikeWords puts asterisks in the place of each hit. A text that its character set then cannot hold
// goes as a whole.
func (p *pass) strikeWords(src, out *dicom.Dataset, e *dicom.Element, text []byte) {
	var b strings.Builder
	at := int32(0)
	for _, h := range p.search.hits {
		if h.from >= at {
			b.Write(text[at:h.from])
			b.WriteString(struck)
		}
		at = max(at, h.to)
	}
	b.Write(text[at:])
	value, err := src.Charset().Encode(e.VR, strings.TrimRight(b.String(), " \x00"))
	if err != nil {
		value = nil
	}
	p.set(src, e, Cleaned, out, e.VR, padded(value, e.VR))
}

// strikeValues replaces each value of a coded element in which something was found with a dummy.
func (p *pass) strikeValues(kinds needle, text []byte, v vr.VR) []byte {
	var b []byte
	n := 0
	eachValue(text, func(value []byte) {
		if n++; n > 1 {
			b = append(b, '\\')
		}
		if found, _ := p.search.find(kinds, value); found && !definedTerms[string(value)] {
			value = dummyValue(v, "1")
		}
		b = append(b, trim(value)...)
	})
	return padded(b, v)
}
