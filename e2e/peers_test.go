package e2e_test

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"testing"
)

var peerRow = regexp.MustCompile(`(?m)^\| (.+?) \| (.+) \|$`)

// TestBenchPeers has other task engines do the work of TestBench's engine rows. They are a module of their own;
// where it cannot be built the table says so.
func TestBenchPeers(t *testing.T) {
	needs(t, "BENCH")
	tab := &table{}
	out, err := exec.CommandContext(t.Context(), "go", "-C", "peers", "run", ".").Output()
	for _, m := range peerRow.FindAllSubmatch(out, -1) {
		tab.add(string(m[1]), "%s", m[2])
	}
	if err != nil {
		tab.add("other task engines", "left out: %v", err)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Logf("peers: %s", exit.Stderr)
	}
	fmt.Print(tab)
}
