package dicom

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// decodeExtended reads text with code extensions after ISO 2022 (PS3.5 section 6.1.2.5): escape
// sequences change what the low and the high half of the code table mean.
func (c *Charset) decodeExtended(v VR, b []byte) string {
	var s strings.Builder
	g0, g1 := c.g0, c.g1
	lastG1 := c.g1
	for len(b) > 0 {
		if b[0] == 0x1b {
			set, n := escapeAt(b)
			if set == nil {
				s.WriteRune(utf8.RuneError)
			} else if set.high {
				g1, lastG1 = set, set
			} else {
				g0 = set
			}
			b = b[n:]
			continue
		}
		wide := b[0] < 0x80 && g0.wide && b[0] > ' '
		if resets(v, b[0]) && !wide {
			g0, g1 = c.g0, c.g1
		}
		set := g0
		if b[0] >= 0x80 {
			// Writers that forget to designate the set again after a delimiter mean the last one.
			if set = g1; set == nil {
				set = lastG1
			}
		}
		b = b[decodeOne(&s, set, b):]
	}
	return s.String()
}

// escapeAt reads an escape sequence: the set it designates, nil if it is unknown, and its length.
func escapeAt(b []byte) (*codeSet, int) {
	for n := 3; n <= 4 && n <= len(b); n++ {
		if set, ok := escapes[string(b[:n])]; ok {
			return set, n
		}
	}
	return nil, 1
}

// decodeOne writes the character at the start of b and returns how many bytes it took.
func decodeOne(s *strings.Builder, set *codeSet, b []byte) int {
	c := b[0]
	switch {
	case set == nil:
		s.WriteRune(rune(c)) // no set for the high half: the guess of decodeUnknown
	case c <= ' ' || c == 0x7f || !set.wide && c < 0x80 && !set.romaji:
		s.WriteByte(c)
	case set.romaji:
		s.WriteRune(romajiRune(c))
	case set.kana && c >= 0xA1 && c <= 0xDF:
		s.WriteRune(rune(c) - 0xA1 + '｡')
	case set.single != nil:
		s.WriteRune(set.single.DecodeByte(c))
	case set.wide && len(b) > 1:
		text, err := set.multi.NewDecoder().Bytes([]byte(set.prefix + string([]byte{c | 0x80, b[1] | 0x80})))
		if r, n := utf8.DecodeRune(text); err == nil && n == len(text) {
			s.WriteRune(r)
		} else {
			s.WriteRune(utf8.RuneError)
		}
		return 2
	default:
		s.WriteRune(utf8.RuneError)
	}
	return 1
}

// romajiRune: JIS X 0201 differs from ASCII in two places. The backslash stays one, for it parts
// values.
func romajiRune(c byte) rune {
	if c == '~' {
		return '‾'
	}
	return rune(c)
}

// Encode turns text into the bytes of a value of VR v, without padding, and wraps ErrCharset where a
// character has no place in the set. A VR that is always ASCII takes nothing else.
func (c *Charset) Encode(v VR, s string) ([]byte, error) {
	if isPlain([]byte(s)) {
		return []byte(s), nil
	}
	switch {
	case c == nil || !v.UsesCharset():
		return encodeASCII(s)
	case c.utf8:
		if !utf8.ValidString(s) {
			return nil, unencodable(utf8.RuneError)
		}
		return []byte(s), nil
	case c.whole != nil:
		b, err := c.whole.NewEncoder().Bytes([]byte(s))
		// Some characters of private use have bytes in GB18030 that mean another one when read.
		if err != nil || c.Decode(v, b) != s {
			return nil, unencodable(utf8.RuneError)
		}
		return b, nil
	}
	return c.encodeExtended(v, s)
}

func encodeASCII(s string) ([]byte, error) {
	for _, r := range s {
		if r >= utf8.RuneSelf || r == 0x1b {
			return nil, unencodable(r)
		}
	}
	return []byte(s), nil
}

// unencodable names no character: the text may be a patient's name.
func unencodable(rune) error {
	return fmt.Errorf("%w: declare a wider Specific Character Set, such as ISO_IR 192, before setting this text", ErrCharset)
}

// encodeExtended designates for each character the first announced set that has it, and returns to the
// initial state before each delimiter and at the end.
func (c *Charset) encodeExtended(v VR, s string) ([]byte, error) {
	var out []byte
	g0, g1 := c.g0, c.g1
	initial := func() {
		if g0 != c.g0 {
			out = append(out, c.g0.escape...)
		}
		g0, g1 = c.g0, c.g1
	}
	for _, r := range s {
		if r < 0x80 && resets(v, byte(r)) {
			initial()
		}
		set, b := c.choose(g0, g1, r)
		if set == nil {
			return nil, unencodable(r)
		}
		if set.high && g1 != set {
			out, g1 = append(out, set.escape...), set
		} else if !set.high && g0 != set {
			out, g0 = append(out, set.escape...), set
		}
		out = append(out, b...)
	}
	initial()
	return out, nil
}

// choose finds a set that has the character, one in force first, and its bytes there.
func (c *Charset) choose(g0, g1 *codeSet, r rune) (*codeSet, []byte) {
	if b := g0.encode(r); b != nil {
		return g0, b
	}
	if g1 != nil {
		if b := g1.encode(r); b != nil {
			return g1, b
		}
	}
	for _, set := range c.sets {
		if b := set.encode(r); b != nil {
			return set, b
		}
	}
	return nil, nil
}

// encode is the character's bytes in the set, nil if it has none.
func (s *codeSet) encode(r rune) []byte {
	switch {
	case s.single != nil:
		if b, ok := s.single.EncodeRune(r); ok && b >= 0x80 {
			return []byte{b}
		}
	case s.kana:
		if r >= '｡' && r <= 'ﾟ' {
			return []byte{byte(r - '｡' + 0xA1)}
		}
	case s.wide:
		return s.encodeWide(r)
	case s.romaji && r == '‾':
		return []byte{'~'}
	case r < 0x80 && r != 0x1b && !(s.romaji && r == '~'):
		return []byte{byte(r)}
	}
	return nil
}

// encodeWide uses the EUC form of the set: what is not two bytes above 0xA0 behind the set's prefix
// belongs to one of the other sets that share the encoding.
func (s *codeSet) encodeWide(r rune) []byte {
	if r < 0x80 {
		return nil
	}
	b, err := s.multi.NewEncoder().Bytes([]byte(string(r)))
	if err != nil || len(b) != len(s.prefix)+2 || string(b[:len(s.prefix)]) != s.prefix {
		return nil
	}
	b = b[len(s.prefix):]
	if b[0] < 0xA1 || b[1] < 0xA1 {
		return nil
	}
	if !s.high {
		b[0], b[1] = b[0]&0x7F, b[1]&0x7F
	}
	return b
}
