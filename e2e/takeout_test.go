package e2e_test

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"

	cd "github.com/chromedp/chromedp"
)

// burned packs a series of three images that say that something is written into their pixels.
func burned(t *testing.T) []byte {
	files, names := map[string][]byte{}, []string{}
	for i := range 3 {
		name := fmt.Sprintf("%d.dcm", i+1)
		files[name] = ct{study: 7, series: 1, n: i + 1, pixels: 64, burned: true}.bytes()
		names = append(names, name)
	}
	return zipped(t, files, names...)
}

// takesOutAll opens the dialog for everything in the library.
func takesOutAll(b *tab) {
	b.do(cd.Evaluate[cd.Void](`document.querySelectorAll("[data-pick]").forEach((box) => { if (!box.checked) box.click(); })`))
	b.do(cd.Click(cd.CSS("#selection-take-out")))
	b.until("the dialog", `document.querySelector("#dialog[open] #take-out")`)
}

// tabTo goes to an element with the tabulator alone.
func (b *tab) tabTo(selector string) {
	b.t.Helper()
	for range 60 {
		if get[bool](b, `document.activeElement?.matches(`+quoted(selector)+`) ?? false`) {
			return
		}
		b.do(press("Tab"))
	}
	b.t.Fatalf("the tabulator does not lead to %s", selector)
}

// drag draws from one point of an element to another, in parts of its width and height.
func (b *tab) drag(selector string, x0, y0, x1, y1 float64) {
	b.t.Helper()
	b.do(cd.Evaluate[cd.Void](`document.querySelector(` + quoted(selector) + `).scrollIntoView({block: "center"})`))
	box := get[[]float64](b, `(({x, y, width, height}) => [x, y, width, height])(document.querySelector(`+quoted(selector)+`).getBoundingClientRect())`)
	at := func(x, y float64) (float64, float64) { return box[0] + x*box[2], box[1] + y*box[3] }
	sx, sy := at(x0, y0)
	ex, ey := at(x1, y1)
	b.do(cd.MouseEvent(cd.MousePressed, sx, sy, cd.ButtonType("left"), cd.ClickCount(1)),
		cd.MouseEvent(cd.MouseMoved, (sx+ex)/2, (sy+ey)/2, cd.ButtonType("left")), cd.MouseEvent(cd.MouseMoved, ex, ey, cd.ButtonType("left")),
		cd.MouseEvent(cd.MouseReleased, ex, ey, cd.ButtonType("left"), cd.ClickCount(1)))
}

const typedRows = `[...document.querySelectorAll(".paint-row")].map((row) => [...row.querySelectorAll("input")].map((i) => i.value).join(" ")).join(";")`

// The dialog is worked with keys alone, and shows what will leave as it changes.
func TestTakeOutShowsWhatWillLeaveWhileItIsChosen(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	p := d.newPerson("ada@example.org")
	p.finished(p.bringIn(study(t, 1, 4, 16)))
	b := d.open().signIn("ada@example.org")
	b.visit("/library")
	b.do(press("j"), press("x"))
	b.tabTo("#selection-take-out")
	b.do(press("Enter"))
	b.until("the dialog", `document.querySelector("#dialog[open] #take-out")`)
	sample := `document.getElementById("take-out-sample").textContent`
	b.until("the name before and after", sample+`.includes("Quillfeather^Zadie") && `+sample+`.includes("P0001")`)

	b.tabTo("#take-out summary")
	b.do(press("Enter"))
	b.tabTo("[value=emptyTimes]")
	b.do(press(" "))
	b.until("what is wrong, beside it", `document.querySelector("#take-out-error-options").textContent.includes("moved or kept")`)
	b.until("its mark", `document.activeElement.getAttribute("aria-invalid") === "true" && document.activeElement.checked`)
	b.do(press(" "))
	b.until("it to be right again", `!document.querySelector("#take-out-error-options span") && !document.querySelector("#take-out [aria-invalid]")`)
	b.do(cd.Evaluate[cd.Void](`(() => { const dates = document.querySelector("[name=dates]"); dates.value = "retainFullDates"; dates.dispatchEvent(new Event("input", {bubbles: true})); })()`))
	b.until("the date that stays", `[...document.querySelectorAll("#take-out-sample tr")].some((row) => row.textContent.includes("Study Date") && row.textContent.match(/20240517/g).length === 2)`)
	b.tabTo("summary:has(+ p [name=pseudonymPrefix])")
	b.do(press("Enter"))
	b.tabTo("[name=pseudonymPrefix]")
	for _, letter := range "TRIAL-" {
		b.do(press(string(letter)))
	}
	b.until("the pseudonym as typed", sample+`.includes("TRIAL-0001") && document.activeElement.value === "TRIAL-"`)
	if url := get[string](b, "location.href"); url != d.url+"/library" {
		t.Errorf("the address became %s", url)
	}
	b.do(press("Enter"))
	b.until("the export's page", `document.querySelector("#task-head")`)
	export := get[string](b, `document.querySelector("#task-head").dataset.task`)
	p.finished(export)
	for _, f := range p.download(export).File {
		if filepath.Ext(f.Name) != ".dcm" {
			continue
		}
		if found, err := readElements(readEntry(t, f)); err != nil || found["0010,0020"] != "TRIAL-0001" || found["0008,0020"] != "20240517" {
			t.Errorf("%s left with %q, %q, %v", f.Name, found["0010,0020"], found["0008,0020"], err)
		}
	}
}

// Rectangles are drawn on the picture, moved with keys, undone, and are black in what leaves.
func TestTakeOutPaintsOverWhatIsDrawn(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	p := d.newPerson("ada@example.org")
	p.finished(p.bringIn(burned(t)))
	b := d.open().signIn("ada@example.org")
	b.visit("/library")
	takesOutAll(b)
	b.until("that it would stay", `document.querySelector("#take-out-sample .would-stay")`)
	b.do(cd.Click(cd.CSS(".suspect summary")))
	b.until("the picture", `document.querySelector(".paint-stage img").complete && document.querySelector(".paint-stage img").naturalWidth === 64`)
	b.drag(".paint-layer", 0.25, 0.25, 0.75, 0.5)
	b.until("the rectangle in pixels of the image", typedRows+` === "16 16 32 16"`)
	b.until("what would leave", `!document.querySelector("#take-out-sample .would-stay") && document.querySelector("#take-out-sample table")`)
	b.do(press("ArrowRight"), press("Shift+ArrowDown"))
	b.until("it moved and grew", typedRows+` === "17 16 32 17"`)
	b.do(cd.Click(cd.CSS("[data-undo]")), cd.Click(cd.CSS("[data-undo]")))
	b.until("it as it was", typedRows+` === "16 16 32 16"`)
	b.drag(".paint-layer", 0.005, 0.75, 0.125, 0.995)
	b.until("a second one", typedRows+` === "16 16 32 16;0 48 8 16"`)
	b.do(press("Delete"))
	b.until("the first alone", typedRows+`.startsWith("16 16 32 16") && document.querySelectorAll(".paint-box").length === 1`)
	b.do(cd.Click(cd.CSS("[data-slice]:last-child")))
	b.until("the last image", `document.querySelector(".paint-stage img").src.includes("index=2") && document.querySelector("[data-slice]:last-child").ariaPressed === "true"`)
	b.shoot("painted")
	b.do(cd.EmulateViewport(360, 740))
	if over := b.overflow(); over != "" {
		t.Errorf("too wide by %s", over)
	}
	b.drag(".paint-layer", 0.005, 0.005, 0.5, 0.125)
	b.until("one drawn on a phone", typedRows+` === "16 16 32 16;0 0 32 8"`)
	b.do(cd.Click(cd.CSS("#take-out .button.primary")))
	b.until("the export's page", `document.querySelector("#task-head")`)
	export := p.finished(get[string](b, `document.querySelector("#task-head").dataset.task`)).TaskID
	for _, f := range p.download(export).File {
		if filepath.Ext(f.Name) != ".dcm" {
			continue
		}
		found, err := readElements(readEntry(t, f))
		if err != nil {
			t.Fatal(err)
		}
		pixels := []byte(found["7fe0,0010"] + string(make([]byte, 2*64*64)))[:2*64*64] // readElements takes zeros off the end
		at := func(x, y int) uint16 { return binary.LittleEndian.Uint16(pixels[2*(64*y+x):]) }
		if black := at(0, 0); at(16, 16) != black || at(47, 31) != black || at(31, 7) != black || at(15, 20) == black || at(32, 32) == black {
			t.Errorf("%s: %d %d %d %d %d %d", f.Name, at(0, 0), at(16, 16), at(47, 31), at(31, 7), at(15, 20), at(32, 32))
		}
	}
}

func TestLibrarySeriesAreDeletedByATaskToWatch(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	p := d.newPerson("ada@example.org")
	p.finished(p.bringIn(study(t, 1, 4, 16)))
	p.finished(p.bringIn(burned(t)))
	b := d.open().signIn("ada@example.org")
	b.visit("/library")
	b.do(cd.Click(cd.CSS("[data-pick-study]")))
	b.until("the study's series", `document.getElementById("selection-summary").textContent.includes("2 series")`)
	b.do(cd.Click(cd.CSS("#selection-delete")))
	b.until("the question", `document.querySelector("#dialog[open] .deletion")`)
	b.do(cd.Click(cd.CSS(".deletion .danger")))
	b.until("the task's page", `document.querySelector("#task-head")`)
	deletion := p.finished(get[string](b, `document.querySelector("#task-head").dataset.task`))
	if deletion.Kind != "delete" {
		t.Errorf("it is a task of kind %q", deletion.Kind)
	}
	if left := p.library(); len(left) != 1 || left[0].Instances != 3 {
		t.Errorf("the library has %+v", left)
	}
}
