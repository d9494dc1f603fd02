package imaging_test

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zip"

	"filmroom/dicom/phantom"
	"filmroom/imaging"
)

// ct500 is a series of 500 CT images of half a megabyte, in one deflated ZIP.
func ct500(b *testing.B) *os.File {
	f, err := os.CreateTemp(b.TempDir(), "")
	check(b, err)
	z := zip.NewWriter(f)
	s := phantom.Study{Slices: 500}
	for i := range s.Files() {
		w, err := z.Create(s.InstanceUID(i) + ".dcm")
		check(b, err)
		check(b, s.Write(i, w))
	}
	check(b, z.Close())
	return f
}

func (d *desk) sendFile(f *os.File) string {
	u, err := d.NewUpload(d.t.Context(), ada, "")
	check(d.t, err)
	defer u.Abort()
	_, err = f.Seek(0, io.SeekStart)
	check(d.t, err)
	check(d.t, u.Add(d.t.Context(), "ct500.zip", f))
	t, _, err := u.Commit(d.t.Context())
	check(d.t, err)
	return t.ID
}

func BenchmarkImport500CT(b *testing.B) {
	f := ct500(b)
	var spent time.Duration
	for b.Loop() {
		b.StopTimer()
		d := setup(b)
		before := cpu(b)
		b.StartTimer()
		d.finish(d.sendFile(f))
		b.StopTimer()
		spent += cpu(b) - before
		d.stop()
		check(b, os.RemoveAll(d.cfg.DataDir))
		b.StartTimer()
	}
	b.ReportMetric(spent.Seconds()/float64(b.N), "cpu-s/op")
	reportMemory(b)
}

// cpu is what this process has used so far, in the kernel as well.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	check(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkExport500CT(b *testing.B) {
	d := setup(b)
	d.finish(d.sendFile(ct500(b)))
	var ids []string
	for _, s := range d.series(ada) {
		ids = append(ids, s.ID)
	}
	runtime.GC()
	before := cpu(b)
	for b.Loop() {
		t, err := d.Export(b.Context(), ada, imaging.ExportRequest{SeriesIDs: ids, Profile: "basic"})
		check(b, err)
		if done := d.finish(t.ID); done.Progress.Message != "500 of 500 exported" {
			b.Fatal(done.Progress.Message)
		}
	}
	b.ReportMetric((cpu(b)-before).Seconds()/float64(b.N), "cpu-s/op")
	reportMemory(b)
}

// reportMemory adds the largest resident set of this process, which is that of the benchmarks so far.
func reportMemory(b *testing.B) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			kib := 0.0
			for _, c := range bytes.TrimSpace(rest) {
				if c >= '0' && c <= '9' {
					kib = kib*10 + float64(c-'0')
				}
			}
			b.ReportMetric(kib/1024, "MiB-peak")
		}
	}
}
