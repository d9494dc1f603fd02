package dicom_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
)

// dcmtk skips the test where the program is not installed.
func dcmtk(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed: apt-get install dcmtk", program)
	}
}

// rewritten is a sample as this package writes it, in a temporary file.
func rewritten(t *testing.T, f *dicom.File) string {
	t.Helper()
	var b bytes.Buffer
	if err := dicom.Write(&b, f); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "written.dcm")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestWrittenSamplesAreAcceptedByDcmdumpAndDcmftest(t *testing.T) {
	t.Parallel()
	dcmtk(t, "dcmdump")
	dcmtk(t, "dcmftest")
	for _, s := range samples(t) {
		if s.expect == "refuse" || s.expect == "no-crash" {
			continue
		}
		t.Run(s.path, func(t *testing.T) {
			t.Parallel()
			f, err := parse(s.read(t))
			if err != nil {
				t.Skip("refused")
			}
			accepted(t, rewritten(t, f))
		})
	}
}

func TestWhatThisPackageMakesIsAcceptedInEverySyntax(t *testing.T) {
	t.Parallel()
	dcmtk(t, "dcmdump")
	dcmtk(t, "dcmftest")
	for _, syntax := range []string{uid.ExplicitLE, uid.ImplicitLE, uid.ExplicitBE, uid.DeflatedLE} {
		t.Run(uid.Name(syntax), func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "written.dcm")
			if err := os.WriteFile(name, write(t, dicom.NewFile(everything(t), syntax), dicom.As(syntax)), 0o600); err != nil {
				t.Fatal(err)
			}
			accepted(t, name)
		})
	}
}

// accepted holds a file against dcmftest and dcmdump.
func accepted(t *testing.T, name string) {
	t.Helper()
	if out, err := exec.Command("dcmftest", name).CombinedOutput(); err != nil || !bytes.HasPrefix(out, []byte("yes:")) {
		t.Errorf("dcmftest: %v: %s", err, out)
	}
	if out, err := exec.Command("dcmdump", "-q", "+L", name).CombinedOutput(); err != nil {
		t.Errorf("dcmdump: %v: %.500s", err, out)
	}
}

func TestJSONIsWhatDcm2jsonMakesOfTheSameFile(t *testing.T) {
	t.Parallel()
	dcmtk(t, "dcm2json")
	for _, s := range samples(t) {
		if s.expect != "import" && s.expect != "parse-only" {
			continue
		}
		t.Run(s.path, func(t *testing.T) {
			t.Parallel()
			f, err := parse(s.read(t), dicom.KeepUN())
			if err != nil {
				t.Fatal(err)
			}
			if hasCharsetInItem(f.Dataset) {
				t.Skip("dcm2json does not convert text in items that have a character set of their own")
			}
			name := filepath.Join(shared(), "dicom-samples", s.path)
			pixels, ok := f.Dataset.Get(tag.PixelData)
			if compressed := ok && pixels.Fragments != nil; compressed || len(f.Warnings) > 0 {
				// dcm2json has no form for compressed pixel data, and mends what is broken in its own ways.
				if compressed {
					f.Dataset.Remove(tag.PixelData)
				}
				name = rewritten(t, f)
				f = reread(t, name)
			}
			theirs, err := exec.Command("dcm2json", "-q", name).Output()
			if err != nil {
				t.Skip("dcm2json cannot convert this file")
			}
			var ours bytes.Buffer
			if err := dicom.WriteJSON(&ours, f.Dataset, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(model(t, theirs), model(t, ours.Bytes())); diff != "" {
				t.Errorf("JSON (-dcm2json +ours):\n%s", diff)
			}
		})
	}
}

func hasCharsetInItem(d *dicom.Dataset) bool {
	for n := range d.Walk() {
		if n.Element.Tag == tag.SpecificCharacterSet && len(n.Path) > 1 {
			return true
		}
	}
	return false
}

func reread(t *testing.T, name string) *dicom.File {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parse(b, dicom.KeepUN())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// model reads JSON for comparison. Numbers of VR FL have only so many digits that count, and dcm2json
// is wrong in the last one of FD.
func model(t *testing.T, b []byte) any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	simplify(v)
	return v
}

func simplify(dataset map[string]any) {
	for _, e := range dataset {
		element := e.(map[string]any)
		values, _ := element["Value"].([]any)
		for i, v := range values {
			switch v := v.(type) {
			case float64:
				if element["vr"] == "FL" {
					values[i] = float32(v)
				} else {
					values[i] = strconv.FormatFloat(v, 'g', 15, 64)
				}
			case map[string]any:
				if element["vr"] == "SQ" {
					simplify(v)
				}
			}
		}
	}
}
