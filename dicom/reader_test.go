package dicom_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

const patientName = "(0010,0010) PN undefined=false "

func TestStructuresOfTheStandardAreRead(t *testing.T) {
	t.Parallel()
	name := explicit(tag.PatientName, vr.PN, "A^B ")
	for _, c := range []struct {
		name, section string
		file          []byte
		want          []string
	}{
		{"explicit VR with a 16-bit length", "7.1.2", explicitFile(name),
			[]string{patientName + "415e4220"}},
		{"explicit VR with a 32-bit length", "7.1.2", explicitFile(explicit(tag.TextValue, vr.UT, "text")),
			[]string{"(0040,A160) UT undefined=false 74657874"}},
		{"a VR of a later edition has a 32-bit length", "6.2", explicitFile(join(leTag(0x00090100), []byte("ZZ\x00\x00"), le32(2), []byte("ab"))),
			[]string{"(0009,0100) UN undefined=false 6162"}},
		{"implicit VR", "7.1.3", part10(uid.ImplicitLE, implicit(tag.PatientName, "A^B ")),
			[]string{patientName + "415e4220"}},
		{"implicit VR with a private element", "7.8", part10(uid.ImplicitLE, implicit(0x00090010, "ACME"), implicit(0x00091001, "x ")),
			[]string{"(0009,0010) LO undefined=false 41434d45", "(0009,1001) UN undefined=false 7820"}},
		{"big endian comes out little endian", "7.3", part10(uid.ExplicitBE, bigEndian(tag.FrameIncrementPointer, vr.AT, "\x00\x18\x10\x63"), bigEndian(tag.Rows, vr.US, "\x01\x02")),
			[]string{"(0028,0009) AT undefined=false 18006310", "(0028,0010) US undefined=false 0201"}},
		{"big endian where the first group ends with a zero byte", "7.3", part10(uid.ExplicitBE, bigEndian(0x69696900, vr.US, "\x01\x02")),
			[]string{"(6969,6900) US undefined=false 0201"}},
		{"big endian where the first tag looks like the header's", "7.3", part10(uid.ExplicitBE, bigEndian(0x02000000, vr.UL, "\x01\x02\x03\x04")),
			[]string{"(0200,0000) UL undefined=false 04030201"}},
		{"deflated", "A.5", part10(uid.DeflatedLE, deflate(name)),
			[]string{patientName + "415e4220"}},
		{"a sequence of defined length", "7.5", explicitFile(explicit(tag.ReferencedImageSequence, vr.SQ, string(join(item(name), item())))),
			[]string{"(0008,1140) SQ undefined=false item false item false ", "(0008,1140)[1] > " + patientName + "415e4220"}},
		{"a sequence and items of undefined length", "7.5.1", explicitFile(join(head(tag.ReferencedImageSequence, vr.SQ, undefined), openItem(name), openItem(), closeSequence())),
			[]string{"(0008,1140) SQ undefined=true item true item true ", "(0008,1140)[1] > " + patientName + "415e4220"}},
		{"UN of undefined length is an implicit sequence", "6.2.2", explicitFile(join(head(0x00091001, vr.UN, undefined), openItem(implicit(tag.PatientName, "A^B ")), closeSequence())),
			[]string{"(0009,1001) SQ undefined=true item true ", "(0009,1001)[1] > " + patientName + "415e4220"}},
		{"UN of undefined length is little endian in a big-endian file", "6.2.2", part10(uid.ExplicitBE, join([]byte("\x00\x09\x10\x01UN\x00\x00\xFF\xFF\xFF\xFF"), openItem(implicit(tag.Rows, "\x01\x00")), closeSequence()), bigEndian(tag.Rows, vr.US, "\x00\x02")),
			[]string{"(0009,1001) SQ undefined=true item true ", "(0009,1001)[1] > (0028,0010) US undefined=false 0100", "(0028,0010) US undefined=false 0200"}},
		{"UN of a known tag gets its VR", "6.2.2", explicitFile(explicit(tag.PatientName, vr.UN, "A^B ")),
			[]string{patientName + "415e4220"}},
		{"UN that holds items is a sequence", "6.2.2", explicitFile(explicit(tag.ReferencedImageSequence, vr.UN, string(item(implicit(tag.PatientName, "A^B "))))),
			[]string{"(0008,1140) SQ undefined=false item false ", "(0008,1140)[1] > " + patientName + "415e4220"}},
		{"UN that only begins like an item is bytes", "6.2.2", explicitFile(explicit(0x00091001, vr.UN, string(join(leTag(tag.Item), le32(4), []byte("abcd"))))),
			[]string{"(0009,1001) UN undefined=false feff00e00400000061626364"}},
		{"encapsulated pixel data", "A.4", part10(uid.RLELossless, join(head(tag.PixelData, vr.OB, undefined), item(le32(0)), item([]byte("ab")), item([]byte("cd")), closeSequence())),
			[]string{"(7FE0,0010) OB undefined=true table 00000000 6162 6364 "}},
		{"a repeating group", "7.6", part10(uid.ImplicitLE, implicit(0x60020010, "\x01\x00")),
			[]string{"(6002,0010) US undefined=false 0100"}},
		{"group length elements", "7.2", explicitFile(explicit(0x00100000, vr.UL, "\x0c\x00\x00\x00"), name),
			[]string{"(0010,0000) UL undefined=false 0c000000", patientName + "415e4220"}},
		{"US or SS is SS with signed pixels", "A.1", part10(uid.ImplicitLE, implicit(tag.PixelRepresentation, "\x01\x00"), implicit(tag.SmallestImagePixelValue, "\xff\xff")),
			[]string{"(0028,0103) US undefined=false 0100", "(0028,0106) SS undefined=false ffff"}},
		{"US or SS is US otherwise", "A.1", part10(uid.ImplicitLE, implicit(tag.SmallestImagePixelValue, "\xff\xff")),
			[]string{"(0028,0106) US undefined=false ffff"}},
		{"OB or OW is OW in implicit VR", "A.1", part10(uid.ImplicitLE, implicit(tag.PixelData, "\xff\xff")),
			[]string{"(7FE0,0010) OW undefined=false ffff"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := parse(c.file)
			if err != nil {
				t.Fatalf("PS3.5 section %s: %v", c.section, err)
			}
			if diff := cmp.Diff(c.want, lines(f.Dataset)); diff != "" {
				t.Errorf("PS3.5 section %s (-want +got):\n%s", c.section, diff)
			}
		})
	}
}

func TestFilesThatBreakTheStandardAreReadWithAWarningAndRefusedStrictly(t *testing.T) {
	t.Parallel()
	name := explicit(tag.PatientName, vr.PN, "A^B ")
	id := explicit(tag.PatientID, vr.LO, "ID")
	meta := explicitFile()[132:]
	for _, c := range []struct {
		name string
		file []byte
		want string // the first warning
		sole string // the patient's name afterwards
	}{
		{"no preamble", join(meta, name), "at 0: no preamble: want 128 bytes and the letters DICM", "A^B"},
		{"no header at all, explicit", join(explicit(tag.Modality, vr.CS, "CT"), name), "at 0: no preamble: want 128 bytes and the letters DICM", "A^B"},
		{"no header at all, implicit", join(implicit(tag.Modality, "CT"), implicit(tag.PatientName, "A^B ")), "at 0: no preamble: want 128 bytes and the letters DICM", "A^B"},
		{"no header at all, big endian", join(bigEndian(tag.Modality, vr.CS, "CT"), bigEndian(tag.PatientName, vr.PN, "A^B ")), "at 0: no preamble: want 128 bytes and the letters DICM", "A^B"},
		{"preamble without its letters", join(make([]byte, 132), meta, name), "at 128: the letters DICM are missing at byte 128", "A^B"},
		{"no file meta information", join(make([]byte, 128), []byte("DICM"), name), "at 132: no file meta information", "A^B"},
		{"no group length", join(make([]byte, 128), []byte("DICM"), meta[12:], name), "at 132: no group length in the file meta information", "A^B"},
		{"a wrong group length", join(make([]byte, 128), []byte("DICM"), explicit(0x00020000, vr.UL, string(le32(1000))), meta[12:], name),
			"at 132: wrong group length in the file meta information: 1,000, the group has 28 bytes", "A^B"},
		{"no transfer syntax", join(make([]byte, 128), []byte("DICM"), explicit(0x00020000, vr.UL, string(le32(0))), name),
			"at 144: no transfer syntax is stated: read as Explicit VR Little Endian", "A^B"},
		{"an unknown transfer syntax", part10("1.2.3", name), "at 158: the file's transfer syntax is not in PS3.6, so what its pixel data is nobody knows: read as Explicit VR Little Endian", "A^B"},
		{"implicit where explicit is stated", explicitFile(implicit(tag.PatientName, "A^B ")),
			"at 172: the data set is not in the transfer syntax that the file states: read as Implicit VR Little Endian", "A^B"},
		{"big endian where little is stated", explicitFile(bigEndian(tag.PatientName, vr.PN, "A^B ")),
			"at 172: the data set is not in the transfer syntax that the file states: read as Explicit VR Big Endian", "A^B"},
		{"tags out of order", explicitFile(id, name), "at 172: elements are not in ascending order of their tags; put in order", "A^B"},
		{"a tag twice", explicitFile(name, explicit(tag.PatientName, vr.PN, "C^D ")), "at 172: an element stands twice in a data set; the first one counts", "A^B"},
		{"a value of odd length", explicitFile(explicit(tag.PatientName, vr.PN, "A^B")), "(0010,0010) at 172: value of odd length: want a padding byte", "A^B"},
		{"an unknown VR", explicitFile(name, join(leTag(tag.PatientID), []byte("ZZ\x02\x00ID"))),
			"(0010,0020) at 184: unknown value representation: want one of PS3.5 section 6.2; the dictionary's is taken, or UN", "A^B"},
		{"an implicit element among explicit ones", explicitFile(name, implicit(tag.PatientID, "ID")),
			"(0010,0020) at 184: no value representation in an explicit-VR file; read as implicit VR", "A^B"},
		{"a VR that was never filled in", explicitFile(name, join(leTag(tag.PatientID), []byte("  \x02\x00ID"))),
			"(0010,0020) at 184: no value representation before the length: want one of PS3.5 section 6.2; the dictionary's is taken, or UN", "A^B"},
		{"a VR of question marks in a large file", explicitFile(name, join(leTag(tag.PatientID), []byte("??\x02\x00ID")), explicit(tag.TextValue, vr.UT, strings.Repeat("x", 300_000))),
			"(0010,0020) at 184: no value representation before the length: want one of PS3.5 section 6.2; the dictionary's is taken, or UN", "A^B"},
		{"zeros behind the end", explicitFile(name, make([]byte, 100)), "at 184: zeros behind the last element; left out", "A^B"},
		{"a zero behind the end", explicitFile(name, make([]byte, 1)), "at 184: zeros behind the last element; left out", "A^B"},
		{"a stray delimiter", explicitFile(name, closeSequence()), "(FFFE,E0DD) at 184: a delimiter that delimits nothing; left out", "A^B"},
		{"a delimiter in a defined length", explicitFile(explicit(tag.ReferencedImageSequence, vr.SQ, string(closeSequence())), name),
			"(0008,1140) at 184: a delimiter in a sequence of defined length; left out", "A^B"},
		{"no sequence where the dictionary has one", part10(uid.ImplicitLE, implicit(tag.ReferencedImageSequence, "text"), implicit(tag.PatientName, "A^B ")),
			"(0008,1140) at 170: no item in what the dictionary says is a sequence; taken as UN", "A^B"},
		{"an unknown character set", explicitFile(explicit(tag.SpecificCharacterSet, vr.CS, "KLINGON "), name),
			"(0008,0005) at 172: unknown character set: want a defined term such as ISO_IR 100, ISO 2022 IR 87 or ISO_IR 192", "A^B"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := parse(c.file)
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Warnings) == 0 || f.Warnings[0].Error() != c.want && f.Warnings[len(f.Warnings)-1].Error() != c.want {
				t.Errorf("warnings are %v, want %q", f.Warnings, c.want)
			}
			if got, _ := f.Dataset.String(tag.PatientName); got != c.sole {
				t.Errorf("the name is %q, want %q", got, c.sole)
			}
			if _, err := parse(c.file, dicom.Strict()); !errors.Is(err, dicom.ErrStrict) {
				t.Errorf("strict mode says %v, want ErrStrict", err)
			}
		})
	}
}

func TestDamagedFilesAreRefusedWithTheirPathAndOffset(t *testing.T) {
	t.Parallel()
	name := explicit(tag.PatientName, vr.PN, "A^B ")
	inSequence := func(content []byte) []byte {
		return explicitFile(explicit(tag.ReferencedImageSequence, vr.SQ, string(item(content))), name)
	}
	pixels := head(tag.PixelData, vr.OB, undefined)
	for _, c := range []struct {
		name string
		file []byte
		want error
		text string
	}{
		{"nothing", nil, dicom.ErrNotDICOM, "at 0: not a DICOM file: neither the letters DICM at byte 128 nor a data element at its start"},
		{"text", []byte("The quick brown fox jumps over the lazy dog"), dicom.ErrNotDICOM, "at 0: not a DICOM file: neither the letters DICM at byte 128 nor a data element at its start"},
		{"a preamble alone", explicitFile()[:132], dicom.ErrTruncated, "at 132: nothing follows the preamble"},
		{"a header alone", explicitFile(), dicom.ErrTruncated, "at 172: no data set follows the file meta information"},
		{"a cut in a header", explicitFile(name[:5]), dicom.ErrTruncated, "at 172: the file ends within an element: want 8 bytes, 5 are left"},
		{"a cut in a long header", explicitFile(name, head(tag.TextValue, vr.UT, 4)[:9]), dicom.ErrTruncated, "(0040,A160) at 184: the file ends within an element: want 12 bytes, 9 are left"},
		{"a cut in a value", explicitFile(name[:10]), dicom.ErrTruncated, "(0010,0010) at 172: the file ends within a value: 4 bytes, 2 are left"},
		{"a cut in pixel data", explicitFile(name, head(tag.PixelData, vr.OW, 3<<30), make([]byte, 100)), dicom.ErrTruncated, "(7FE0,0010) at 184: the file ends within a value: 3,221,225,472 bytes, 100 are left"},
		{"a cut in an item", explicitFile(head(tag.ReferencedImageSequence, vr.SQ, undefined), item(name)[:12]), dicom.ErrTruncated, "(0008,1140)[1] at 184: the file ends within an item: 12 bytes, 4 are left"},
		{"a sequence without its end", explicitFile(head(tag.ReferencedImageSequence, vr.SQ, undefined), openItem(name)), dicom.ErrTruncated, "(0008,1140) at 212: a sequence of undefined length has no delimiter at its end"},
		{"an item without its end", explicitFile(head(tag.ReferencedImageSequence, vr.SQ, undefined), join(leTag(tag.Item), le32(undefined), name)), dicom.ErrTruncated, "(0008,1140)[1] at 204: an item of undefined length has no delimiter at its end"},
		{"a value past its sequence", inSequence(head(tag.ReferencedSOPInstanceUID, vr.UI, 20)), dicom.ErrMalformed, "(0008,1140)[1] > (0008,1155) at 192: value runs past its sequence: 20 bytes, 0 are left"},
		{"an item past its sequence", explicitFile(explicit(tag.ReferencedImageSequence, vr.SQ, string(join(leTag(tag.Item), le32(12)))), name), dicom.ErrMalformed, "(0008,1140)[1] at 184: item runs past its sequence: 12 bytes, 0 are left"},
		{"a header past its sequence", inSequence(name[:6]), dicom.ErrMalformed, "(0008,1140)[1] at 192: element runs past its sequence: want 8 bytes, 6 are left"},
		{"no item in a sequence", explicitFile(explicit(tag.ReferencedImageSequence, vr.SQ, string(name))), dicom.ErrMalformed, "(0008,1140) at 184: (0010,0010) where an item should be: want (FFFE,E000)"},
		{"an item where an element should be", explicitFile(name, item(name)), dicom.ErrMalformed, "(FFFE,E000) at 184: a delimiter or item where an element should be"},
		{"undefined length of a text", explicitFile(head(tag.TextValue, vr.UT, undefined), closeSequence()), dicom.ErrMalformed, "(0040,A160) at 172: undefined length with VR UT: want SQ, UN, OB or OW"},
		{"pixel data without its end", explicitFile(pixels, item(), item([]byte("ab"))), dicom.ErrTruncated, "(7FE0,0010) at 202: encapsulated pixel data has no delimiter at its end"},
		{"a cut in a fragment", explicitFile(pixels, item(), item([]byte("ab"))[:9]), dicom.ErrTruncated, "(7FE0,0010) at 192: the file ends within a fragment: 2 bytes, 1 are left"},
		{"something else among fragments", explicitFile(pixels, item(), name), dicom.ErrMalformed, "(7FE0,0010) at 192: (0010,0010) within pixel data: want a fragment (FFFE,E000) of defined length"},
		{"no deflate stream", part10(uid.DeflatedLE, []byte("\xff\xff\xff\xff")), dicom.ErrMalformed, "at 174: the data set is no deflate stream"},
		{"a cut deflate stream", part10(uid.DeflatedLE, deflate(join(name, repeat(name, 50)))[:10]), dicom.ErrTruncated, "at 174: the file ends within the deflated data set"},
		{"an unknown syntax of no known form", part10("1.2.3", []byte("\x99\x99\x99\x99\x99\x99\x99\x99")), dicom.ErrSyntax, "at 158: the file's transfer syntax is not in PS3.6, and its data set begins with no element"},
		{"no syntax and no known form", join(make([]byte, 128), []byte("DICM"), explicit(0x00020000, vr.UL, string(le32(0))), []byte("\x99\x99\x99\x99\x99\x99\x99\x99")), dicom.ErrMalformed, "at 144: the data set begins with no element, and no transfer syntax is stated"},
		{"a cut in the header's header", explicitFile()[:150], dicom.ErrTruncated, "at 144: the file ends within an element: want 8 bytes, 6 are left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := parse(c.file)
			if f != nil || !errors.Is(err, c.want) {
				t.Fatalf("got %v, %v, want %v", f, err, c.want)
			}
			if err.Error() != c.text {
				t.Errorf("error is\n%s, want\n%s", err, c.text)
			}
		})
	}
}
