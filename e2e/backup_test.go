package e2e_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// backupImages is how many images the desk has that is backed up: enough to be killed in the middle of.
const backupImages = 1500

// TestKilledAnywhereABackupIsWholeOrNone kills backup and restore, beside the running desk, and demands that nothing
// half-written passes for whole, that running them again completes them, and that the restored desk is the same.
func TestKilledAnywhereABackupIsWholeOrNone(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	killedBackups(t, 5)
}

func TestSoakBackup(t *testing.T) {
	needs(t, "SOAK")
	killedBackups(t, 100)
}

func killedBackups(t *testing.T, kills int) {
	if os.Getenv("TEST_MONGODB_URI") != "" {
		t.Skip("records on MongoDB are backed up with its own tools")
	}
	d := startDesk(t, nil)
	p := d.newPerson("ada@example.org")
	p.finished(p.bringIn(study(t, 1, backupImages, 48)))
	p.finished(p.takeOut(p.library()[0].SeriesID))
	eventually(t, "the staged files to go", func() bool { return d.files("staging") == 0 })
	want := p.everything()
	first := d.sibling("first")
	backupTook := d.timed("backup", first.dir+"/backup")
	restoreTook := first.timed("restore", first.dir+"/backup")
	for i := range kills {
		again := d.sibling(fmt.Sprint("again", i))
		again.killedBackup(d, backupTook, want, p.token)
		again.killedRestore(restoreTook, want, p.token)
		if t.Failed() {
			t.Fatalf("after kill %d", i+1)
		}
	}
	d.stop()
}

// sibling is a desk like d that has no data yet, in a directory of its own.
func (d *desk) sibling(name string) *desk {
	d.t.Helper()
	s := &desk{t: d.t, binary: d.binary, dir: filepath.Join(d.t.TempDir(), name)}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		d.t.Fatal(err)
	}
	s.env = append(append(s.env, d.env...), "FILMROOM_DATA_DIR="+filepath.Join(s.dir, "data")) // the last one counts
	d.t.Cleanup(s.finish)
	return s
}

func (d *desk) timed(args ...string) time.Duration {
	began := time.Now()
	d.command("", args...)
	return time.Since(began)
}

// killed runs a command and kills it at some moment within about the time that all of it takes. It tells whether the
// command was done before.
func (d *desk) killed(took time.Duration, args ...string) (done bool) {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), d.binary, args...)
	cmd.Env, cmd.Dir = d.env, d.dir
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	moment := time.Duration(rand.Int64N(int64(took)))
	<-time.After(moment) // nothing is waited for: the moment is random
	cmd.Process.Kill()
	done = cmd.Wait() == nil
	d.t.Logf("%s killed after %v of %v, done: %v", args[0], moment, took, done)
	return done
}

// refused runs a command that is expected to fail.
func (d *desk) refused(args ...string) bool {
	cmd := exec.CommandContext(d.t.Context(), d.binary, args...)
	cmd.Env, cmd.Dir = d.env, d.dir
	return cmd.Run() != nil
}

// killedBackup leaves a backup of source that was killed and made again in d's directory.
func (d *desk) killedBackup(source *desk, took time.Duration, want map[string]string, token string) {
	d.t.Helper()
	backup := filepath.Join(d.dir, "backup")
	done := source.killed(took, "backup", backup)
	_, err := os.Stat(backup)
	whole := err == nil
	if done && !whole {
		d.t.Errorf("the backup said that it was made, and is not there: %v", err)
	}
	for _, left := range []string{backup, backup + ".partial"} {
		if probe := d.sibling("probe"); !probe.refused("restore", left) {
			probe.tellsTheSame(want, token)
		} else if whole && left == backup {
			d.t.Error("a backup that has its name is refused")
		}
	}
	if whole {
		return
	}
	source.command("", "backup", backup)
	if _, err := os.Stat(backup + ".partial"); !errors.Is(err, fs.ErrNotExist) {
		d.t.Errorf("what was killed still lies there: %v", err)
	}
}

// killedRestore restores d from the backup in its directory, by a restore that is killed and run again.
func (d *desk) killedRestore(took time.Duration, want map[string]string, token string) {
	d.t.Helper()
	backup := filepath.Join(d.dir, "backup")
	d.killed(took, "restore", backup)
	data := filepath.Join(d.dir, "data")
	_, begun := os.Stat(data)
	_, marked := os.Stat(filepath.Join(data, "restoring"))
	_, filled := os.Stat(filepath.Join(data, "filmroom.db"))
	switch {
	case begun == nil && marked == nil:
		if code, said := d.fails(); code == 0 {
			d.t.Errorf("a desk begins in what was restored by half: %s", said)
		}
		d.command("", "restore", backup)
	case filled == nil: // all of it was there
	default:
		d.command("", "restore", backup)
	}
	d.tellsTheSame(want, token)
}

// tellsTheSame starts a desk and demands that it has what another had.
func (d *desk) tellsTheSame(want map[string]string, token string) {
	d.t.Helper()
	d.start()
	got := (&program{d.t, d, token}).everything()
	for name := range want {
		if got[name] != want[name] {
			d.t.Errorf("%s differs: %.300s\nwant %.300s", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		d.t.Errorf("it has %d things, want %d", len(got), len(want))
	}
	d.stop()
}

// everything is what a person can find on the desk, and each file with its sum.
func (p *program) everything() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	tell := func(path string) {
		res, body := p.do("GET", path, nil)
		if res.StatusCode != http.StatusOK {
			p.t.Errorf("%s answers %d", path, res.StatusCode)
		}
		all[path] = string(body)
	}
	tell("/api/series?limit=200")
	tell("/api/tasks?limit=200")
	var list struct{ Items []task }
	p.want(http.StatusOK, &list, "GET", "/api/tasks?limit=200", nil)
	for _, one := range list.Items {
		tell("/api/tasks/" + one.TaskID)
		tell("/api/tasks/" + one.TaskID + "/receipt")
	}
	data := filepath.Join(p.desk.dir, "data")
	for _, folder := range []string{"files", "staging", "results"} {
		err := filepath.WalkDir(filepath.Join(data, folder), func(path string, entry os.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || err == nil && !entry.Type().IsRegular() {
				return nil
			}
			body, err := os.ReadFile(path)
			all[path[len(data):]] = fmt.Sprintf("%x", sha256.Sum256(body))
			return err
		})
		if err != nil {
			p.t.Error(err)
		}
	}
	return all
}
