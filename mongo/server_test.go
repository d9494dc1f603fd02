package mongo

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/goleak"
)

// A server is what the tests of this package run on.
type server struct {
	uri   string
	whole bool   // MongoDB or FerretDB 2: its updates are atomic by themselves
	why   string // there is none
}

var theServer server

// TestMain finds a server: the one at TEST_MONGODB_URI, else an embedded FerretDB 1, built from the nested
// module and started for this run.
func TestMain(m *testing.M) {
	flag.Parse()
	stop := func() {}
	if uri := os.Getenv("TEST_MONGODB_URI"); uri != "" {
		theServer = server{uri: uri, whole: true}
	} else if uri, end, err := startFerretDB(); err != nil {
		theServer.why = fmt.Sprintf("TEST_MONGODB_URI is not set and the embedded FerretDB cannot be started: %v", err)
	} else {
		theServer, stop = server{uri: uri}, end
	}
	code := m.Run()
	stop()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// startFerretDB builds the server of the nested module, which Go's build cache makes quick from the second
// time on, and starts it. It ends with its standard input.
func startFerretDB() (uri string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "filmroom-mongo-*")
	if err != nil {
		return "", nil, err
	}
	binary := filepath.Join(dir, "ferretdb")
	build := exec.Command("go", "build", "-C", "../e2e/ferretdb", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return "", nil, errors.Join(fmt.Errorf("%v: %w\n%s", build.Args, err, out), os.RemoveAll(dir))
	}
	run := exec.Command(binary)
	in, err := run.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := run.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := run.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = run.Wait()
		_ = os.RemoveAll(dir)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("the server printed no address: %w", err)
	}
	return strings.TrimSpace(line), stop, nil
}

var databases atomic.Int64

// setup opens a database of its own for a test and drops it afterwards.
func setup(t testing.TB) *DB {
	t.Helper()
	if theServer.why != "" {
		t.Skip(theServer.why)
	}
	name := fmt.Sprintf("filmroom_test_%d_%d", os.Getpid(), databases.Add(1))
	db := open(t, name)
	t.Cleanup(func() {
		last := open(t, name) // the first may have been closed
		if err := last.client.Database(name).Drop(context.Background()); err != nil {
			t.Errorf("drop %s: %v", name, err)
		}
	})
	return db
}

// open opens a database by its name, as another process would, and closes it when the test ends.
func open(t testing.TB, name string, edits ...func(*Options)) *DB {
	t.Helper()
	db, err := begun(t, name, edits...)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// begun is open for those who may not end the test.
func begun(t testing.TB, name string, edits ...func(*Options)) (*DB, error) {
	o := Options{Database: name, Timeout: time.Minute}
	for _, edit := range edits {
		edit(&o)
	}
	if !theServer.whole {
		o.configure = inTurns(name, o.configure)
	}
	db, err := Open(context.Background(), theServer.uri, o)
	if err == nil {
		t.Cleanup(func() { closeDB(t, db) })
	}
	return db, err
}

func closeDB(t testing.TB, db *DB) {
	t.Helper()
	if err := db.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// turns has a lock for each database.
var turns sync.Map

// inTurns lets one command at a time reach a database. FerretDB 1 carries out the updates of one command
// without a transaction, so that they are atomic only like this; what then still can race are our own
// commands with one another, which is what the tests of many callers are about.
func inTurns(database string, configure func(*options.ClientOptions)) func(*options.ClientOptions) {
	lock, _ := turns.LoadOrStore(database, &sync.Mutex{})
	turn := lock.(*sync.Mutex)
	return func(c *options.ClientOptions) {
		started := func(context.Context, *event.CommandStartedEvent) {}
		if configure != nil {
			configure(c)
		}
		if c.Monitor != nil {
			started = c.Monitor.Started
		}
		c.SetMonitor(&event.CommandMonitor{
			Started: func(ctx context.Context, e *event.CommandStartedEvent) {
				started(ctx, e)
				turn.Lock()
			},
			Succeeded: func(context.Context, *event.CommandSucceededEvent) { turn.Unlock() },
			Failed:    func(context.Context, *event.CommandFailedEvent) { turn.Unlock() },
		})
	}
}

// again closes a database and opens it once more, as after a restart.
func again(t testing.TB, db *DB) *DB {
	t.Helper()
	closeDB(t, db)
	return open(t, db.name)
}

// needsWhole skips what an embedded FerretDB 1 cannot show.
func needsWhole(t testing.TB, what string) {
	t.Helper()
	if theServer.why != "" {
		t.Skip(theServer.why)
	}
	if !theServer.whole {
		t.Skipf("%s is shown only on a server of your own: set TEST_MONGODB_URI", what)
	}
}
