package e2e_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

const (
	chaosImages = 600 // enough to be killed in the middle of
	mostAtOnce  = 4   // what chaos ever sets a lane's capacity to
)

// TestChaos kills a desk while it imports and exports, while its lanes are changed and tasks canceled, and
// demands that each task ends exactly once, and with what a desk that nobody kills would have made.
func TestChaos(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	chaos(t, 5)
}

func TestSoakChaos(t *testing.T) {
	needs(t, "SOAK")
	chaos(t, 100)
}

func chaos(t *testing.T, kills int) {
	archives := make([][]byte, kills)
	for i := range archives {
		archives[i] = study(t, 2+i, chaosImages, 32)
	}
	want := receipts(t, archives)
	d := startDesk(t, settings{"PROGRESS_INTERVAL": "5ms", "API_RATE": "100000"})
	ada := d.newAdmin("ada@example.org")
	ada.finished(ada.bringIn(study(t, 1, chaosImages, 32)))
	var out []string
	for _, s := range ada.library() {
		out = append(out, s.SeriesID)
	}
	for i, archive := range archives {
		ada.round(archive, out, want[i])
		if t.Failed() {
			t.Fatalf("after kill %d", i+1)
		}
	}
	ada.nothingHeld()
	d.filesAreWhole()
	d.stop()
}

// receipts are those of a desk that nobody kills.
func receipts(t *testing.T, archives [][]byte) (all [][]byte) {
	t.Helper()
	d := startDesk(t, nil)
	p := d.newPerson("ada@example.org")
	for _, archive := range archives {
		all = append(all, p.receipt(p.finished(p.bringIn(archive)).TaskID))
	}
	d.stop()
	return all
}

// round kills the desk once while it has much to do, and proves that nothing of that is lost or doubled.
func (p *program) round(archive []byte, out []string, receipt []byte) {
	p.t.Helper()
	exports := []string{p.takeOutUnder("chaos", out...), p.takeOutUnder("chaos", out[0]), p.takeOut(out[1]), p.takeOutUnder("chaos", out...)}
	imported := p.bringIn(archive)
	meddled := p.meddle(exports[2:])
	moment := time.Duration(rand.Int64N(int64(200 * time.Millisecond)))
	<-time.After(moment) // nothing is waited for: the moment is random
	p.desk.kill()
	meddled()
	p.desk.start()
	for _, l := range p.lanes() {
		if l.Processing > mostAtOnce {
			p.t.Errorf("lane %s runs %d tasks after the restart, more than were ever let", l.Name, l.Processing)
		}
		p.want(http.StatusOK, nil, "PATCH", "/api/lanes/"+l.Name, map[string]any{"capacity": 2, "paused": false, "reason": "chaos is over"})
	}
	again := p.finished(imported).Attempt - 1
	p.endedOnce(imported)
	if got := p.receipt(imported); !bytes.Equal(got, receipt) {
		p.t.Errorf("the receipt differs from that of a desk that nobody killed:\n%s", firstDifference(got, receipt))
	}
	for i, id := range exports {
		ended := p.end(id)
		again += max(0, ended.Attempt-1)
		p.endedOnce(id)
		switch {
		case ended.Status == "finished":
			p.whole(ended, chaosImages/[]int{1, 2, 2, 1}[i])
		case ended.Status != "canceled" || i < 2:
			p.t.Errorf("export %s ended %s: %s", id, ended.Status, ended.Error)
		}
	}
	p.tookTurns(exports[0], exports[1], exports[3])
	p.finished(p.takeOutUnder("chaos", out[1])) // nobody holds the lock
	eventually(p.t, "the staged files to go", func() bool { return p.desk.files("staging") == 0 })
	p.t.Logf("killed after %v: %d tasks began again", moment, again)
}

// meddle changes lanes and cancels tasks until the returned function is called. The desk may die under it.
func (p *program) meddle(victims []string) (stop func()) {
	ended := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(15 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			lane := []string{"import", "export"}[rand.IntN(2)]
			switch rand.IntN(6) {
			case 0:
				p.try("POST", "/api/tasks/"+victims[rand.IntN(len(victims))]+"/cancel", nil)
			case 1:
				p.try("PATCH", "/api/lanes/"+lane, map[string]any{"paused": rand.IntN(4) == 0, "reason": "chaos"})
			default:
				p.try("PATCH", "/api/lanes/"+lane, map[string]any{"capacity": rand.IntN(mostAtOnce + 1), "reason": "chaos"})
			}
		}
	})
	return func() {
		close(ended)
		group.Wait()
	}
}

// try sends a request that may fail in any way.
func (p *program) try(method, path string, body any) {
	b, _ := json.Marshal(body) // maps of plain values always can be
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.desk.url+path, bytes.NewReader(b))
	if err != nil {
		p.t.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set("Content-Type", "application/json")
	if res, err := http.DefaultClient.Do(req); err == nil {
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
}

// An entry is one row of a task's journal.
type entry struct {
	At    time.Time
	Event string
}

func (e entry) isEnd() bool {
	return slices.Contains([]string{"finished", "failed", "canceled", "interrupted"}, e.Event)
}

func (p *program) journal(id string) []entry {
	p.t.Helper()
	var told struct{ Journal []entry }
	p.want(http.StatusOK, &told, "GET", "/api/tasks/"+id, nil)
	return told.Journal
}

// endedOnce demands that a task's journal tells of one end.
func (p *program) endedOnce(id string) {
	p.t.Helper()
	journal := p.journal(id)
	ends := 0
	for _, e := range journal {
		if e.isEnd() {
			ends++
		}
	}
	if ends != 1 {
		p.t.Errorf("task %s ended %d times, want one end: %+v", id, ends, journal)
	}
}

// tookTurns demands that the attempts of tasks that share a lock did not overlap: when one began to work, the one
// before it had ended or was taken from the dead. A claim's own moment is that at which it was asked for, which may
// be a little before the end that made room for it.
func (p *program) tookTurns(ids ...string) {
	p.t.Helper()
	var attempts [][2]time.Time // from, to
	for _, id := range ids {
		var from time.Time
		claimed := false
		for _, e := range p.journal(id) {
			switch {
			case e.Event == "claimed":
				claimed, from = true, time.Time{}
			case claimed && e.Event == "phase" && from.IsZero():
				from = e.At
			case claimed && (e.isEnd() || slices.Contains([]string{"rescued", "handed-back", "retry-scheduled"}, e.Event)):
				if from.IsZero() {
					from = e.At // it came to nothing
				}
				attempts = append(attempts, [2]time.Time{from, e.At})
				claimed = false
			}
		}
	}
	slices.SortFunc(attempts, func(a, b [2]time.Time) int { return cmp.Or(a[0].Compare(b[0]), a[1].Compare(b[1])) })
	for i := range attempts[1:] {
		if attempts[i+1][0].Before(attempts[i][1]) {
			p.t.Errorf("under one lock an attempt began at %v, before the one before it had ended at %v", attempts[i+1][0], attempts[i][1])
		}
	}
}

// whole demands that an export's file is what the task says, and holds that many images.
func (p *program) whole(ended task, images int) {
	p.t.Helper()
	res, body := p.do("GET", "/api/tasks/"+ended.TaskID+"/download", nil)
	sum := sha256.Sum256(body)
	if res.StatusCode != http.StatusOK || ended.File == nil || hex.EncodeToString(sum[:]) != ended.File.SHA256 {
		p.t.Errorf("the download of %s answers %d with %d bytes, want those of %+v", ended.TaskID, res.StatusCode, len(body), ended.File)
		return
	}
	if n := unpack(p.t, p.download(ended.TaskID)); n != images {
		p.t.Errorf("export %s holds %d images, want %d", ended.TaskID, n, images)
	}
}

// A lane as the API shows it; only what tests look at.
type lane struct {
	Name                                    string
	Capacity, Queued, Scheduled, Processing int
	Paused                                  bool
	Reason                                  string
}

func (p *program) lanes() (all []lane) {
	p.t.Helper()
	p.want(http.StatusOK, &all, "GET", "/api/lanes", nil)
	return all
}

// nothingHeld demands that no lane still counts a task, and that nothing waits.
func (p *program) nothingHeld() {
	p.t.Helper()
	for _, l := range p.lanes() {
		if l.Processing+l.Queued+l.Scheduled != 0 {
			p.t.Errorf("everything has ended, and lane %s says %+v", l.Name, l)
		}
	}
	var page struct{ Total int }
	p.want(http.StatusOK, &page, "GET", "/api/tasks?status=queued&status=paused&status=processing&limit=0", nil)
	if page.Total != 0 {
		p.t.Errorf("%d tasks are stuck", page.Total)
	}
}

// filesAreWhole demands that every stored file has the bytes whose hash is its name.
func (d *desk) filesAreWhole() {
	d.t.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join(d.dir, "data", "files"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		body, err := os.ReadFile(path)
		if sum := sha256.Sum256(body); err == nil && hex.EncodeToString(sum[:]) != entry.Name() {
			err = fmt.Errorf("%s is not whole", path)
		}
		n++
		return err
	})
	if err != nil || n == 0 {
		d.t.Errorf("%d stored files: %v", n, err)
	}
}

// newAdmin makes an administrator's account and a token on the command line.
func (d *desk) newAdmin(email string) *program {
	d.t.Helper()
	d.command(password+"\n", "user", "add", "--admin", email)
	return &program{d.t, d, d.command("", "token", email)}
}
