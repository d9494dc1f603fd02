package deid

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"filmroom/dicom"
)

// TestDcmtkReadsWhatLeaves: every sample that may leave, under three sets of options, is a DICOM file to other eyes.
func TestDcmtkReadsWhatLeaves(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"dcmftest", "dcmdump"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: apt-get install dcmtk", program)
		}
	}
	s := someone()
	s.PixelsReviewed = true
	var all []string
	dir := t.TempDir()
	for _, o := range []Options{{}, {RetainUIDs: true, RetainDevice: true, RetainFullDates: true, RetainSafePrivate: true},
		{ShiftDates: true, CleanDescriptors: true, CleanStructuredContent: true, CleanGraphics: true}} {
		p := plan(t, o)
		eachSample(t, func(_ string, b []byte) {
			f, err := dicom.Parse(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				return
			}
			var w bytes.Buffer
			if _, err := p.Apply(&w, f, s); err != nil {
				return
			}
			name := filepath.Join(dir, strconv.Itoa(len(all))+".dcm")
			all = append(all, name)
			if err := os.WriteFile(name, w.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, program := range [][]string{{"dcmftest"}, {"dcmdump", "-q", "-M", "+E"}} {
		if out, err := exec.CommandContext(t.Context(), program[0], append(program[1:], all...)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", program[0], err, refusals(out))
		}
	}
	if len(all) < 3*140 {
		t.Errorf("only %d files left", len(all))
	}
}

// refusals are the lines of a program's output that are no acceptance.
func refusals(out []byte) []byte {
	var lines [][]byte
	for line := range bytes.Lines(out) {
		if bytes.HasPrefix(line, []byte("no:")) || bytes.HasPrefix(line, []byte("E:")) {
			lines = append(lines, line)
		}
	}
	return bytes.Join(lines[:min(len(lines), 20)], nil)
}
