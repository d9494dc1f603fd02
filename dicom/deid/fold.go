package deid

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folded is text as it is compared: letters and digits alone, in lower case, without accents, full-width
// forms made narrow. "DOE, JOHN" and "Doe^John" fold to the same.
type folded struct {
	text   []byte
	places []place // one for each byte of text
	as     spelling
}

// spelling is how letters are folded that some write as two. Text is always folded plainly; a name is
// searched for in all spellings.
type spelling uint8

const (
	asWritten  spelling = iota // Müller is muller, Mueller is mueller
	expanded                   // Müller is mueller
	contracted                 // Mueller is muller
)

// differs reports whether a name may fold otherwise in a spelling than plainly.
func differs(as spelling, name []byte) bool {
	for i, c := range name {
		switch {
		case as == expanded && c >= utf8.RuneSelf:
			return true
		case as == contracted && i > 0 && isDigraph(name[i-1]|0x20, c|0x20):
			return true
		}
	}
	return false
}

// isDigraph reports whether two small letters stand for one with an umlaut or a ring.
func isDigraph(a, b byte) bool {
	return b == 'e' && (a == 'a' || a == 'o' || a == 'u') || b == 'a' && a == 'a'
}

// place leads from a folded byte back to the character that it came from.
type place struct {
	from, to int32 // the character's bytes in the original
	edge     edge
}

// edge says whether a folded byte begins or ends a word. Scripts that do not part words by spaces have a
// word in every character.
type edge uint8

const (
	wordStart edge = 1 << iota
	wordEnd
)

// fold replaces f with the folded form of s, which is valid UTF-8.
func (f *folded) fold(s []byte) {
	f.text, f.places = f.text[:0], f.places[:0]
	inWord := false
	for at := 0; at < len(s); {
		r, size := rune(s[at]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(s[at:])
		}
		before := len(f.text)
		if f.as == asWritten || !f.respell(r) {
			f.add(r)
		}
		alone := isDense(r)
		if n := len(f.text); n > before {
			f.locate(before, int32(at), int32(at+size))
			if !inWord || alone {
				f.endWord(before)
				f.places[before].edge |= wordStart
			}
			inWord = !alone
			if alone {
				f.places[n-1].edge |= wordEnd
			}
		} else if !isWithin(r) {
			f.endWord(before)
			inWord = false
		}
		at += size
	}
	f.endWord(len(f.text))
}

// isWithin reports whether a character that folds to nothing parts no word: accents and what cannot be seen;
// of letters only the second of a digraph folds to nothing.
func isWithin(r rune) bool {
	if r < utf8.RuneSelf {
		return r|0x20 == 'e' || r|0x20 == 'a'
	}
	return unicode.In(r, unicode.Mn, unicode.Cf)
}

// respell appends what r folds to in f's spelling, if that is not what it folds to plainly.
func (f *folded) respell(r rune) bool {
	if f.as == expanded {
		pair := expansions[r]
		f.text = append(f.text, pair...)
		return pair != ""
	}
	n := len(f.text)
	return n > 0 && r < utf8.RuneSelf && isDigraph(f.text[n-1], byte(r)|0x20)
}

// expansions are the letters that are written as two where a keyboard lacks them; a combining diaeresis
// stands behind its letter.
var expansions = map[rune]string{
	'ä': "ae", 'ö': "oe", 'ü': "ue", 'Ä': "ae", 'Ö': "oe", 'Ü': "ue", 'ø': "oe", 'Ø': "oe", 'å': "aa", 'Å': "aa", '\u0308': "e",
}

// letters are those that no decomposition leads back to the Latin alphabet.
var letters = map[rune]string{
	'ß': "ss", 'ẞ': "ss", 'ø': "o", 'Ø': "o", 'æ': "ae", 'Æ': "ae", 'œ': "oe", 'Œ': "oe", 'ł': "l", 'Ł': "l",
	'đ': "d", 'Đ': "d", 'ð': "d", 'Ð': "d", 'þ': "th", 'Þ': "th", 'ħ': "h", 'Ħ': "h", 'ŧ': "t", 'Ŧ': "t", 'ŋ': "n", 'Ŋ': "n",
}

// endWord marks the byte before n as the last of its word.
func (f *folded) endWord(n int) {
	if n > 0 {
		f.places[n-1].edge |= wordEnd
	}
}

// locate notes where the bytes from n on come from.
func (f *folded) locate(n int, from, to int32) {
	for range len(f.text) - n {
		f.places = append(f.places, place{from: from, to: to})
	}
}

// add appends what r folds to: nothing for what is neither letter nor digit.
func (f *folded) add(r rune) {
	switch {
	case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
		f.text = append(f.text, byte(r))
	case r >= 'A' && r <= 'Z':
		f.text = append(f.text, byte(r)+'a'-'A')
	case r >= utf8.RuneSelf:
		f.addWide(r)
	}
}

func (f *folded) addWide(r rune) {
	if r <= 'ŧ' || r == 'ẞ' {
		if s, ok := letters[r]; ok {
			f.text = append(f.text, s...)
			return
		}
	}
	var buf [utf8.UTFMax]byte
	parts := norm.NFKD.Properties(buf[:utf8.EncodeRune(buf[:], r)]).Decomposition()
	if parts == nil {
		parts = buf[:utf8.RuneLen(r)]
	}
	for len(parts) > 0 {
		c, n := utf8.DecodeRune(parts)
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			f.text = utf8.AppendRune(f.text, unicode.ToLower(unicode.ToUpper(c))) // by way of Σ, of which ς is one form
		}
		parts = parts[n:]
	}
}

// isDense reports whether a character belongs to a script that does not part words by spaces.
func isDense(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}
