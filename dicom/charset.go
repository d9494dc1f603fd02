package dicom

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"

	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// Charset turns bytes into text and back by the defined terms of Specific Character Set (0008,0005)
// (PS3.3 section C.12.1.1.2, PS3.5 section 6.1). The nil Charset is the default repertoire, ASCII.
type Charset struct {
	whole  encoding.Encoding // a set without code extensions: UTF-8, GB18030, GBK
	utf8   bool
	g0, g1 *codeSet   // in force at the start of a value
	sets   []*codeSet // what escape sequences may switch to, for encoding
}

// codeSet is one coded character set that fills the low (G0) or the high (G1) half of the code table.
type codeSet struct {
	escape string           // designates it (PS3.3 tables C.12-3 and C.12-4)
	high   bool             // lies in G1
	wide   bool             // two bytes a character
	single *charmap.Charmap // for one-byte sets other than ASCII and JIS X 0201
	kana   bool             // JIS X 0201 katakana
	romaji bool             // JIS X 0201 romaji
	multi  encoding.Encoding
	prefix string // put before each character to make it one of multi
}

var (
	ascii    = &codeSet{escape: "\x1b(B"}
	romaji   = &codeSet{escape: "\x1b(J", romaji: true}
	kana     = &codeSet{escape: "\x1b)I", high: true, kana: true}
	jisX0208 = &codeSet{escape: "\x1b$B", wide: true, multi: japanese.EUCJP}
	jisX0212 = &codeSet{escape: "\x1b$(D", wide: true, multi: japanese.EUCJP, prefix: "\x8f"}
	ksX1001  = &codeSet{escape: "\x1b$)C", high: true, wide: true, multi: korean.EUCKR}
	gb2312   = &codeSet{escape: "\x1b$)A", high: true, wide: true, multi: simplifiedchinese.GBK}
)

func latin(escape byte, m *charmap.Charmap) *codeSet {
	return &codeSet{escape: "\x1b-" + string(rune(escape)), high: true, single: m}
}

// registered are the sets by the number in their term: 100 of ISO_IR 100 and ISO 2022 IR 100.
var registered = map[string][]*codeSet{
	"6":   {ascii},
	"100": {latin('A', charmap.ISO8859_1)},
	"101": {latin('B', charmap.ISO8859_2)},
	"109": {latin('C', charmap.ISO8859_3)},
	"110": {latin('D', charmap.ISO8859_4)},
	"144": {latin('L', charmap.ISO8859_5)},
	"127": {latin('G', charmap.ISO8859_6)},
	"126": {latin('F', charmap.ISO8859_7)},
	"138": {latin('H', charmap.ISO8859_8)},
	"148": {latin('M', charmap.ISO8859_9)},
	"203": {latin('b', charmap.ISO8859_15)},
	"166": {latin('T', charmap.Windows874)},
	"13":  {romaji, kana},
	"87":  {jisX0208},
	"159": {jisX0212},
	"149": {ksX1001},
	"58":  {gb2312},
}

// escapes are all escape sequences of the standard. One that the character set does not announce is
// obeyed too: the bytes after it mean nothing else.
var escapes = func() map[string]*codeSet {
	m := map[string]*codeSet{}
	for _, sets := range registered {
		for _, s := range sets {
			m[s.escape] = s
		}
	}
	return m
}()

// ParseCharset makes a Charset of the values of Specific Character Set; none or one empty term is the
// default repertoire. Common misspellings ("ISO-IR 100", "UTF8") are understood. Unknown terms count as
// the default repertoire, and so do all if there are more than 32; err then wraps ErrValue.
func ParseCharset(terms ...string) (*Charset, error) {
	cs, err := parseTerms([]byte(strings.Join(terms, `\`)))
	if err != nil {
		return cs, err
	}
	return cs, nil
}

// mostTerms bounds the terms of one Specific Character Set: they are read again for every text. The
// standard has 17 that may stand side by side, each of 16 bytes at most.
const mostTerms = 32

func unknownSet(reason string) *Error {
	return &Error{Err: ErrValue, Path: Path{{Tag: tag.SpecificCharacterSet}}, Offset: -1, Reason: reason}
}

// parseTerms is ParseCharset for a value as it stands in the file.
func parseTerms(value []byte) (cs *Charset, err *Error) {
	if cs, ok := common[string(value)]; ok {
		return cs, nil
	}
	if len(value) > mostTerms*17 || bytes.Count(value, []byte(`\`)) >= mostTerms {
		return nil, unknownSet("too many character sets: want at most 32")
	}
	terms := strings.Split(strings.TrimRight(string(value), " \x00"), `\`)
	if len(terms) == 1 && terms[0] == "" {
		return nil, nil
	}
	cs = &Charset{g0: ascii, sets: []*codeSet{ascii}}
	for i, term := range terms {
		if !cs.addTerm(term, i == 0) {
			err = unknownSet("unknown character set: want a defined term such as ISO_IR 100, ISO 2022 IR 87 or ISO_IR 192")
		}
	}
	return cs.settled(), err
}

// addTerm adds the sets that a term names, if it is one that is understood.
func (c *Charset) addTerm(term string, initial bool) bool {
	if strings.IndexFunc(term, notInTerm) >= 0 {
		return false
	}
	name := strings.Map(alphanumeric, strings.ToUpper(term))
	switch name {
	case "":
	case "ISOIR192", "UTF8", "ISO2022IR192":
		c.utf8 = c.utf8 || c.whole == nil
	case "GB18030", "ISO2022GB18030":
		c.setWhole(simplifiedchinese.GB18030)
	case "GBK", "ISO2022GBK":
		c.setWhole(simplifiedchinese.GBK)
	default:
		sets, ok := registered[strings.TrimPrefix(strings.TrimPrefix(name, "ISO2022IR"), "ISOIR")]
		for _, s := range sets {
			c.designate(s, initial)
		}
		return ok
	}
	return true
}

// setWhole takes the first set without code extensions, beside which no other counts.
func (c *Charset) setWhole(e encoding.Encoding) {
	if !c.utf8 && c.whole == nil {
		c.whole = e
	}
}

// settled is what is left of several sets: one without code extensions leaves room for no other.
func (c *Charset) settled() *Charset {
	if c.utf8 || c.whole != nil {
		return &Charset{utf8: c.utf8, whole: c.whole}
	}
	return c
}

func (c *Charset) designate(s *codeSet, initial bool) {
	switch {
	case initial && s.high:
		c.g1 = s
	case initial && !s.wide:
		c.g0 = s
	}
	if !slices.Contains(c.sets, s) {
		c.sets = append(c.sets, s)
	}
}

// notInTerm reports whether a character has no place in a term, however it is misspelt.
func notInTerm(r rune) bool {
	return alphanumeric(r&^0x20) < 0 && alphanumeric(r) < 0 && !strings.ContainsRune(" _-.\x00", r)
}

func alphanumeric(r rune) rune {
	if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return -1
}

// Charset is the effective character set of d: its own Specific Character Set, or else that of the
// data set around it (PS3.5 section 6.1.2.5). A present but empty one means the default repertoire.
func (d *Dataset) Charset() *Charset {
	for ; d != nil; d = d.parent {
		if e, ok := d.Get(tag.SpecificCharacterSet); ok {
			cs, _ := parseTerms(e.Value)
			return cs
		}
	}
	return nil
}

// common are the sets of nearly all files, ready made, by the value as it stands in the file.
var common = map[string]*Charset{
	"":           nil,
	"ISO_IR 6 ":  nil,
	"ISO_IR 100": {g0: ascii, g1: registered["100"][0], sets: []*codeSet{ascii, registered["100"][0]}},
	"ISO_IR 192": {utf8: true},
}

func (d *Dataset) decode(v VR, b []byte) string {
	if isPlain(b) {
		return string(b)
	}
	if !v.UsesCharset() {
		return decodeUnknown(b)
	}
	return d.Charset().Decode(v, b)
}

// isPlain reports whether the bytes are ASCII without escape sequences: the same text in every set
// but JIS X 0201 romaji, whose yen sign is the backslash anyway.
func isPlain(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf || c == 0x1b || c == '~' {
			return false
		}
	}
	return true
}

// Decode turns the bytes of a value into text. What the set cannot express comes out as U+FFFD; bytes
// beyond ASCII where no set is declared are read as UTF-8 if they are that, else as ISO 8859-1.
func (c *Charset) Decode(v VR, b []byte) string {
	switch {
	case c == nil:
		return decodeUnknown(b)
	case c.utf8:
		return strings.ToValidUTF8(string(b), "\uFFFD")
	case c.whole != nil:
		s, _ := c.whole.NewDecoder().Bytes(b)
		return string(s)
	}
	return c.decodeExtended(v, b)
}

// decodeUnknown is the best guess for bytes that no set is declared for.
func decodeUnknown(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	s := make([]rune, len(b))
	for i, c := range b {
		s[i] = rune(c)
	}
	return string(s)
}

// resets reports whether a character returns the code table to its initial state: the delimiters of
// values, name components and lines (PS3.5 section 6.1.2.5.3).
func resets(v VR, c byte) bool {
	switch c {
	case '\t', '\n', '\f', '\r':
		return true
	case '\\':
		return !v.IsMultiline()
	case '^', '=':
		return v == vr.PN
	}
	return false
}
