package e2e_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestBench measures the desk and prints one table, for the README. What the real process does is measured
// from outside; the engine and its list by the benchmarks beside their code.
func TestBench(t *testing.T) {
	needs(t, "BENCH")
	tab := &table{}
	for _, part := range []struct {
		name string
		run  func(*testing.T, *table)
	}{
		{"start", benchStart},
		{"images", benchImages},
		{"dicom", benchDICOM},
		{"viewers", benchViewers},
		{"engine", benchEngine},
		{"peers", benchPeers},
		{"packages", benchPackages},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, tab) })
	}
	fmt.Print(tab)
}

// A table is what TestBench prints.
type table struct{ rows [][2]string }

func (b *table) add(what, format string, args ...any) {
	b.rows = append(b.rows, [2]string{what, fmt.Sprintf(format, args...)})
}

// beside adds a row after those of the same measure, which is what stands before the colon.
func (b *table) beside(what, figure string) {
	measure, _, _ := strings.Cut(what, ":")
	at := len(b.rows)
	for i, row := range b.rows {
		if strings.HasPrefix(row[0], measure+":") {
			at = i + 1
		}
	}
	b.rows = slices.Insert(b.rows, at, [2]string{what, figure})
}

func (b *table) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "| on %s, %d cores, %s | |\n|---|---|\n", cpuName(), runtime.NumCPU(), runtime.Version())
	for _, row := range b.rows {
		fmt.Fprintf(&s, "| %s | %s |\n", row[0], row[1])
	}
	return s.String()
}

func cpuName() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	if m := regexp.MustCompile(`(?m)^model name\s*: (.*)$`).FindSubmatch(info); m != nil {
		return string(m[1])
	}
	return runtime.GOARCH
}

func benchStart(t *testing.T, tab *table) {
	d := startDesk(t, nil)
	d.stop()
	began := time.Now()
	d.start()
	took := time.Since(began)
	used := d.cpu()
	<-time.After(3 * time.Second) // measures idleness; nothing is waited for
	tab.add("start until it serves", "%d ms", took.Milliseconds())
	tab.add("idle", "%d MiB, %.1f %% CPU", d.memory("VmRSS")>>20, 100*(d.cpu()-used).Seconds()/3)
}

// benchImages brings in a series of 500 CT images in one deflated ZIP and takes it out de-identified.
func benchImages(t *testing.T, tab *table) {
	const images = 500
	files, names, bytes := map[string][]byte{}, []string{}, 0
	for i := range images {
		name := fmt.Sprintf("%04d.dcm", i)
		files[name] = ct{study: 1, series: 1, n: i + 1, pixels: 512}.bytes()
		names, bytes = append(names, name), bytes+len(files[name])
	}
	archive := zipped(t, files, names...)
	d := startDesk(t, nil)
	p := d.newPerson("ada@example.org")
	measure := func(what string, run func()) {
		d.forgetPeak()
		began := time.Now()
		run()
		took := time.Since(began).Seconds()
		tab.add(what, "%.2f s, %.0f files/s, %.0f MB/s, peak %d MiB", took, images/took, float64(bytes)/1e6/took, d.memory("VmHWM")>>20)
	}
	measure(fmt.Sprintf("import of %d CT images (%d MB, ZIP of %d MB), upload included", images, bytes/1e6, len(archive)/1e6), func() {
		p.finished(p.bringIn(archive))
	})
	measure("de-identified export of them as a ZIP", func() { p.finished(p.takeOut(p.library()[0].SeriesID)) })
}

// benchViewers opens signed-in event streams and has something happen each 300 ms. The desk has one core,
// the viewers another.
func benchViewers(t *testing.T, tab *table) {
	for _, n := range []int{1000, 10_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			d := startDesk(t, settings{"API_RATE": "-1"}) // one person opens them all
			d.pin(t)
			p := d.newPerson("ada@example.org")
			id := p.finished(p.bringIn(study(t, 1, 10, 16))).TaskID
			before := d.memory("VmRSS")
			v := p.watchers(n)
			perViewer := (d.memory("VmRSS") - before) / n
			used, began := d.cpu(), time.Now()
			const events = 40
			tick := time.NewTicker(300 * time.Millisecond)
			defer tick.Stop()
			for i := range events {
				<-tick.C
				p.want(http.StatusOK, nil, "PATCH", "/api/tasks/"+id, map[string]bool{"dismissed": i%2 == 0})
			}
			<-tick.C // the last event is on its way
			share := 100 * (d.cpu() - used).Seconds() / time.Since(began).Seconds()
			lags := v.close()
			if len(lags) == 0 {
				t.Fatal("no viewer saw an event")
			}
			tab.add(fmt.Sprintf("%d viewers, an event each 300 ms", n), "p50 %d ms, p99 %d ms, %.0f %% of one core, %d KiB each, %.2f %% of events missed",
				lags[len(lags)/2].Milliseconds(), lags[len(lags)*99/100].Milliseconds(), share, perViewer>>10,
				100*(1-float64(len(lags))/float64(n*events)))
		})
	}
}

// watchers are many open streams of one person.
type watchers struct {
	connections []net.Conn
	done        sync.WaitGroup
	mu          sync.Mutex
	lags        []time.Duration
}

func (p *program) watchers(n int) *watchers {
	p.t.Helper()
	v := &watchers{}
	host := strings.TrimPrefix(p.desk.url, "http://")
	open := make(chan struct{}, n)
	for range n {
		c, err := net.Dial("tcp", host)
		if err != nil {
			p.t.Fatal(err)
		}
		fmt.Fprintf(c, "GET /api/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n", host, p.token)
		v.connections = append(v.connections, c)
		v.done.Go(func() { v.read(c, open) })
	}
	for range n {
		select {
		case <-open:
		case <-time.After(patience):
			p.t.Fatal("not all streams opened")
		}
	}
	return v
}

var atPattern = []byte(`"at":"`)

// read notes how old each event is when it arrives. The first one is the snapshot.
func (v *watchers) read(c net.Conn, open chan<- struct{}) {
	lines := bufio.NewReaderSize(c, 2<<10)
	var lags []time.Duration
	for first := true; ; {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			break
		}
		i := bytes.Index(line, atPattern)
		if i < 0 || !bytes.HasPrefix(line, []byte("data:")) {
			continue
		}
		if first {
			first = false
			open <- struct{}{}
			continue
		}
		rest := line[i+len(atPattern):]
		at, err := time.Parse(time.RFC3339, string(rest[:bytes.IndexByte(rest, '"')]))
		if err == nil {
			lags = append(lags, time.Since(at))
		}
	}
	v.mu.Lock()
	v.lags = append(v.lags, lags...)
	v.mu.Unlock()
}

func (v *watchers) close() []time.Duration {
	for _, c := range v.connections {
		c.Close()
	}
	v.done.Wait()
	slices.Sort(v.lags)
	return v.lags
}

// A figure is one number of a Go benchmark, which runs for a while or, where it has hundreds of parts, so many
// times.
type figure struct{ row, pkg, bench, unit, benchtime string }

// benchPackages measures what has hundreds of parts, each of which runs a hundred times.
func benchPackages(t *testing.T, tab *table) {
	tab.parts(t, "a page of 1,000,000 own tasks with its total, by any two filters (SQLite)", "./sqlite", "BenchmarkList")
	tab.parts(t, "the board and other pages of who has these", ".", "BenchmarkPages")
}

// enough is how long the slowest hundredth of a part may take, in milliseconds.
const enough = 20

// parts runs a benchmark and adds how long its parts take.
func (b *table) parts(t *testing.T, row, pkg, bench string) {
	out := goBench(t, pkg, bench, "100x")
	middles, slow := reported(out, "p50-ms"), reported(out, "p99-ms")
	if len(middles) == 0 || len(slow) != len(middles) {
		t.Errorf("%s reports no p50-ms and p99-ms:\n%s", bench, out)
		return
	}
	good, _ := slices.BinarySearch(slow, enough)
	b.add(row, "p50 at most %.1f ms; p99 under %d ms in %d of %d, %.1f in the middle one", middles[len(middles)-1], enough, good, len(slow), slow[len(slow)/2])
}

func goBench(t *testing.T, pkg, bench, benchtime string) []byte {
	t.Helper()
	out, err := exec.Command("go", "-C", "..", "test", "-run", "^$", "-bench", "^"+bench+"$", "-benchtime", benchtime, "-timeout", "20m", pkg).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", bench, err, out)
	}
	return out
}

// reported are all numbers of a unit, in order.
func reported(out []byte, unit string) (numbers []float64) {
	for _, m := range regexp.MustCompile(`([\d.]+) `+regexp.QuoteMeta(unit)).FindAllSubmatch(out, -1) {
		if n, err := strconv.ParseFloat(string(m[1]), 64); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// figure runs a benchmark and adds the worst of its numbers.
func (b *table) figure(t *testing.T, f figure) {
	out := goBench(t, f.pkg, f.bench, f.benchtime)
	numbers := reported(out, f.unit)
	if len(numbers) == 0 {
		t.Errorf("%s reports no %s:\n%s", f.bench, f.unit, out)
		return
	}
	unit := strings.TrimPrefix(strings.TrimPrefix(f.unit, "p50-"), "p99-")
	b.add(f.row, "%s %s", strconv.FormatFloat(numbers[len(numbers)-1], 'f', -1, 64), unit)
}

// memory reads a line of the process's status, in bytes.
func (d *desk) memory(line string) int {
	d.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		d.t.Fatalf("measured on Linux alone: %v", err)
	}
	m := regexp.MustCompile(line + `:\s*(\d+) kB`).FindSubmatch(status)
	kib, err := strconv.Atoi(string(m[1]))
	if err != nil {
		d.t.Fatal(err)
	}
	return kib << 10
}

// forgetPeak makes VmHWM count from now on: proc(5), clear_refs.
func (d *desk) forgetPeak() {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", d.cmd.Process.Pid), []byte("5"), 0); err != nil {
		d.t.Logf("the peak is that since the start: %v", err)
	}
}

// cpu is what the process has used so far, in the kernel too: proc(5), stat, in hundredths of a second.
func (d *desk) cpu() time.Duration {
	d.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.cmd.Process.Pid))
	if err != nil {
		d.t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	kernel, _ := strconv.Atoi(fields[12])
	return time.Duration(user+kernel) * 10 * time.Millisecond
}

// pin gives the desk the first core and this process the others, where taskset is installed.
func (d *desk) pin(t *testing.T) {
	for pid, cores := range map[int]string{d.cmd.Process.Pid: "0", os.Getpid(): fmt.Sprintf("%d-%d", min(1, runtime.NumCPU()-1), runtime.NumCPU()-1)} {
		if out, err := exec.Command("taskset", "-a", "-p", "-c", cores, strconv.Itoa(pid)).CombinedOutput(); err != nil {
			t.Logf("not pinned: %v %s", err, out)
		}
	}
	t.Cleanup(func() {
		exec.Command("taskset", "-a", "-p", "-c", fmt.Sprintf("0-%d", runtime.NumCPU()-1), strconv.Itoa(os.Getpid())).Run()
	})
}
