package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	cd "github.com/chromedp/chromedp"
)

// A place is a page in a state worth looking at.
type place struct {
	name, path string
	prepare    func(b *tab)
}

// places makes a desk with something on every page.
func places(t *testing.T) (*desk, *program, []place) {
	t.Helper()
	d := startDesk(t, nil)
	p := d.newPerson("ada@example.org")
	imported := p.finished(p.bringIn(study(t, 1, 60, 64))).TaskID
	all := p.library()
	export := p.finished(p.takeOut(all[0].SeriesID)).TaskID
	failed := p.end(p.bringIn([]byte("PK\x03\x04 no archive at all"))).TaskID
	p.finished(p.bringIn(burned(t)))
	delete := func(b *tab) {
		b.do(cd.Click(cd.CSS("[data-pick]")), cd.Click(cd.CSS("#selection-delete")))
		b.until("the dialog", `document.querySelector("#dialog[open] .deletion")`)
	}
	return d, p, []place{
		{"board", "/", nil},
		{"board with nothing that matches", "/?q=nothing", nil},
		{"import", "/tasks/" + imported, nil},
		{"export", "/tasks/" + export, nil},
		{"failed import", "/tasks/" + failed, nil},
		{"library", "/library", nil},
		{"series", "/library/series/" + all[0].SeriesID, nil},
		{"take-out dialog", "/library", takesOutAll},
		{"take-out dialog with a mistake", "/library", func(b *tab) {
			takesOutAll(b)
			b.do(cd.Evaluate[cd.Void](`document.querySelectorAll("#take-out details").forEach((d) => (d.open = true))`))
			b.do(cd.Click(cd.CSS("#take-out [value=emptyTimes]")))
			b.until("the mistake", `document.querySelector("#take-out-error-options span")`)
		}},
		{"take-out dialog with a rectangle", "/library", func(b *tab) {
			takesOutAll(b)
			b.do(cd.Click(cd.CSS(".suspect summary")), cd.Click(cd.CSS("[data-add]")))
			b.until("the rectangle", `document.querySelector(".paint-box") && document.querySelector(".paint-stage img").complete`)
		}},
		{"deletion dialog", "/library", delete},
		{"account", "/account", nil},
		{"unknown page", "/tasks/01JD0000000000000000000000", nil},
		{"keys", "/", func(b *tab) {
			b.do(press("?"))
			b.until("the list of keys", `document.querySelector("#keys[open]")`)
		}},
	}
}

func TestEveryPageIsAccessibleInBothThemesAndOnAPhone(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d, _, all := places(t)
	b, plain := d.open().signIn("ada@example.org"), d.open()
	look := func(b *tab, p place) {
		t.Helper()
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			b.do(cd.EmulateViewport(1280, 900))
			b.visit(p.path)
			if p.prepare != nil {
				p.prepare(b)
			}
			b.shoot(p.name + " " + theme)
			for _, found := range b.axe() {
				t.Errorf("%s, %s: %s", p.name, theme, found)
			}
			b.do(cd.EmulateViewport(360, 740))
			if over := b.overflow(); over != "" {
				t.Errorf("%s at 360 px is too wide by %s", p.name, over)
			}
			b.shoot(p.name + " " + theme + " narrow")
			for _, found := range b.axe() {
				t.Errorf("%s, %s, 360 px: %s", p.name, theme, found)
			}
		}
	}
	for _, p := range all {
		look(b, p)
	}
	look(plain, place{"sign-in", "/login", nil})
	fresh := startDesk(t, nil)
	look(fresh.open(), place{"set-up", fresh.setupLink(), nil})
	fresh.newPerson("bob@example.org")
	look(fresh.open().signIn("bob@example.org"), place{"empty board", "/", nil})
	look(fresh.open().signIn("bob@example.org"), place{"empty library", "/library", nil})
}

func TestTheDeskIsWorkedByKeys(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d, _, _ := places(t)
	b := d.open().signIn("ada@example.org")
	focused := func(js string) string { return `document.activeElement?.matches("` + js + `")` }

	b.do(press("Tab"))
	b.until("the skip link first", focused(".skip"))
	b.do(press("/"))
	b.until("the search", focused("[data-search]"))
	b.do(press("j")) // is text in a search, and no command
	if value := get[string](b, "document.activeElement.value"); value != "j" {
		t.Errorf("the search holds %q", value)
	}
	b.visit("/")
	rows := get[int](b, `document.querySelectorAll("#list a[data-row]").length`)
	if rows != 4 {
		t.Fatalf("the board shows %d tasks, want 4", rows)
	}
	b.do(press("j"), press("j"), press("k"))
	b.until("the first row", `document.activeElement === document.querySelector("#list a[data-row]")`)
	first := get[string](b, "document.activeElement.pathname")
	b.do(press("Enter"))
	b.until("its page", fmt.Sprintf("location.pathname === %q && document.readyState === `complete`", first))
	b.do(press("g"), press("l"))
	b.until("the library", `location.pathname === "/library" && document.readyState === "complete"`)
	b.do(press("j"), press("x"))
	b.until("a ticked series", `document.querySelector("[data-pick]").checked`)
	b.do(press("?"))
	b.until("the list of keys", `document.querySelector("#keys[open]")`)
	b.do(press("Escape"))
	b.until("it to close", `!document.querySelector("#keys[open]")`)
	b.do(press("g"), press("b"))
	b.until("the board", `location.pathname === "/"`)
}

// Names are shown as they are and break no page.
func TestHostileNamesAreText(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	p := d.newPerson("ada@example.org")
	const name = `"><img src=x onerror=alert(1)>` + "\u202egnp.\U0001F600" + `.dcm`
	formula := "=1+1.dcm"
	files := map[string][]byte{name: ct{study: 1, series: 1, n: 1, pixels: 16}.bytes(), formula: ct{study: 1, series: 1, n: 2, pixels: 16}.bytes()}
	id := p.finished(p.bringIn(zipped(t, files, name, formula))).TaskID
	b := d.open().signIn("ada@example.org")
	b.visit("/tasks/" + id)
	b.until("the name, letter by letter", fmt.Sprintf(`[...document.querySelectorAll("#receipt-rows .file")].some((cell) => cell.textContent === %s)`, quoted(name)))
	if get[int](b, `document.querySelectorAll("main img").length`) != 0 {
		t.Error("a name became an element")
	}
	_, csv := p.do("GET", "/api/tasks/"+id+"/receipt", nil, "Accept", "text/csv")
	for line := range strings.Lines(string(csv)) {
		for cell := range strings.SplitSeq(line, ",") {
			if strings.HasPrefix(strings.Trim(cell, `"`), "=") {
				t.Errorf("a spreadsheet would run %s", line)
			}
		}
	}
}
