// Package static holds what the browser loads: our scripts and styles, bundled with htmx into dist by
// `make assets`. Their addresses carry a hash of their content, so a browser may keep them for good and
// never shows an old one.
package static

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// dist is empty but for its .gitignore on a fresh clone, so that everything builds before npm has run.
//
//go:embed all:dist
var dist embed.FS

// Prefix is the path under which [Handler] serves.
const Prefix = "/assets/"

// An asset is a file with the address it is served at.
type asset struct {
	body []byte
	mime string
	etag string
}

// A Set is a collection of assets, known by name and by address.
type Set struct {
	urls   map[string]string // app.js -> /assets/app.3f2a9c1b.js
	served map[string]asset  // by address
}

var bundled = mustLoad()

// URL is the address of an asset by its name: "app.js". An asset that was not built keeps its plain name,
// under which [Handler] says what to do about it.
func URL(name string) string { return bundled.URL(name) }

// Missing reports what must be run before pages can work, or "" when the assets are there.
func Missing() string { return bundled.Missing() }

// Handler serves the assets under [Prefix].
func Handler() http.Handler { return bundled }

func mustLoad() *Set {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // only if the path above is not a valid one
	}
	set, err := Load(files)
	if err != nil {
		panic(err) // only if the binary's own embedded files cannot be read
	}
	return set
}

// Load takes in all files of a folder, but for those whose name begins with a dot.
func Load(files fs.FS) (*Set, error) {
	set := &Set{urls: map[string]string{}, served: map[string]asset{}}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("read asset %s: %w", name, err)
		}
		set.add(name, body)
		return nil
	})
	return set, err
}

func (s *Set) add(name string, body []byte) {
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:6])
	ext := path.Ext(name)
	address := Prefix + strings.TrimSuffix(name, ext) + "." + hash + ext
	s.urls[name] = address
	s.served[address] = asset{body: body, mime: mediaType(ext), etag: strconv.Quote(hash)}
}

// mediaType does not leave the types of scripts and styles to the machine's own tables, which are wrong on some.
func mediaType(ext string) string {
	switch ext {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	if t := mime.TypeByExtension(ext); t != "" {
		return t
	}
	return "application/octet-stream"
}

// URL is the address of an asset of this set.
func (s *Set) URL(name string) string {
	if address, ok := s.urls[name]; ok {
		return address
	}
	return Prefix + name
}

// Missing says what to run when the set lacks the scripts.
func (s *Set) Missing() string {
	if _, ok := s.urls["app.js"]; ok {
		return ""
	}
	return "the pages' scripts and styles are not built: run `make assets` and build again"
}

func (s *Set) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, ok := s.served[r.URL.Path]
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "assets can only be read", http.StatusMethodNotAllowed)
	case !ok && s.Missing() != "":
		h.Set("Cache-Control", "no-store")
		http.Error(w, s.Missing(), http.StatusNotFound)
	case !ok:
		h.Set("Cache-Control", "no-store")
		http.Error(w, "no such asset", http.StatusNotFound)
	default:
		serve(w, r, a)
	}
}

func serve(w http.ResponseWriter, r *http.Request, a asset) {
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("ETag", a.etag)
	if r.Header.Get("If-None-Match") == a.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", a.mime)
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(a.body) // the reader has gone; there is nobody to tell
	}
}
