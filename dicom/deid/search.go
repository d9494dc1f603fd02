package deid

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"math/bits"
	"sync"
	"unicode/utf8"
)

// needle says how a text that went is searched for in what stays.
type needle uint8

const (
	// removedValue stood in an element that went: a description, a station's name.
	removedValue needle = 1 << iota
	// privateValue stood in a private element that went. Makers copy descriptions there, so a description
	// that was asked for does not go with its copy.
	privateValue
	// identity is the patient's or another person's: a part of a name, a number, a birth date.
	identity
	// shortName is a part of a name under three characters: what holds it goes as a whole.
	shortName
	// agent is another person or an institution that was removed: also found in coded values.
	agent
	// day is a date of eight digits: also found where a number stands.
	day

	nothing    needle = 0
	everything needle = 0xFF
)

const (
	// glued is from which length on, in folded bytes, a needle is found within words too.
	glued = 6
	// longest is how many folded bytes of a needle are compared.
	longest = 64
)

// search holds what went and finds it in text. Time is linear in the text whatever was added: for each
// place in it one look-up tells which lengths of needles begin so, and one for each of those decides.
// Needles are held as hashes: a collision, once in 2^64, would remove a word too many.
type search struct {
	lengths map[uint32]uint64 // first three folded bytes: a bit for each length of needle
	needles map[uint64]needle // hash of the folded bytes
	text    folded
	sums    []uint64 // sums[i] is the hash of the first i folded bytes of the text that is searched
	hits    []hit

	mac hash.Hash // kept with the rest, for most files that follow have the same key
	key []byte    // mac's
}

// hit is a needle found: bytes of the original text.
type hit struct{ from, to int32 }

var searches = sync.Pool{New: func() any {
	return &search{lengths: map[uint32]uint64{}, needles: map[uint64]needle{}}
}}

// release clears the search and gives it back, unless a strange file has blown it up.
func (s *search) release() {
	if len(s.needles) > 10_000 || cap(s.text.places) > 1<<20 {
		return
	}
	clear(s.lengths)
	clear(s.needles)
	searches.Put(s)
}

// macUnder is a MAC for new UIDs under a key. It must be reset before use.
func (s *search) macUnder(key []byte) hash.Hash {
	if s.mac == nil || !bytes.Equal(key, s.key) {
		s.mac, s.key = hmac.New(sha256.New, key), bytes.Clone(key)
	}
	return s.mac
}

// add folds a text and searches for it from now on. What has under three letters and digits is left
// out unless kind is shortName.
func (s *search) add(kind needle, text []byte) {
	s.text.fold(text)
	s.addFolded(kind, s.text.text)
}

func (s *search) addFolded(kind needle, b []byte) {
	if utf8.RuneCount(b) < 3 && kind&shortName == 0 || len(b) == 0 {
		return
	}
	b = b[:min(len(b), longest)]
	s.lengths[prefix(b)] |= 1 << (len(b) - 1)
	s.needles[hashOf(b)] |= kind
}

// has reports whether a text that is folded already is searched for.
func (s *search) has(kind needle, text string) bool {
	return s.needles[hashOf([]byte(text))]&kind != 0
}

// addWords adds each word of a text: one under three characters as a shortName, if kind has that.
func (s *search) addWords(kind needle, text []byte) {
	s.text.fold(text)
	start := 0
	for i, p := range s.text.places {
		if p.edge&wordStart != 0 {
			start = i
		}
		if p.edge&wordEnd != 0 {
			s.addWord(kind, s.text.text[start:i+1])
		}
	}
}

func (s *search) addWord(kind needle, word []byte) {
	switch first, _ := utf8.DecodeRune(word); {
	case utf8.RuneCount(word) >= 3:
		s.addFolded(kind&^shortName, word)
	case !isDense(first): // there every character is a word
		s.addFolded(kind&shortName, word)
	}
}

// find looks for needles of the kinds in text, valid UTF-8. Found places stand in s.hits until the next
// call, in order and without overlap. all says that the text must go as a whole.
func (s *search) find(kinds needle, text []byte) (found, all bool) {
	s.text.fold(text)
	s.sum()
	s.hits = s.hits[:0]
	f := &s.text
	for i := 0; i < len(f.text); {
		n, kind := s.longestAt(kinds, i, ^uint64(0))
		if n == 0 {
			i++
			continue
		}
		if kind&shortName != 0 || n == longest {
			return true, true
		}
		s.hits = append(s.hits, hit{f.places[i].from, f.places[i+n-1].to})
		i += n
	}
	return len(s.hits) > 0, false
}

// longestAt is the longest needle at folded byte i, 0 if there is none. among has a bit for each length
// that counts.
func (s *search) longestAt(kinds needle, i int, among uint64) (int, needle) {
	rest := s.text.text[i:]
	starts := s.text.places[i].edge&wordStart != 0
	for keys := min(3, len(rest)); keys > 0; keys-- {
		for lengths := s.lengths[prefix(rest[:keys])] & among; lengths != 0; {
			n := bits.Len64(lengths)
			lengths &^= 1 << (n - 1)
			if n > len(rest) || keys < 3 && n != keys {
				continue
			}
			ends := s.text.places[i+n-1].edge&wordEnd != 0
			if !(starts && ends) && n < glued {
				continue
			}
			if kind := s.needles[s.sums[i+n]-s.sums[i]*powers[n]] & kinds; kind != 0 {
				return n, kind
			}
		}
		if !starts {
			break
		}
	}
	return 0, 0
}

// prefix is the first three bytes, or fewer, as a number; their count keeps "ab" apart from "ab\x00".
func prefix(b []byte) uint32 {
	n := min(len(b), 3)
	key := uint32(n)
	for _, c := range b[:n] {
		key = key<<8 | uint32(c)
	}
	return key
}

// The hash is a polynomial modulo 2^64, so that the hash of any stretch of a text is the difference of two
// sums. It is the same in every run, so that a rerun writes the same bytes.
const base = 0x9E3779B97F4A7C15

// powers are those of base.
var powers = func() (p [longest + 1]uint64) {
	p[0] = 1
	for i := range longest {
		p[i+1] = p[i] * base
	}
	return p
}()

// hashOf is the hash of a needle.
func hashOf(b []byte) uint64 {
	h := uint64(0)
	for _, c := range b {
		h = h*base + uint64(c)
	}
	return h
}

// sum prepares the hashes of the folded text.
func (s *search) sum() {
	s.sums = append(s.sums[:0], 0)
	h := uint64(0)
	for _, c := range s.text.text {
		h = h*base + uint64(c)
		s.sums = append(s.sums, h)
	}
}
