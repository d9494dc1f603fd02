// Package uid knows the well-known unique identifiers of DICOM (PS3.6 Annex A).
package uid

import "strings"

// Transfer syntaxes by the names people use for them (PS3.5 section 10 and Annex A).
const (
	ImplicitLE               = "1.2.840.10008.1.2"
	ExplicitLE               = "1.2.840.10008.1.2.1"
	EncapsulatedUncompressed = "1.2.840.10008.1.2.1.98"
	DeflatedLE               = "1.2.840.10008.1.2.1.99"
	ExplicitBE               = "1.2.840.10008.1.2.2"
	JPEGBaseline             = "1.2.840.10008.1.2.4.50"
	JPEGExtended             = "1.2.840.10008.1.2.4.51"
	JPEGLossless             = "1.2.840.10008.1.2.4.57"
	JPEGLosslessSV1          = "1.2.840.10008.1.2.4.70"
	JPEGLSLossless           = "1.2.840.10008.1.2.4.80"
	JPEGLSNearLossless       = "1.2.840.10008.1.2.4.81"
	JPEG2000Lossless         = "1.2.840.10008.1.2.4.90"
	JPEG2000                 = "1.2.840.10008.1.2.4.91"
	JPIPDeflated             = "1.2.840.10008.1.2.4.95"
	JPIPHTJ2KDeflated        = "1.2.840.10008.1.2.4.205"
	RLELossless              = "1.2.840.10008.1.2.5"
	DeflatedFrame            = "1.2.840.10008.1.2.8.1"
)

// MediaStorageDirectory is the SOP class of a DICOMDIR: a directory, not an image.
const MediaStorageDirectory = "1.2.840.10008.1.3.10"

// Kind is what a well-known UID identifies.
type Kind uint8

// The kinds of PS3.6 Annex A.
const (
	TransferSyntax Kind = iota + 1
	SOPClass
	MetaSOPClass
	ServiceClass
	WellKnownSOPInstance
	WellKnownFrameOfReference
	CodingScheme
	ApplicationContext
	Other
)

// Entry is one registered UID.
type Entry struct {
	Name    string
	Kind    Kind
	Retired bool
}

// Lookup finds a UID that the standard registers. Such a UID means the same everywhere: it
// identifies no patient, and replacing it would break the file.
func Lookup(uid string) (Entry, bool) {
	e, ok := registry[uid]
	return e, ok
}

// Name is the registered name, or the UID itself where the standard does not know it.
func Name(uid string) string {
	if e, ok := registry[uid]; ok {
		return e.Name
	}
	return uid
}

// MaxLen is the most characters a UID may have (PS3.5 section 9).
const MaxLen = 64

// Valid reports whether s has the form of a UID: up to 64 characters, digits in components without
// leading zeros, joined by single dots (PS3.5 section 9.1).
func Valid(s string) bool {
	if s == "" || len(s) > MaxLen {
		return false
	}
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || len(part) > 1 && part[0] == '0' || strings.Trim(part, "0123456789") != "" {
			return false
		}
	}
	return true
}
