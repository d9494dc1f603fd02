package uid_test

import (
	"strings"
	"testing"

	"filmroom/dicom/uid"
)

func TestTheRegistryKnowsWellKnownUIDs(t *testing.T) {
	t.Parallel()
	for u, want := range map[string]uid.Entry{
		uid.ExplicitLE:     {Name: "Explicit VR Little Endian", Kind: uid.TransferSyntax},
		uid.ExplicitBE:     {Name: "Explicit VR Big Endian", Kind: uid.TransferSyntax, Retired: true},
		uid.CTImageStorage: {Name: "CT Image Storage", Kind: uid.SOPClass},
	} {
		if got, ok := uid.Lookup(u); !ok || got != want {
			t.Errorf("%s is %+v, want %+v", u, got, want)
		}
	}
	if _, ok := uid.Lookup("1.2.3"); ok || uid.Name("1.2.3") != "1.2.3" || uid.Name(uid.RLELossless) != "RLE Lossless" {
		t.Error("names")
	}
}

func TestEveryNamedTransferSyntaxIsRegistered(t *testing.T) {
	t.Parallel()
	for _, u := range []string{
		uid.ImplicitLE, uid.ExplicitLE, uid.EncapsulatedUncompressed, uid.DeflatedLE, uid.ExplicitBE, uid.JPEGBaseline, uid.JPEGExtended,
		uid.JPEGLossless, uid.JPEGLosslessSV1, uid.JPEGLSLossless, uid.JPEGLSNearLossless, uid.JPEG2000Lossless, uid.JPEG2000,
		uid.JPIPDeflated, uid.JPIPHTJ2KDeflated, uid.RLELossless, uid.DeflatedFrame,
	} {
		if e, ok := uid.Lookup(u); !ok || e.Kind != uid.TransferSyntax {
			t.Errorf("%s is %+v", u, e)
		}
	}
}

func TestTheFormOfAUID(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"1.2.840": true, "0": true, "2.25.0": true, strings.Repeat("1", 64): true,
		"": false, "1..2": false, ".1": false, "1.": false, "1.02": false, "1.a": false, "1.2 ": false, strings.Repeat("1", 65): false,
	} {
		if got := uid.Valid(s); got != want {
			t.Errorf("%q: %t, want %t", s, got, want)
		}
	}
}
