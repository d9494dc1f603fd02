package dicom_test

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// names are the examples of PS3.5 Annexes H to K and of other test sets, with their bytes.
var names = []struct {
	charset, text, bytes string
}{
	{`\ISO 2022 IR 87`, "Yamada^Tarou=山田^太郎=やまだ^たろう",
		"59616d6164615e5461726f753d1b24423b3345441b28425e1b244242404f3a1b28423d1b24422464245e24401b28425e1b2442243f246d24261b2842"},
	{`ISO 2022 IR 13\ISO 2022 IR 87`, "ﾔﾏﾀﾞ^ﾀﾛｳ=山田^太郎=やまだ^たろう",
		"d4cfc0de5ec0dbb33d1b24423b3345441b284a5e1b244242404f3a1b284a3d1b24422464245e24401b284a5e1b2442243f246d24261b284a"},
	{`\ISO 2022 IR 149`, "Hong^Gildong=洪^吉洞=홍^길동",
		"486f6e675e47696c646f6e673d1b242943fbf35e1b242943d1ced4d73d1b242943c8ab5e1b242943b1e6b5bf"},
	{`\ISO 2022 IR 58`, "Zhang^XiaoDong=张^小东", "5a68616e675e5869616f446f6e673d1b242941d5c55e1b242941d0a1b6ab"},
	{`\ISO 2022 IR 159`, "丂", "1b24284430211b2842"},
	{`ISO 2022 IR 100\ISO 2022 IR 126`, "é^λ^é", "e95e1b2d46eb5ee9"},
	{`ISO 2022 IR 13`, "‾ｱ", "7eb1"},
	{"ISO_IR 192", "Wang^XiaoDong=王^小東", "57616e675e5869616f446f6e673de78e8b5ee5b08fe69db1"},
	{"GB18030", "Wang^XiaoDong=王^小东", "57616e675e5869616f446f6e673dcdf55ed0a1b6ab"},
	{"GBK", "王^小东", "cdf55ed0a1b6ab"},
	{"ISO_IR 100", "Buc^Jérôme", "4275635e4ae972f46d65"},
	{"ISO_IR 101", "Wałęsa", "5761b3ea7361"},
	{"ISO_IR 109", "ħ", "b1"},
	{"ISO_IR 110", "ķ", "f3"},
	{"ISO_IR 126", "Διονυσιος", "c4e9efedf5f3e9eff2"},
	{"ISO_IR 127", "قباني^لنزار", "e2c8c7e6ea5ee4e6d2c7d1"},
	{"ISO_IR 138", "שרון^דבורה", "f9f8e5ef5ee3e1e5f8e4"},
	{"ISO_IR 144", "Люкceмбypг", "bbeeda6365dcd17970d3"},
	{"ISO_IR 148", "Çavuşoğlu", "c7617675fe6ff06c75"},
	{"ISO_IR 203", "œ", "bd"},
	{"ISO_IR 166", "นาย", "b9d2c2"},
	{"ISO_IR 13", "ﾔﾏﾀﾞ^ﾀﾛｳ", "d4cfc0de5ec0dbb3"},
	{"ISO_IR 6", "ASCII", "4153434949"},
	{"", "ASCII", "4153434949"},
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNamesInEveryCharacterSetOfTheStandard(t *testing.T) {
	t.Parallel()
	for _, c := range names {
		t.Run(c.charset+" "+c.text, func(t *testing.T) {
			t.Parallel()
			cs, err := dicom.ParseCharset(strings.Split(c.charset, `\`)...)
			if err != nil {
				t.Fatal(err)
			}
			want := unhex(t, c.bytes)
			if got := cs.Decode(vr.PN, want); got != c.text {
				t.Errorf("decoded %q, want %q", got, c.text)
			}
			if got, err := cs.Encode(vr.PN, c.text); err != nil || string(got) != string(want) {
				t.Errorf("encoded %x, %v, want %x", got, err, want)
			}
		})
	}
}

// The table of PS3.3 section C.12.1.1.2 lists each term, and the escape sequences that go with it.
func TestEveryTermOfTheStandardIsKnown(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join(shared(), "dicom-standard", "charsets.tsv"))
	if os.IsNotExist(err) {
		t.Skip("the standard's tables are not beside the repository: set FILMROOM_SHARED to the folder that has dicom-standard")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")[2:] {
		c := strings.Split(line, "\t")
		for _, term := range []string{c[0], c[2]} {
			if _, err := dicom.ParseCharset(term); err != nil && !strings.HasPrefix(term, "(") {
				t.Errorf("%s: %v", term, err)
			}
		}
		for _, escape := range strings.Split(c[3], ",") {
			escape, _, _ = strings.Cut(escape, " (")
			if b := unhex(t, escape); len(b) > 0 {
				cs, _ := dicom.ParseCharset("ISO 2022 IR 6")
				if got := cs.Decode(vr.LO, append(b, " "...)); got != " " {
					t.Errorf("%s: the escape sequence %s is not known: %q", c[1], escape, got)
				}
			}
		}
	}
}

func TestMisspeltCharacterSetsAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, term := range []string{"ISO_IR 100", "ISO IR 100", "ISO-IR 100", "ISO_IR_100", "iso_ir 100", "ISO 2022 IR 100"} {
		cs, err := dicom.ParseCharset(term)
		if got := cs.Decode(vr.LO, []byte{0xe9}); err != nil || got != "é" {
			t.Errorf("%s: %q, %v", term, got, err)
		}
	}
	for _, term := range []string{"ISO_IR 192", "UTF-8", "utf8"} {
		if cs, err := dicom.ParseCharset(term); err != nil || cs.Decode(vr.LO, []byte("é")) != "é" {
			t.Errorf("%s: %v", term, err)
		}
	}
	for _, terms := range [][]string{{"ISO_IR 192", "QUUX"}, {"GBK", "山田"}, {"山田"}, make([]string, 33), {strings.Repeat("x", 1000)}} {
		if _, err := dicom.ParseCharset(terms...); !errors.Is(err, dicom.ErrValue) {
			t.Errorf("%d terms: %v, want ErrValue", len(terms), err)
		}
	}
	if _, err := dicom.ParseCharset("ISO_IR 999"); !errors.Is(err, dicom.ErrValue) {
		t.Errorf("an unknown term: %v, want ErrValue", err)
	}
}

func TestTextThatFitsNoCharacterSetIsGuessedOrMarked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, charset, bytes, want string }{
		{"no set, UTF-8", "", "c3a9", "é"},
		{"no set, Latin-1", "", "e9", "é"},
		{"an unknown set", "KLINGON", "e9", "é"},
		{"not UTF-8", "ISO_IR 192", "41e9", "A\uFFFD"},
		{"an unknown escape", `\ISO 2022 IR 87`, "1b5a41", "\uFFFDZA"},
		{"half a character", `\ISO 2022 IR 87`, "1b24423b", "\uFFFD"},
		{"no such character", `\ISO 2022 IR 87`, "1b24427e7e1b2842", "\uFFFD"},
		{"no katakana", "ISO_IR 13", "ff", "\uFFFD"},
		{"a set that was not announced", "ISO_IR 100", "1b24423b331b2842", "山"},
		{"a set not designated again behind a delimiter", `\ISO 2022 IR 149`, "1b242943fbf35efbf3", "洪^洪"},
		{"a line's end within two-byte text", `\ISO 2022 IR 87`, "1b24423b330a41", "山\nA"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cs, _ := dicom.ParseCharset(strings.Split(c.charset, `\`)...)
			if got := cs.Decode(vr.PN, unhex(t, c.bytes)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestTextThatTheCharacterSetLacksIsNotWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ charset, text string }{
		{"", "é"}, {"ISO_IR 100", "山"}, {"GBK", "\U0001F600"}, {"GB18030", "\ue38b"}, {`\ISO 2022 IR 87`, "é"}, {"ISO_IR 192", "\xff"}, {"ISO_IR 100", "\x1b"},
	} {
		cs, _ := dicom.ParseCharset(strings.Split(c.charset, `\`)...)
		if b, err := cs.Encode(vr.LO, c.text); !errors.Is(err, dicom.ErrCharset) {
			t.Errorf("%q in %q: %x, %v, want ErrCharset", c.text, c.charset, b, err)
		}
	}
	utf8, _ := dicom.ParseCharset("ISO_IR 192")
	if _, err := utf8.Encode(vr.CS, "é"); !errors.Is(err, dicom.ErrCharset) {
		t.Errorf("a code string beyond ASCII: %v, want ErrCharset", err)
	}
}

// A second byte of 5C must not be taken for the delimiter of values.
func TestABackslashWithinACharacterDelimitsNothing(t *testing.T) {
	t.Parallel()
	file := part10(uid.ExplicitLE, explicit(tag.SpecificCharacterSet, vr.CS, "GB18030 "), explicit(tag.OtherPatientNames, vr.PN, "\x81\x5c\\B"))
	if got, _ := mustParse(t, file).Dataset.Strings(tag.OtherPatientNames); len(got) != 2 || got[1] != "B" {
		t.Errorf("values %q, want two", got)
	}
}

func TestAnItemInheritsItsCharacterSetUnlessItHasItsOwn(t *testing.T) {
	t.Parallel()
	name := explicit(tag.PatientName, vr.PN, "\xe9 ")
	file := explicitFile(
		explicit(tag.SpecificCharacterSet, vr.CS, "ISO_IR 100"),
		explicit(tag.ReferencedPatientSequence, vr.SQ, string(join(
			item(name),
			item(explicit(tag.SpecificCharacterSet, vr.CS, "ISO_IR 126"), name),
			item(explicit(tag.SpecificCharacterSet, vr.CS, ""), explicit(tag.PatientName, vr.PN, "\xc3\xa9")),
		))))
	for i, item := range mustParse(t, file).Dataset.Items(tag.ReferencedPatientSequence) {
		want := []string{"é", "ι", "é"}[i]
		if got, _ := item.String(tag.PatientName); got != want {
			t.Errorf("item %d: %q, want %q", i+1, got, want)
		}
	}
}

func TestSetStringEncodesInTheDataSetsCharacterSet(t *testing.T) {
	t.Parallel()
	for _, c := range names {
		d := dicom.NewDataset(dicom.Text(tag.SpecificCharacterSet, c.charset))
		inner := dicom.NewDataset()
		d.SetItems(tag.ReferencedPatientSequence, inner)
		if err := inner.SetString(tag.PatientName, c.text); err != nil {
			t.Errorf("%s: %v", c.charset, err)
		}
		if got, _ := inner.String(tag.PatientName); got != c.text {
			t.Errorf("%s: %q, want %q", c.charset, got, c.text)
		}
	}
	if err := dicom.NewDataset().SetString(tag.PatientName, "é"); !errors.Is(err, dicom.ErrCharset) {
		t.Errorf("without a character set: %v, want ErrCharset", err)
	}
}
