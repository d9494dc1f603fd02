package e2e_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	cd "github.com/chromedp/chromedp"
)

// watchBars notes how far each task's bar is, whenever it moves.
const watchBars = `
	window.bars = [];
	setInterval(() => {
		const bar = document.querySelector("li[data-task] progress[value], #task-head progress[value]");
		if (!bar) return;
		const part = bar.value / bar.max, last = window.bars.at(-1);
		if (last !== part) window.bars.push(part);
	}, 10);`

// barsRise demands that a bar was seen on its way, and never went back.
func (b *tab) barsRise() {
	b.t.Helper()
	bars := get[[]float64](b, "window.bars")
	if len(bars) < 3 {
		b.t.Errorf("the bar was seen at %v alone", bars)
	}
	if !slices.IsSorted(bars) {
		b.t.Errorf("the bar went back: %v", bars)
	}
}

func TestBringInWatchTakeOut(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	const images = 3000
	d := startDesk(t, nil)
	p := d.newPerson("ada@example.org")
	b := d.open().signIn("ada@example.org")
	second := d.open().signIn("ada@example.org")
	b.do(cd.Evaluate[cd.Void](watchBars))
	b.choose("secretname.zip", study(t, 1, images, 64))

	b.until("the task's row", `document.querySelector("#list li[data-task]")`)
	id := get[string](b, `document.querySelector("#list li[data-task]").dataset.task`)
	second.until("news on the other device", taskRow(id)+` || document.querySelector("#new a")`)
	second.do(cd.Evaluate[cd.Void](`document.querySelector("#new a")?.click()`))
	second.until("the row there", taskRow(id))
	second.do(cd.Evaluate[cd.Void](`window.loaded = true`))
	b.shoot("importing")
	b.until("its end", taskRow(id)+`.dataset.status === "finished"`)
	b.barsRise()
	second.until("its end on the other device, without a reload", taskRow(id)+`.dataset.status === "finished" && window.loaded`)
	b.shoot("imported")

	want := map[string]int{"imported": images, "duplicate": 1, "not-dicom": 1, "unreadable": 1}
	if got := outcomes(t, p.receipt(id)); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the receipt counts %v, want %v", got, want)
	}
	b.visit("/tasks/" + id)
	b.until("the receipt's rows", `document.querySelectorAll("#receipt-rows tr").length > 10`)
	b.shoot("receipt")

	b.visit("/library")
	b.until("two series", `document.querySelectorAll("#series li[data-series]").length === 2`)
	b.do(cd.Evaluate[cd.Void](`document.querySelectorAll("[data-pick]").forEach((box) => box.click())`))
	b.until("the selection", `document.getElementById("selection-summary").textContent.includes("2 series")`)
	b.do(cd.Click(cd.CSS("#selection-take-out")))
	b.until("the dialog", `document.querySelector("#dialog[open] #take-out")`)
	b.shoot("take out")
	b.do(cd.Click(cd.CSS("#take-out button.primary")))
	b.until("the export's page or row", `document.querySelector("#task-head, #list li[data-task]")`)
	export := get[string](b, `document.querySelector("#task-head, #list li[data-task]").dataset.task`)
	p.finished(export)
	b.visit("/tasks/" + export)
	link := get[string](b, `document.querySelector("a[data-key=d]").getAttribute("href")`)
	if link != "/api/tasks/"+export+"/download" {
		t.Errorf("the page downloads %q", link)
	}
	if n := unpack(t, p.download(export)); n != images {
		t.Errorf("%d images went out, want %d", n, images)
	}
	eventually(t, "the staged files to go", func() bool { return d.files("staging") == 0 })
}

func TestTheSameAgainIsADuplicate(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	p := d.newPerson("ada@example.org")
	archive := study(t, 1, 20, 16)
	p.finished(p.bringIn(archive))
	again := p.finished(p.bringIn(archive))
	if got := outcomes(t, p.receipt(again.TaskID)); got["duplicate"] != 21 || got["imported"] != 0 {
		t.Errorf("the receipt counts %v", got)
	}
}

func TestCancelReallyStops(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	p := d.newPerson("ada@example.org")
	b := d.open().signIn("ada@example.org")
	id := p.bringIn(study(t, 1, 4000, 64))
	b.visit("/")
	b.until("the running row", taskRow(id)+`?.querySelector("[data-key=c]")`)
	b.do(cd.Evaluate[cd.Void](taskRow(id) + `.querySelector("[data-key=c]").click()`))
	b.until("the canceled row", taskRow(id)+`.dataset.status === "canceled"`)
	b.shoot("canceled")
	if ended := p.end(id); ended.Status != "canceled" || !ended.Retryable {
		t.Errorf("it ended %+v", ended)
	}
	p.want(http.StatusConflict, nil, "POST", "/api/tasks/"+id+"/cancel", nil)
	p.want(http.StatusAccepted, nil, "POST", "/api/tasks/"+id+"/retry", nil)
	p.finished(id)
	if got := outcomes(t, p.receipt(id)); got["imported"] != 4000 {
		t.Errorf("after a retry the receipt counts %v", got)
	}
}

func TestRealFiles(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	dir := filepath.Join(shared(), "dicom-samples")
	files, names := map[string][]byte{}, []string{}
	for _, pattern := range []string{"valid/*", "charset/*", "odd/*", "malformed/*", "broken/*"} {
		paths, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, path := range paths {
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, _ := filepath.Rel(dir, path)
			files[name] = body
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		t.Skipf("there are no sample files in %s (FILMROOM_SHARED names another place)", dir)
	}
	d := startDesk(t, nil)
	p := d.newPerson("ada@example.org")
	id := p.finished(p.bringIn(zipped(t, files, names...))).TaskID
	receipt := p.receipt(id)
	if n := bytes.Count(receipt, []byte("\n")); n != len(names) {
		t.Errorf("the receipt has %d rows for %d files", n, len(names))
	}
	t.Logf("%d real files: %v", len(names), outcomes(t, receipt))

	var ids []string
	images := int64(0)
	for _, s := range p.library() {
		ids = append(ids, s.SeriesID)
		images += s.Instances
	}
	if got := outcomes(t, receipt)["imported"]; int64(got) != images || got == 0 {
		t.Errorf("the library holds %d images, the receipt says that %d came in", images, got)
	}
	export := p.finished(p.takeOut(ids...))
	went := outcomes(t, p.receipt(export.TaskID))
	if int64(went["exported"]+went["refused"]) != images {
		t.Errorf("of %d images %v went out", images, went)
	}
	if n := countImages(p.download(export.TaskID)); n != went["exported"] {
		t.Errorf("the archive holds %d images, the receipt says %v", n, went)
	}
	readAll(t, p.download(export.TaskID), went["exported"])
}

// readAll has DCMTK read every image of an export of foreign files.
func readAll(t *testing.T, z *zip.Reader, images int) {
	t.Helper()
	dir := t.TempDir()
	for i, f := range z.File {
		if filepath.Ext(f.Name) != ".dcm" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d.dcm", i)), readEntry(t, f), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dcmdump(t, dir, images)
}

func countImages(z *zip.Reader) (n int) {
	for _, f := range z.File {
		if filepath.Ext(f.Name) == ".dcm" {
			n++
		}
	}
	return n
}
