package static

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func setup(t *testing.T, files map[string]string) *Set {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, body := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(body)}
	}
	set, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func get(s *Set, method, path, etag string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	if etag != "" {
		r.Header.Set("If-None-Match", etag)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestAnAssetIsServedForGoodUnderAnAddressOfItsContent(t *testing.T) {
	t.Parallel()
	s := setup(t, map[string]string{"app.js": "one", "app.css": "a{}", "icon.svg": "<svg/>"})
	for name, mime := range map[string]string{"app.js": "text/javascript; charset=utf-8", "app.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"} {
		w := get(s, "GET", s.URL(name), "")
		h := w.Header()
		if w.Code != http.StatusOK || h.Get("Content-Type") != mime || !strings.Contains(h.Get("Cache-Control"), "immutable") || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", name, w.Code, h)
		}
	}
	if other := setup(t, map[string]string{"app.js": "two"}); other.URL("app.js") == s.URL("app.js") {
		t.Errorf("other content has the same address %s", other.URL("app.js"))
	}
}

func TestABrowserThatHasAnAssetIsToldSo(t *testing.T) {
	t.Parallel()
	s := setup(t, map[string]string{"app.js": "one"})
	etag := get(s, "GET", s.URL("app.js"), "").Header().Get("ETag")
	if w := get(s, "GET", s.URL("app.js"), etag); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("%d, %d bytes", w.Code, w.Body.Len())
	}
	if w := get(s, "HEAD", s.URL("app.js"), ""); w.Code != http.StatusOK || w.Body.Len() != 0 || w.Header().Get("Content-Length") != "3" {
		t.Errorf("HEAD: %d, %d bytes, %v", w.Code, w.Body.Len(), w.Header())
	}
}

func TestWithoutABundleTheAnswerSaysWhatToRun(t *testing.T) {
	t.Parallel()
	s := setup(t, map[string]string{".gitignore": "*"})
	w := get(s, "GET", s.URL("app.js"), "")
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "make assets") || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	if s.Missing() == "" || setup(t, map[string]string{"app.js": "x"}).Missing() != "" {
		t.Error("Missing")
	}
}

func TestWhatIsNotAnAssetIsNotServed(t *testing.T) {
	t.Parallel()
	s := setup(t, map[string]string{"app.js": "one", ".gitignore": "*"})
	for _, path := range []string{"/assets/", "/assets/.gitignore", "/assets/app.js", "/assets/../go.mod", "/assets/app.000000000000.js"} {
		if w := get(s, "GET", path, ""); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := get(s, "POST", s.URL("app.js"), ""); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d", w.Code)
	}
}
