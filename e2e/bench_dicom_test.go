package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// benchDICOM measures the command line on 500 CT files of half a megabyte, side by side with Debian's tools where
// they are installed. Each has one core; the median of three runs counts.
func benchDICOM(t *testing.T, tab *table) {
	const images = 500
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	if err := os.Mkdir(in, 0o700); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range images {
		name := filepath.Join(in, fmt.Sprintf("%04d.dcm", i))
		if err := os.WriteFile(name, ct{study: 1, series: 1, n: i + 1, pixels: 512}.bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	out := filepath.Join(dir, "out")
	row := func(what string, args ...string) {
		if _, err := exec.LookPath(args[0]); err != nil {
			tab.add(what, "not installed")
			return
		}
		tab.add(what, "%.0f files/s", images/timed(t, out, args).Seconds())
	}
	row("de-identify 500 CT files, one core", binary, "dicom", "deidentify", in, out, "--workers", "1")
	if cert, err := certificate(dir); err == nil {
		row("the same with gdcmanon", "gdcmanon", "-e", "-c", cert, "-i", in, "-o", out)
	} else {
		t.Logf("no certificate for gdcmanon: %v", err)
	}
	row("dump them", append([]string{binary, "dicom", "dump"}, names...)...)
	row("the same with dcmdump", append([]string{"dcmdump"}, names...)...)
}

// timed runs a command three times on one core and returns the median.
func timed(t *testing.T, out string, args []string) time.Duration {
	t.Helper()
	var took []time.Duration
	for range 3 {
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(args[0], args[1:]...)
		if pinned, err := exec.LookPath("taskset"); err == nil {
			c = exec.Command(pinned, append([]string{"-c", "0"}, args...)...)
		}
		c.Env = append(os.Environ(), "GOMAXPROCS=1")
		began := time.Now()
		if said, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%.500s", args[0], err, said)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[1]
}

// certificate makes what gdcmanon asks for: it keeps what it removes, encrypted.
func certificate(dir string) (string, error) {
	path := filepath.Join(dir, "cert.pem")
	return path, exec.Command("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=bench", "-keyout", filepath.Join(dir, "key.pem"), "-out", path).Run()
}
