package dicom

import (
	"encoding/binary"

	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
)

// IsEncapsulated reports whether a transfer syntax carries pixel data as fragments (PS3.5 section
// A.4): every registered one but the four native ones and their deflated kin.
func IsEncapsulated(syntax string) bool {
	switch syntax {
	case uid.ImplicitLE, uid.ExplicitLE, uid.ExplicitBE, uid.DeflatedLE, uid.JPIPDeflated, uid.JPIPHTJ2KDeflated:
		return false
	}
	e, ok := uid.Lookup(syntax)
	return ok && e.Kind == uid.TransferSyntax
}

// isDeflated reports whether the data set is a deflate stream (PS3.5 section A.5).
func isDeflated(syntax string) bool {
	return syntax == uid.DeflatedLE || syntax == uid.JPIPDeflated || syntax == uid.JPIPHTJ2KDeflated
}

// layoutOf is how a transfer syntax lays out a data set, and whether the standard has it.
func layoutOf(syntax string) (layout, bool) {
	switch syntax {
	case uid.ImplicitLE, "1.2.840.10008.1.20": // Papyrus 3 has its data set in implicit VR
		return layout{}, true
	case uid.ExplicitBE:
		return layout{explicit: true, big: true}, true
	}
	e, ok := uid.Lookup(syntax)
	return layout{explicit: true}, ok && e.Kind == uid.TransferSyntax
}

// syntaxOf is the transfer syntax of native data in a layout.
func syntaxOf(l layout) string {
	switch {
	case l.big:
		return uid.ExplicitBE
	case l.explicit:
		return uid.ExplicitLE
	}
	return uid.ImplicitLE
}

// LooksLike tells from a file's first bytes whether it is worth giving to Parse: it has the mark of
// PS3.10 at byte 128, or begins like a data set without a header. 132 bytes or more are needed for a
// good answer, 144 for a header whose mark is damaged; that a file is whole and sound only Parse can tell.
func LooksLike(head []byte) bool {
	if hasMark(head) || hasUnmarkedMeta(head) {
		return true
	}
	_, sure, _ := guessLayout(head, 1<<32)
	return sure
}

// hasMark reports whether a preamble and the letters DICM begin the file (PS3.10 section 7.1).
func hasMark(head []byte) bool {
	return len(head) >= preambleSize && string(head[128:preambleSize]) == "DICM"
}

// hasUnmarkedMeta reports whether file meta information stands where it should, behind a preamble whose
// letters are missing.
func hasUnmarkedMeta(head []byte) bool {
	return len(head) >= preambleSize+8 && isMeta(head[preambleSize:]) && explicitLE.fits(head[preambleSize:], 1<<32)
}

// preambleSize is the length of the preamble with its mark.
const preambleSize = 132

// isMeta reports whether an element of the file meta information begins here.
func isMeta(b []byte) bool {
	return len(b) >= 4 && binary.LittleEndian.Uint16(b) == tag.FileMetaInformationVersion.Group() && binary.LittleEndian.Uint16(b[2:]) <= 0x0102
}
