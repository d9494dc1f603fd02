// Package e2e_test uses the desk as people do: it builds the program, starts it on a port of its own in an
// empty directory, drives it with a browser and over HTTP, kills it hard, and starts it again. It imports
// nothing of what it tests.
//
//	E2E=1 go test ./e2e            all of it; needs chromium, and `make assets` first
//	SOAK=1 go test -run Soak ./e2e a hundred kills
//	BENCH=1 go test -run Bench -v ./e2e
//
// TEST_MONGODB_URI, when set, runs the desks on that server, each in a database of its own.
package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// scratch holds the binary and what all tests share; it is removed at the end.
var scratch string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if scratch, err = os.MkdirTemp("", "filmroom-e2e-*"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(scratch)
		defer closeBrowser()
		return m.Run()
	}())
}

// needs skips a test unless the environment variable turns it on.
func needs(t *testing.T, variable string) {
	t.Helper()
	if os.Getenv(variable) == "" {
		t.Skipf("set %s=1 to run it, or use make (it builds the program and drives a browser)", variable)
	}
}

// build makes the program, once.
var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "filmroom")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	if _, err := os.Stat("../static/dist/app.js"); err != nil {
		return "", fmt.Errorf("the pages' scripts are not built, run make assets: %w", err)
	}
	return path, nil
})

// command runs the program to its end, on the desk's data directory.
func (d *desk) command(in string, args ...string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), d.binary, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = d.env, d.dir, bytes.NewReader([]byte(in))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("filmroom %q: %v\n%s", args, err, stderr.Bytes())
	}
	return string(bytes.TrimSpace(out))
}

// shared is where sample files are, beside the repository.
func shared() string {
	if dir := os.Getenv("FILMROOM_SHARED"); dir != "" {
		return dir
	}
	return "../../shared"
}
