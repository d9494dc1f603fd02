package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filmroom/dicom"
	"filmroom/dicom/phantom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
)

// folderOf has two small images, and a note that is none.
func folderOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := phantom.Study{Slices: 2, Size: 16, Patient: "Secretone^Ada", PatientID: "SECRET-1"}
	for i := range s.Files() {
		var b bytes.Buffer
		if err := s.Write(i, &b); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("secret%d.dcm", i)), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func ran(t *testing.T, want int, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if got := program(args, strings.NewReader(""), &out, &out); got != want {
		t.Fatalf("%v ended with %d, want %d: %s", args, got, want, out.String())
	}
	return out.String()
}

// everything is what stands in a folder, by name.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s\n%s\n", strings.TrimPrefix(path, dir), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestAFolderIsDeidentifiedFromTheCommandLine(t *testing.T) {
	t.Parallel()
	in, to := folderOf(t), t.TempDir()
	first, second, key, mapping := filepath.Join(to, "a"), filepath.Join(to, "b"), filepath.Join(to, "key"), filepath.Join(to, "who.csv")
	changes := filepath.Join(to, "changes.jsonl")
	ran(t, 0, "dicom", "deidentify", in, first, "--key", key, "--mapping", mapping, "--option", "shiftDates", "--report", changes)
	ran(t, 0, "dicom", "deidentify", in, second, "--key", key, "--option", "shiftDates")
	all := everything(t, first)
	if strings.Contains(strings.ToUpper(all), "SECRET") || !strings.Contains(all, filepath.FromSlash("/P0001/ST001/SE001/IM000002.dcm")) {
		t.Error("what was written tells a name, or has other names than numbers")
	}
	if all != everything(t, second) {
		t.Error("two runs under one key differ")
	}
	if who, err := os.ReadFile(mapping); err != nil || strings.Count(string(who), "SECRET-1") != 2 {
		t.Errorf("who is who: %q, %v", who, err)
	}
	const row = `{"file":"P0001/ST001/SE001/IM000002.dcm","tag":"(0010,0010)","action":"pseudonymised"}` + "\n"
	if told, err := os.ReadFile(changes); err != nil || !strings.Contains(string(told), row) || strings.Contains(string(told), "SECRET") {
		t.Errorf("what was changed: %s, %v", told, err)
	}
	ran(t, 0, "dicom", "verify", first)
	ran(t, 2, "dicom", "deidentify", in, filepath.Join(to, "d"), "--report", changes)
	ran(t, 2, "dicom", "deidentify", in, first) // it is there already
	ran(t, 2, "dicom", "deidentify", in, filepath.Join(in, "x"))
	ran(t, 2, "dicom", "deidentify", in, filepath.Join(to, "c"), "--option", "unheardOf")
}

func TestWhatCannotBeReadStaysBehindAndIsNamed(t *testing.T) {
	t.Parallel()
	in, to := folderOf(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(in, "note.txt"), []byte("no image"), 0o600); err != nil {
		t.Fatal(err)
	}
	said := ran(t, 1, "dicom", "deidentify", in, filepath.Join(to, "out"))
	if !strings.Contains(said, "note.txt: left out") || !strings.Contains(said, "2 of 3 files written, 1 left out") {
		t.Errorf("said %q", said)
	}
	if said = ran(t, 1, "dicom", "verify", in); !strings.Contains(said, "note.txt: ") || !strings.Contains(said, "1 of 3 files") {
		t.Errorf("said %q", said)
	}
	ran(t, 0, "dicom", "deidentify", filepath.Join(in, "secret0.dcm"), filepath.Join(to, "one.dcm"))
	ran(t, 1, "dicom", "deidentify", filepath.Join(in, "note.txt"), filepath.Join(to, "two.dcm"))
	left, err := os.ReadDir(to)
	if err != nil || len(left) != 2 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestAPhantomIsWrittenForWhoHasNoImagesAtHand(t *testing.T) {
	t.Parallel()
	to := t.TempDir()
	study := filepath.Join(to, "study")
	ran(t, 0, "dicom", "phantom", study, "--slices", "2", "--series", "2")
	if said := ran(t, 0, "dicom", "verify", study); said != "4 files, all sound\n" {
		t.Errorf("said %q", said)
	}
	ran(t, 1, "dicom", "phantom", study) // it is there already
	ran(t, 2, "dicom", "phantom", filepath.Join(to, "none"), "--slices", "0")
}

// TestAStudyThatNamesTooManyStaysBehind: what cannot all be searched for cannot be taken out.
func TestAStudyThatNamesTooManyStaysBehind(t *testing.T) {
	t.Parallel()
	in, to := folderOf(t), t.TempDir()
	numbers := make([]string, 1100)
	for i := range numbers {
		numbers[i] = fmt.Sprint("N", i)
	}
	d := phantom.Study{Slices: 2, Size: 16, Patient: "Secretone^Ada", PatientID: "SECRET-1"}.Dataset(1)
	d.Set(dicom.Text(tag.OtherPatientIDs, numbers...))
	var b bytes.Buffer
	if err := dicom.Write(&b, dicom.NewFile(d, uid.ExplicitLE)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in, "secret1.dcm"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	said := ran(t, 1, "dicom", "deidentify", in, filepath.Join(to, "out"))
	if !strings.Contains(said, "names more people and numbers") || !strings.Contains(said, "0 of 2 files written, 2 left out") {
		t.Errorf("said %q", said)
	}
}
