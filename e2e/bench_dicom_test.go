package e2e_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// benchDICOM measures the command line on 500 synthetic CT files of half a megabyte, side by side with Debian's
// tools where they are installed, each in its fastest documented way: one process for all files. Each has one
// core; the median of five runs counts.
func benchDICOM(t *testing.T, tab *table) {
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	dir := inMemory(t)
	m := &sideBySide{t: t, tab: tab, out: filepath.Join(dir, "out")}
	in := filepath.Join(dir, "in")
	if said, err := exec.Command(binary, "dicom", "phantom", in, "--slices", "500").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	m.row("de-identify 500 CT files of 0.5 MB, from memory to memory, one core", 500, binary, "dicom", "deidentify", in, m.out)
	if cert, err := certificate(t.TempDir()); err == nil {
		m.row("the same with gdcmanon", 500, "gdcmanon", "-e", "-c", cert, "-i", in, "-o", m.out)
	} else {
		t.Logf("no certificate for gdcmanon: %v", err)
	}
	m.row("copy them with cp", 500, "cp", "-r", in, m.out)
	m.peak("peak memory of de-identifying them", binary, "dicom", "deidentify", in, m.out)
	large := largeFile(t)
	m.out = filepath.Join(filepath.Dir(large), "out.dcm")
	m.peak("peak memory of de-identifying a file of 2 GiB", binary, "dicom", "deidentify", large, m.out)
	for _, f := range []figure{
		{"DICOM headers read from page cache, one core", "./dicom", "BenchmarkHeader", "files/s", "2s"},
		{"allocations for de-identifying a CT file, reading and writing it", "./dicom/deid", "BenchmarkDeidentifyToFile", "allocs/op", "2s"},
	} {
		tab.figure(t, f)
	}
	m.dump("dump the 500 CT files", binary, filesIn(t, in))
	m.dump("dump all sample files, sound and broken", binary, filesIn(t, filepath.Join(shared(), "dicom-samples")))
}

// sideBySide fills a table with what commands do.
type sideBySide struct {
	t   *testing.T
	tab *table
	out string // what they make, removed before each run
}

func (m *sideBySide) row(what string, files int, args ...string) {
	if _, err := exec.LookPath(args[0]); err != nil {
		m.tab.add(what, "not installed")
		return
	}
	wall, cpu := m.timed(false, args)
	m.tab.add(what, "%.0f files/s, %.2f ms of CPU each", float64(files)/wall.Seconds(), cpu.Seconds()*1000/float64(files))
}

// dump compares with dcmdump, which ends with an error where a file is broken, as ours does.
func (m *sideBySide) dump(what, binary string, files []string) {
	if len(files) == 0 {
		m.tab.add(what, "no files beside the repository")
		return
	}
	for _, args := range [][]string{{binary, "dicom", "dump"}, {"dcmdump"}} {
		if _, err := exec.LookPath(args[0]); err != nil {
			m.tab.add("the same with dcmdump", "not installed")
			return
		}
		wall, cpu := m.timed(true, append(args, files...))
		m.tab.add(what, "%d files in %d ms, %d ms of CPU", len(files), wall.Milliseconds(), cpu.Milliseconds())
		what = "the same with dcmdump"
	}
}

// timed runs a command five times on one core and returns the medians of its time and its processor time. The
// run before them, which warms up, does not count.
func (m *sideBySide) timed(mayFail bool, args []string) (wall, cpu time.Duration) {
	m.t.Helper()
	var walls, cpus []time.Duration
	for i := range 6 {
		c := m.command(args)
		began := time.Now()
		said, err := c.CombinedOutput()
		took := time.Since(began)
		if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !(ended && mayFail) {
			m.t.Fatalf("%s: %v\n%.500s", args[0], err, said)
		}
		if i > 0 {
			walls, cpus = append(walls, took), append(cpus, c.ProcessState.UserTime()+c.ProcessState.SystemTime())
		}
	}
	slices.Sort(walls)
	slices.Sort(cpus)
	return walls[len(walls)/2], cpus[len(cpus)/2]
}

// command is one run on one core.
func (m *sideBySide) command(args []string) *exec.Cmd {
	m.t.Helper()
	if err := os.RemoveAll(m.out); err != nil {
		m.t.Fatal(err)
	}
	if pinned, err := exec.LookPath("taskset"); err == nil {
		args = append([]string{pinned, "-c", "0"}, args...)
	}
	c := exec.Command(args[0], args[1:]...)
	c.Env = append(os.Environ(), "GOMAXPROCS=1")
	return c
}

// peak watches the most memory that a command held: its own VmHWM, read each millisecond while it runs. What
// the kernel says of a child at its end counts its parent's memory too, for it began as a copy of that.
func (m *sideBySide) peak(what string, args ...string) {
	m.t.Helper()
	c := m.command(args)
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	most := 0
	for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
		select {
		case err := <-ended:
			if err != nil {
				m.t.Errorf("%s: %v", args, err)
			}
			m.tab.add(what, "%d MiB", most>>10)
			return
		default:
			most = max(most, ownPeak(c.Process.Pid, args[0]))
		}
	}
}

var peakLine = regexp.MustCompile(`(?m)^VmHWM:\s*(\d+) kB`)

// ownPeak is a process's VmHWM in KiB, 0 while it is not yet the program that was asked for, or no more.
func ownPeak(pid int, program string) int {
	exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	line := peakLine.FindSubmatch(status)
	if filepath.Base(exe) != filepath.Base(program) || line == nil {
		return 0
	}
	kib, _ := strconv.Atoi(string(line[1]))
	return kib
}

// inMemory is a folder in a file system that lies in memory, where there is one with room: the disk is not
// what is measured.
func inMemory(t *testing.T) string {
	t.Helper()
	const shm = "/dev/shm"
	var stat syscall.Statfs_t
	if err := syscall.Statfs(shm, &stat); err != nil || int64(stat.Bavail)*int64(stat.Bsize) < 1<<30 {
		t.Logf("%s has no room: the disk is measured too", shm)
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(shm, "filmroom-bench-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// largeFile is an image of 32768 x 32768 pixels, all of them black.
func largeFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.dcm")
	c := ct{study: 1, series: 1, n: 1, pixels: 32768}
	header := c.header()
	err := os.WriteFile(path, header, 0o600)
	if err == nil {
		err = os.Truncate(path, int64(len(header))+2*int64(c.pixels)*int64(c.pixels))
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// filesIn are the files below a folder but for what describes them; none where there is no folder.
func filesIn(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err == nil && e.Type().IsRegular() && ext != ".tsv" && ext != ".md" {
			files = append(files, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

// certificate makes what gdcmanon asks for: it keeps what it removes, encrypted.
func certificate(dir string) (string, error) {
	path := filepath.Join(dir, "cert.pem")
	return path, exec.Command("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=bench", "-keyout", filepath.Join(dir, "key.pem"), "-out", path).Run()
}
