package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cd "github.com/chromedp/chromedp"
)

// browser is one Chromium for all tests; each person has a context of their own in it, with its own
// cookies, and each context its own window, because tabs of one window hide each other.
var browser = sync.OnceValues(func() (context.Context, error) {
	path, err := chromium()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(scratch, "chromium-*")
	if err != nil {
		return nil, err
	}
	options := []cd.ExecAllocatorOption{cd.ExecPath(path), cd.UserDataDir(dir), cd.WindowSize(1280, 900)}
	for _, flag := range []string{
		"headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
		"disable-component-update", "disable-sync", "disable-dev-shm-usage", "disable-extensions",
		"no-default-browser-check", "disable-backgrounding-occluded-windows", "disable-renderer-backgrounding",
	} {
		options = append(options, cd.Flag(flag, true))
	}
	allocator, closeAllocator := cd.NewExecAllocator(context.Background(), options...)
	ctx, closeContext := cd.NewContext(allocator)
	closeBrowser = func() {
		closeContext()
		closeAllocator()
	}
	return ctx, cd.Do(ctx)
})

// closeBrowser ends the browser, if it was started.
var closeBrowser = func() {}

func chromium() (string, error) {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no chromium: `make test` installs it, or CHROMIUM names one")
}

// A tab is a window of a person's browser.
type tab struct {
	t    *testing.T
	desk *desk
	ctx  context.Context
}

// open opens a window with cookies of its own, which nobody is signed in to yet.
func (d *desk) open() *tab {
	d.t.Helper()
	parent, err := browser()
	if err != nil {
		d.t.Fatal(err)
	}
	ctx, cancel := cd.NewContext(parent, cd.WithNewBrowserContext())
	d.t.Cleanup(cancel)
	// The window lives as long as the context of the first action.
	if err := cd.Do(ctx); err != nil {
		d.t.Fatal(err)
	}
	b := &tab{d.t, d, ctx}
	b.do(cd.EmulateViewport(1280, 900))
	b.watch()
	return b
}

// watch fails the test when a page throws, or asks for what its Content-Security-Policy forbids.
func (b *tab) watch() {
	messages := cd.Console(b.ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.IsException() || strings.Contains(m.String(), "Content Security Policy") {
				b.t.Errorf("the page at %s says: %s", m.URL, m)
			}
		}
	}()
}

// do runs browser actions within the test's patience.
func (b *tab) do(actions ...cd.Action[cd.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := cd.Do(ctx, actions...); err != nil {
		b.shoot("failed")
		b.t.Fatal(err)
	}
}

// get evaluates JavaScript in a page. What a page is about to be replaced cannot answer is asked again.
func get[T any](b *tab, js string) (value T) {
	b.t.Helper()
	eventually(b.t, js, func() bool {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		defer cancel()
		var err error
		value, err = cd.Run(ctx, cd.Evaluate[T](js))
		if exception, ok := errors.AsType[*cd.ExceptionError](err); ok {
			b.t.Fatalf("%s: %v", js, exception)
		}
		return err == nil
	})
	return value
}

// until waits for a condition on the page.
func (b *tab) until(what, js string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := cd.Run(ctx, cd.Evaluate[bool]("!!("+js+")")); err == nil && ok {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			b.shoot("failed")
			text, _ := cd.Run(b.ctx, cd.Evaluate[string]("location.href + '\\n' + document.body.innerText"))
			b.t.Fatalf("waited %v for %s; the page:\n%s", patience, what, text)
		}
	}
}

// visit loads a page and waits for its scripts.
func (b *tab) visit(path string) {
	b.t.Helper()
	url := path
	if strings.HasPrefix(path, "/") {
		url = b.desk.url + path
	}
	b.do(cd.Navigate(url))
	b.until("the page's scripts", `document.readyState === "complete"`)
}

// signIn signs a person in who was made with newPerson.
func (b *tab) signIn(email string) *tab {
	b.t.Helper()
	b.visit("/login")
	b.do(
		cd.SendKeys(cd.CSS(`input[name=email]`), email),
		cd.SendKeys(cd.CSS(`input[name=password]`), password),
		cd.Click(cd.CSS(`form button.primary`)),
	)
	b.until("the board and its scripts", `document.getElementById("board") && document.readyState === "complete"`)
	return b
}

// choose puts a file into the place where people bring files in.
func (b *tab) choose(name string, body []byte) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), name)
	if err := os.WriteFile(path, body, 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.do(cd.SetUploadFiles(cd.CSS("#bring-files"), []string{path}))
}

// dark or light, as the person's system says.
func (b *tab) theme(name string) {
	b.t.Helper()
	b.do(cd.Func(func(ctx context.Context, t *cd.Target) error {
		_, err := cd.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"}},
		})
		return err
	}))
}

// shoot keeps a picture of the page for people to look at.
func (b *tab) shoot(name string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	png, err := cd.Run(ctx, cd.FullScreenshot(100))
	if err == nil {
		err = os.MkdirAll("screenshots", 0o755)
	}
	if err == nil {
		file := strings.ReplaceAll(b.t.Name(), "/", "-") + "-" + name + ".png"
		err = os.WriteFile(filepath.Join("screenshots", file), png, 0o644)
	}
	if err != nil {
		b.t.Logf("no picture %s: %v", name, err)
	}
}

// axe returns what axe-core finds wrong with the page, one line each.
func (b *tab) axe() []string {
	b.t.Helper()
	source, err := os.ReadFile("../static/node_modules/axe-core/axe.min.js")
	if err != nil {
		b.t.Fatalf("axe-core comes with `make assets`: %v", err)
	}
	b.do(cd.Evaluate[cd.Void](string(source)))
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	found, err := cd.Run(ctx, cd.Evaluate[[]string](`axe.run(document, {resultTypes: ["violations"]}).then((r) =>
		r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.target.join(" ") + ": " + n.failureSummary)))`, cd.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

// overflow returns how many pixels the page is wider than its window, and what sticks out.
func (b *tab) overflow() string {
	b.t.Helper()
	return get[string](b, `(() => {
		const over = document.documentElement.scrollWidth - innerWidth;
		if (over <= 0) return "";
		const out = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1);
		return over + " px: " + out.slice(0, 5).map((e) => e.tagName + "." + e.className + "#" + e.id).join(", ");
	})()`)
}

func taskRow(id string) string { return fmt.Sprintf(`document.getElementById("task-%s")`, id) }

// quoted is a string as JavaScript.
func quoted(s string) string {
	b, _ := json.Marshal(s) // strings always can be
	return string(b)
}

// press presses and releases a key: a character, or a key by its name. A page that handles it keeps its
// character from being typed, as with a real keyboard.
func press(key string) cd.Action[cd.Void] {
	named := map[string]input.DispatchKeyEventParams{
		"Tab":    {WindowsVirtualKeyCode: 9},
		"Enter":  {WindowsVirtualKeyCode: 13, Text: "\r"},
		"Escape": {WindowsVirtualKeyCode: 27},
		" ":      {WindowsVirtualKeyCode: 32, Text: " "},

		"ArrowRight": {WindowsVirtualKeyCode: 39}, "ArrowDown": {WindowsVirtualKeyCode: 40}, "Delete": {WindowsVirtualKeyCode: 46},
	}
	key, shifted := strings.CutPrefix(key, "Shift+")
	params, ok := named[key]
	if !ok {
		params = input.DispatchKeyEventParams{Text: key}
	}
	params.Key = key
	if shifted {
		params.Modifiers = 8
	}
	return cd.Func(func(ctx context.Context, t *cd.Target) error {
		for _, params.Type = range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
			if params.Type == input.DispatchKeyEventTypeKeyUp {
				params.Text = ""
			}
			if _, err := cd.Call(ctx, input.DispatchKeyEvent, params); err != nil {
				return err
			}
		}
		return nil
	})
}
