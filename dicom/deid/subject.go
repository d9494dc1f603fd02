package deid

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"strings"
	"unicode/utf8"

	"filmroom/dicom"
)

// ErrSubject: a Subject that nothing can be de-identified for.
var ErrSubject = errors.New("subject incomplete")

// Subject is the person that a file is about, as the export knows them.
type Subject struct {
	// Pseudonym replaces Patient's Name and Patient ID: 1 to 64 printable ASCII characters other than
	// \ ^ and =.
	Pseudonym string
	// UIDKey is the key of new UIDs, at least 16 bytes; the same for everything that shall fit together.
	// It is needed under RetainUIDs too: the table maps some UIDs whatever the options.
	UIDKey []byte
	// DateOffset is by how many days dates move under ShiftDates, not 0 then. It must be one per patient,
	// so that intervals and order stay.
	DateOffset int
	// Identity is what is known of the patient beyond the file, from other files of the study. What the
	// file itself says is always searched for.
	Identity Identity
	// Blackout are rectangles to be painted black in every frame, in pixels from the upper left corner.
	// Who gives them has looked, as with PixelsReviewed. Compressed pixels are refused then.
	Blackout []image.Rectangle
	// PixelsReviewed says that a person looked at the pixels and the overlays and that nothing there
	// tells who it is.
	PixelsReviewed bool
}

// minKey is the least length of a UID key in bytes.
const minKey = 16

// check says what is wrong with a subject; it never repeats the pseudonym, which may be a mistaken name.
func (s *Subject) check(o *Options) error {
	switch {
	case s.Pseudonym == "" || len(s.Pseudonym) > 64 || strings.TrimSpace(s.Pseudonym) != s.Pseudonym:
		return fmt.Errorf("%w: the pseudonym must have 1 to 64 characters and no space around them", ErrSubject)
	case strings.ContainsFunc(s.Pseudonym, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`\^=`, r) }):
		return fmt.Errorf(`%w: the pseudonym must be of ASCII characters other than \ ^ =`, ErrSubject)
	case len(s.UIDKey) < minKey:
		return fmt.Errorf("%w: the key of UIDs has %d bytes, want at least %d", ErrSubject, len(s.UIDKey), minKey)
	case o.ShiftDates && s.DateOffset == 0:
		return fmt.Errorf("%w: dates are to be shifted by no day at all, want an offset other than 0", ErrSubject)
	case s.Identity.Crowded():
		return fmt.Errorf("%w: %d texts tell who it is, at most %d can be searched for", ErrSubject, s.Identity.Len(), mostTexts)
	}
	return nil
}

// addIdentity searches for all that is known of the person.
func (s *search) addIdentity(id *Identity) {
	for _, n := range id.Names {
		s.addName(identity|shortName, []byte(n))
	}
	for _, v := range id.IDs {
		s.addID([]byte(v))
	}
	for _, d := range id.BirthDates {
		s.addDate(identity, d)
	}
}

// addID searches for a number of a person's, and for what is left of it where it stands as a number.
func (s *search) addID(value []byte) {
	s.add(identity, value)
	if digits := bytes.TrimLeft(value, "0"); len(digits) < len(value) && len(digits) >= leastNumber && consistsOf(digits, "") {
		s.add(identity, digits)
	}
}

// addName searches for the parts of a person's name in each of its scripts and spellings.
func (s *search) addName(kind needle, name []byte) {
	s.addSpelling(kind, name)
	for _, s.text.as = range [...]spelling{expanded, contracted} {
		if differs(s.text.as, name) {
			s.addSpelling(kind&^shortName, name)
		}
	}
	s.text.as = asWritten
}

// addSpelling searches for the parts of a name, and for the first two of them written as one word. Parts
// under three characters count only if kind has shortName: everybody's initials would blank every text.
// Words within a part are no initials where nothing parts the name but spaces.
func (s *search) addSpelling(kind needle, name []byte) {
	var before [longest]byte
	words, n := kind&^shortName, 0
	if bytes.IndexByte(name, '^') < 0 {
		words = kind
	}
	for len(name) > 0 {
		end := 0
		for end < len(name) && name[end] != '^' && name[end] != '=' && name[end] != '\\' {
			end++
		}
		part := name[:end]
		s.addNamePart(kind, words, part)
		s.text.fold(part)
		if n > 0 && n+len(s.text.text) <= longest {
			var joined [longest]byte
			s.addFolded(kind&^shortName, append(append(joined[:0], before[:n]...), s.text.text...))
			s.addFolded(kind&^shortName, append(append(joined[:0], s.text.text...), before[:n]...))
		}
		n = 0
		if end < len(name) && name[end] == '^' {
			n = copy(before[:], s.text.text)
		}
		name = name[min(end+1, len(name)):]
	}
}

// addNamePart searches for a component of a name and its words.
func (s *search) addNamePart(kind, words needle, part []byte) {
	s.text.fold(part)
	if n := utf8.RuneCount(s.text.text); n > 0 && n < 3 {
		s.addFolded(kind&shortName, s.text.text)
		return
	}
	s.addFolded(kind&^shortName, s.text.text)
	s.addWords(words, part)
}

// addDate searches for a DA value as people write dates.
func (s *search) addDate(kind needle, value string) {
	if s.has(kind, value) {
		return // most files have one date in many places
	}
	s.add(kind|day, []byte(value))
	if t, err := dicom.ParseDate(strings.ReplaceAll(value, ".", "")); err == nil {
		var b [32]byte
		for _, layout := range dateLayouts {
			if b := t.AppendFormat(b[:0], layout); len(b) == len(dummyDate) {
				s.add(kind|day, b)
			} else {
				s.add(kind, b)
			}
		}
	}
}

// dateLayouts are the ways in which dates are written, without what parts their numbers.
var dateLayouts = [...]string{
	"20060102", "02012006", "01022006", "212006", "122006", "020106", "010206",
	"2Jan2006", "02Jan2006", "Jan22006", "Jan022006", "2January2006", "January22006",
}
