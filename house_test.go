package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mayImport says which rooms of the house each room may use. Imports point inward, so that who reads
// one room need not know those outside it, and only main sees the stores.
var mayImport = map[string][]string{
	"tasks":    {},
	"dicom":    {},
	"accounts": {},
	"static":   {},
	"imaging":  {"tasks", "dicom"},
	"views":    {"tasks", "imaging", "accounts", "static"},
	"handlers": {"tasks", "dicom", "imaging", "accounts", "views", "static"},
	"mongo":    {"tasks", "imaging", "accounts"},
	"sqlite":   {"tasks", "imaging", "accounts"},
	"e2e":      {},
	"":         {"tasks", "imaging", "accounts", "handlers", "views", "static", "mongo", "sqlite", "dicom"},
}

// engineUses is all that the engine may need from others, so that it is worth using alone.
var engineUses = []string{"github.com/oklog/ulid/v2", "golang.org/x/time/rate"}

type goPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func TestImportsPointInward(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		room := roomOf(p.ImportPath)
		allowed, known := mayImport[room]
		if !known {
			t.Errorf("%s: the house has no room %q: say in mayImport what it may use", p.ImportPath, room)
		}
		helper := isTestHelper(p.ImportPath)
		for _, path := range p.Imports {
			switch other := roomOf(path); {
			case !ours(path):
				if room == "tasks" && !helper && strings.Contains(path, ".") && !slices.Contains(engineUses, path) {
					t.Errorf("%s imports %s: the engine uses the standard library and %v alone", p.ImportPath, path, engineUses)
				}
			case isTestHelper(path) && !helper:
				t.Errorf("%s imports %s, which is for tests alone", p.ImportPath, path)
			case other != room && !slices.Contains(allowed, other):
				t.Errorf("%s imports %s: %q may use %q alone", p.ImportPath, path, room, allowed)
			}
		}
		if room != "e2e" {
			continue
		}
		for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
			if ours(path) && roomOf(path) != "e2e" {
				t.Errorf("%s imports %s: a black box knows nothing of what is inside", p.ImportPath, path)
			}
		}
	}
}

func ours(path string) bool { return path == "filmroom" || strings.HasPrefix(path, "filmroom/") }

// roomOf is the first folder of a package of ours, "" for main.
func roomOf(path string) string {
	room, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, "filmroom"), "/"), "/")
	return room
}

func isTestHelper(path string) bool { return ours(path) && strings.HasSuffix(path, "test") }

func listPackages(t *testing.T) (all []goPackage) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		t.Fatal(describe(err))
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// What `make generate` writes is committed, so that a clone builds at once; here it is made again beside
// the tree and compared.
func TestGeneratedPagesAreFresh(t *testing.T) {
	t.Parallel()
	dir := copyTree(t, "views", func(path string) bool { return strings.HasSuffix(path, ".templ") })
	command(t, nil, "go", "tool", "templ", "generate", "-log-level", "error", "-path", dir)
	compare(t, dir, "views", "_templ.go")
}

func TestGeneratedTablesAreFresh(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("FILMROOM_SHARED")
	if shared == "" {
		shared = "../shared"
	}
	shared, err := filepath.Abs(shared)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(shared, "dicom-standard")); err != nil {
		t.Skip("the standard's tables are not beside the repository (FILMROOM_SHARED): ", err)
	}
	dir := copyTree(t, "dicom", func(path string) bool { return strings.HasSuffix(path, "_gen.go") })
	command(t, []string{"FILMROOM_SHARED=" + shared}, "go", "run", "./dicom/internal/gen", dir)
	compare(t, dir, "dicom", "_gen.go")
}

// copyTree copies the chosen files of a room, folders and all, to a new place of the same name.
func copyTree(t *testing.T, room string, chosen func(path string) bool) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), room)
	err := filepath.WalkDir(room, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !chosen(path) {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		to := filepath.Join(filepath.Dir(dir), path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, body, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// compare holds the generated files of the tree against those just made, both ways.
func compare(t *testing.T, made, tree, suffix string) {
	t.Helper()
	want, got := generated(t, made, suffix), generated(t, tree, suffix)
	if len(want) == 0 {
		t.Fatalf("nothing was generated in %s", made)
	}
	for name, body := range want {
		if got[name] != body {
			t.Errorf("%s is not what its source makes: run `make generate` and commit it", filepath.Join(tree, name))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is made by nothing any more: delete it", filepath.Join(tree, name))
		}
	}
}

func generated(t *testing.T, root, suffix string) map[string]string {
	t.Helper()
	bodies := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, suffix) {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		bodies[name] = string(body)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bodies
}

func command(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

func describe(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(exit.Stderr)
	}
	return err.Error()
}
