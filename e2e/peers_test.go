package e2e_test

import (
	"errors"
	"os/exec"
	"regexp"
	"testing"
)

// What the engine is measured at beside its peers. Rows of one measure stand together, named "measure: engine".
const (
	ours         = ": filmroom (SQLite)"
	fewCallers   = "tasks submitted one by one from 8 callers"
	together     = "tasks submitted together, 1000 at a time or from 256 callers"
	drained      = "tasks that do nothing, drained"
	startsMiddle = "submit to start, p50"
	startsLate   = "submit to start, p99"
)

var engineFigures = []figure{
	{fewCallers + ours, "./sqlite", "BenchmarkEngineSubmit8Callers", "tasks/s", "2s"},
	{together + ours, "./sqlite", "BenchmarkEngineSubmit256Callers", "tasks/s", "2s"},
	{drained + ours, "./sqlite", "BenchmarkEngineDrain", "tasks/s", "2s"},
	{"tasks that do nothing, drained beside 1,000,000 finished tasks (SQLite)", "./sqlite", "BenchmarkEngineBesideAMillion/drain", "tasks/s", "2s"},
	{startsMiddle + ours, "./sqlite", "BenchmarkEnginePickup", "p50-ms", "2s"},
	{startsLate + ours, "./sqlite", "BenchmarkEnginePickup", "p99-ms", "2s"},
}

func benchEngine(t *testing.T, tab *table) {
	for _, f := range engineFigures {
		tab.figure(t, f)
	}
}

var peerRow = regexp.MustCompile(`(?m)^\| (.+?) \| (.+) \|$`)

// benchPeers has other task engines do the work of the engine's rows. They are a module of their own; where it
// cannot be built the table says so.
func benchPeers(t *testing.T, tab *table) {
	out, err := exec.CommandContext(t.Context(), "go", "-C", "peers", "run", ".").Output()
	for _, m := range peerRow.FindAllSubmatch(out, -1) {
		tab.beside(string(m[1]), string(m[2]))
	}
	if err != nil {
		tab.add("other task engines", "left out: %v", err)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Logf("peers: %s", exit.Stderr)
	}
}
