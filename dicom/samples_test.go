package dicom_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// sample is a row of the samples' index: facts that other programs agree on.
type sample struct {
	path, expect string
	columns      map[string]string
}

func (s sample) read(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(shared(), "dicom-samples", s.path))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// shared is the folder of samples and tables, beside the repository.
func shared() string {
	if dir := os.Getenv("FILMROOM_SHARED"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "shared")
}

func hasSamples() bool {
	_, err := os.Stat(filepath.Join(shared(), "dicom-samples", "index.tsv"))
	return err == nil
}

// samples reads the index, or skips the test where the samples are not.
func samples(t testing.TB) []sample {
	t.Helper()
	if !hasSamples() {
		t.Skip("the DICOM samples are not beside the repository: set FILMROOM_SHARED to the folder that has dicom-samples")
	}
	b, err := os.ReadFile(filepath.Join(shared(), "dicom-samples", "index.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	names := strings.Split(lines[0], "\t")
	var list []sample
	for _, line := range lines[1:] {
		s := sample{columns: map[string]string{}}
		for i, cell := range strings.Split(line, "\t") {
			s.columns[names[i]] = cell
		}
		s.path, s.expect = s.columns["path"], s.columns["expect"]
		list = append(list, s)
	}
	return list
}

func parse(b []byte, opts ...dicom.Option) (*dicom.File, error) {
	return dicom.Parse(bytes.NewReader(b), int64(len(b)), opts...)
}

func TestEverySampleIsReadOrRefusedAsItShouldBe(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t) {
		t.Run(s.path, func(t *testing.T) {
			t.Parallel()
			f, err := parse(s.read(t))
			switch s.expect {
			case "import", "parse-only", "skip-dicomdir":
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				checkIdentity(t, s, f)
			case "refuse":
				if err == nil {
					t.Error("read without an error, want a refusal")
				}
			}
			if err != nil && f != nil {
				t.Error("half a file came back with the error")
			}
		})
	}
}

// checkIdentity holds what an import keeps of a file against what the index expects of it.
func checkIdentity(t *testing.T, s sample, f *dicom.File) {
	t.Helper()
	complete := true
	for _, tg := range []dicom.Tag{tag.SOPInstanceUID, tag.StudyInstanceUID, tag.SeriesInstanceUID} {
		if _, ok := f.Dataset.UID(tg); !ok {
			complete = false
		}
	}
	if want := s.expect == "import"; complete != want {
		t.Errorf("has all three UIDs: %t, want %t", complete, want)
	}
	if isDir := f.SOPClass() == uid.MediaStorageDirectory; isDir != (s.expect == "skip-dicomdir") {
		t.Errorf("is a DICOMDIR: %t", isDir)
	}
}

func TestSamplesHoldWhatOtherProgramsFindInThem(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t) {
		if s.expect == "no-crash" || s.expect == "refuse" || s.expect == "import-or-refuse" {
			continue // the index has what one program made of it, not what is right
		}
		t.Run(s.path, func(t *testing.T) {
			t.Parallel()
			f, err := parse(s.read(t))
			if err != nil {
				t.Fatal(err)
			}
			name, _ := f.Dataset.PersonName(tag.PatientName)
			facts := map[string]string{"patient_name": name.String(), "transfer_syntax": f.TransferSyntax, "sop_class": ""}
			if s.columns["transfer_syntax"] == "" {
				delete(facts, "transfer_syntax") // the file states none; ours is a guess
			}
			for column, tg := range map[string]dicom.Tag{
				"sop_class": tag.SOPClassUID, "sop_instance_uid": tag.SOPInstanceUID, "study_uid": tag.StudyInstanceUID, "series_uid": tag.SeriesInstanceUID,
				"patient_id": tag.PatientID, "modality": tag.Modality,
			} {
				facts[column], _ = f.Dataset.String(tg)
			}
			count(f, facts)
			for column, got := range facts {
				if want := strings.TrimRight(s.columns[column], "=^"); strings.TrimRight(got, "^") != want {
					t.Errorf("%s is %q, want %q", column, got, want)
				}
			}
		})
	}
}

// count adds the numbers of the index to the facts.
func count(f *dicom.File, facts map[string]string) {
	elements, private, depth, fragments, open, odd := 0, 0, 0, 0, 0, 0
	for n := range f.Dataset.Walk() {
		elements++
		if n.Element.Tag.IsPrivate() {
			private++
		}
		if len(n.Element.Items) > 0 {
			depth = max(depth, len(n.Path))
		}
		if n.Element.VR == vr.SQ && n.Element.Undefined {
			open++
		}
		if n.Element.Len()%2 == 1 {
			odd++
		}
		if n.Element.Fragments != nil {
			fragments += 1 + n.Element.Fragments.Len() // the index counts the offset table too
		}
	}
	for column, n := range map[string]int{"elements": elements, "private": private, "depth": depth, "fragments": fragments, "undefined_sequences": open, "odd_length": odd} {
		facts[column] = strconv.Itoa(n)
	}
}

// canon is everything a data set holds, as text, to compare two of them.
func canon(d *dicom.Dataset) string {
	var b strings.Builder
	for n := range d.Walk() {
		e := n.Element
		fmt.Fprintf(&b, "%v %v undefined=%t", n.Path, e.VR, e.Undefined)
		if e.Fragments != nil {
			fmt.Fprintf(&b, " table %x", e.Fragments.Table)
			for _, part := range e.Fragments.All() {
				fmt.Fprintf(&b, " %x", read(part))
			}
		}
		for _, item := range e.Items {
			fmt.Fprintf(&b, " item %t", item.Undefined)
		}
		fmt.Fprintf(&b, " %x\n", read(e.Open()))
	}
	return b.String()
}

func read(r io.Reader) []byte {
	b, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return b
}
