package e2e_test

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// patience is how long anything may take before a test gives up: long, because it is only waited for in
// full when something is broken.
const patience = 90 * time.Second

// A desk is a running program with a data directory of its own.
type desk struct {
	t      *testing.T
	binary string
	dir    string // working directory; the data is in its "data"
	env    []string

	url     string // where it is reached, from its first line
	setup   string // the one-time link, when it printed one
	metrics string // where its metrics are, when it serves any
	cmd     *exec.Cmd
	ended   chan struct{} // closed when the process is gone and all its output read

	mu  sync.Mutex
	log []string // every line it ever printed
}

// settings are FILMROOM_* options of a desk, without that prefix.
type settings map[string]string

// startDesk starts a desk with an empty data directory and stops it with the test.
func startDesk(t *testing.T, extra settings) *desk {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, binary: path, dir: t.TempDir()}
	options := settings{
		"LISTEN": "127.0.0.1:0", "DATA_DIR": filepath.Join(d.dir, "data"), "LOG_FORMAT": "json", "LOG_LEVEL": "debug",
		"MIN_FREE": "64MiB", "SHUTDOWN_GRACE": "5s",
		// On a server other processes may hold leases, so a killed one's must run out first.
		"HEARTBEAT": "1s", "LEASE_TTL": "5s", "RESCUE_INTERVAL": "1s",
	}
	if uri := os.Getenv("TEST_MONGODB_URI"); uri != "" {
		options["MONGODB_URI"] = database(t, uri)
	}
	maps.Copy(options, extra)
	d.env = append(d.env, "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"), "TMPDIR="+os.TempDir())
	for name, value := range options {
		d.env = append(d.env, "FILMROOM_"+name+"="+value)
	}
	t.Cleanup(d.finish)
	d.start()
	return d
}

// database names a new database on the server and drops it after the test.
func database(t *testing.T, uri string) string {
	t.Helper()
	name := "filmroom_e2e_" + strings.ToLower(rand.Text())
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := client.Database(name).Drop(ctx); err != nil {
			t.Errorf("drop %s: %v", name, err)
		}
		client.Disconnect(ctx)
	})
	base, query, _ := strings.Cut(uri, "?")
	if query != "" {
		query = "?" + query
	}
	scheme, rest, _ := strings.Cut(base, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host + "/" + name + query
}

// start runs the program until it says where it is.
func (d *desk) start() {
	d.t.Helper()
	d.cmd = exec.Command(d.binary)
	d.cmd.Env, d.cmd.Dir = d.env, d.dir
	stderr, err := d.cmd.StderrPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.ended = make(chan struct{})
	where := make(chan string, 1)
	go d.read(stderr, where)
	select {
	case d.url = <-where:
	case <-d.ended:
		d.t.Fatalf("the desk ended before it said where it is:\n%s", d.output())
	case <-time.After(patience):
		d.t.Fatalf("the desk does not say where it is:\n%s", d.output())
	}
}

// read keeps what the program prints. The first line that is no warning holds the address.
func (d *desk) read(stderr io.Reader, where chan<- string) {
	defer close(d.ended)
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct{ URL, Setup, Address, Metrics string }
		json.Unmarshal(lines.Bytes(), &line) // what is no JSON has neither
		d.mu.Lock()
		d.log = append(d.log, lines.Text())
		d.setup, d.metrics = cmp.Or(line.Setup, d.setup), cmp.Or(line.Metrics, d.metrics)
		d.mu.Unlock()
		if line.Address != "" {
			where <- line.URL
		}
	}
	d.cmd.Wait()
}

func (d *desk) output() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.log[max(0, len(d.log)-60):], "\n")
}

// setupLink waits for the line with the one-time link.
func (d *desk) setupLink() string {
	d.t.Helper()
	var link string
	eventually(d.t, "the set-up link", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		link = d.setup
		return link != ""
	})
	return link
}

// metricsURL is where the desk said that its metrics are, before it said where it is itself.
func (d *desk) metricsURL() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.metrics
}

// kill ends the program as a power cut would.
func (d *desk) kill() {
	d.t.Helper()
	if err := d.cmd.Process.Kill(); err != nil {
		d.t.Fatal(err)
	}
	<-d.ended
}

// stop asks the program to end and wants it to do so well.
func (d *desk) stop() {
	d.t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.t.Fatal(err)
	}
	select {
	case <-d.ended:
	case <-time.After(patience):
		d.t.Fatalf("the desk does not stop:\n%s", d.output())
	}
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		d.t.Errorf("the desk ended with %d:\n%s", code, d.output())
	}
}

// secrets may stand in no log line: what tests put into images and file names. A log that holds one
// tells whoever reads logs who was examined.
var secrets = []string{"Quillfeather", "QF-4711", "secretname"}

// finish ends the desk after its test and looks through what it logged.
func (d *desk) finish() {
	if d.cmd != nil && d.cmd.Process != nil {
		d.cmd.Process.Kill()
		<-d.ended
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, line := range d.log {
		for _, secret := range secrets {
			if strings.Contains(line, secret) {
				d.t.Errorf("the log tells %q: %s", secret, line)
			}
		}
		if strings.Contains(line, `"panic`) || strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			d.t.Errorf("the desk panicked: %s", line)
		}
	}
	if d.t.Failed() {
		d.t.Logf("the desk's last lines:\n%s", strings.Join(d.log[max(0, len(d.log)-60):], "\n"))
	}
}

// files counts the regular files under a folder of the data directory.
func (d *desk) files(folder string) (n int) {
	filepath.WalkDir(filepath.Join(d.dir, "data", folder), func(_ string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			n++
		}
		return nil
	})
	return n
}

// eventually waits for something outside this process, which has no channel to wait on.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// fails runs a desk that is expected to end by itself, and returns its exit code and what it said.
func (d *desk) fails() (code int, said string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.binary)
	cmd.Env, cmd.Dir = d.env, d.dir
	out, err := cmd.CombinedOutput()
	if err == nil {
		d.t.Fatal("it ended without an error")
	}
	return cmd.ProcessState.ExitCode(), string(out)
}
