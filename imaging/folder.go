package imaging

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"

	"filmroom/dicom/deid"
)

// A FolderRequest de-identifies files on a disk as an export does those of a library, without a desk.
type FolderRequest struct {
	In, Out        string   // both folders, or both files; Out must not exist
	Options        []string // those that are on
	Prefix         string   // of pseudonyms; "" is P
	Key            []byte   // 32 bytes; requests under one key agree. nil: nothing agrees
	PixelsReviewed bool     // somebody looked at all of In
	Blackout       [][]int  // painted over in all of In: x, y, width, height
	Workers        int      // 0: one for each processor

	Refused func(path, reason string)                   // told of each file that stays behind
	Mapped  func(Mapped) error                          // told who is who in each file that is written; nil: nobody asks
	Changed func(name string, report deid.Report) error // told what was changed in it; nil: nobody asks
}

// FolderResult says how many files there were.
type FolderResult struct{ Files, Written int64 }

// DeidentifyFolder reads In twice: first for whom its files are about, then to rewrite them. Names in Out
// are numbers, as in an export's archive. Out appears when all of it is written, or not at all; files that
// may not leave are left out and told of. [FieldErrors] say what is wrong with the request.
//
// Killed, it leaves a folder .filmroom-* beside Out and nothing else. It waits for no disk: In is still there
// for whoever loses power.
func DeidentifyFolder(ctx context.Context, r FolderRequest) (FolderResult, error) {
	f, err := newFolder(r)
	if err != nil {
		return FolderResult{}, err
	}
	if err := f.scan(ctx); err != nil {
		return FolderResult{}, err
	}
	if f.staging, err = os.MkdirTemp(filepath.Dir(r.Out), ".filmroom-*"); err != nil {
		return FolderResult{}, err
	}
	defer os.RemoveAll(f.staging)
	var walking error
	err = inOrder(ctx, f.Workers, 2*f.Workers, f.paths(&walking), f.rewrite, f.commit, func(rewritten) {})
	if err = errors.Join(err, walking); err != nil || f.result.Written == 0 {
		return f.result, err
	}
	whole := filepath.Join(f.staging, "out")
	if !f.many {
		whole = filepath.Join(f.staging, "file")
	}
	return f.result, os.Rename(whole, r.Out)
}

// A folder is one request under way.
type folder struct {
	FolderRequest
	plan    *deid.Plan
	hidden  *secret
	many    bool // In is a folder
	staging string
	result  FolderResult

	studies  map[string]*study
	subjects map[patient]deid.Subject
	mapping  func(uid string) string
	names    numbering
	series   map[string]*destination
}

// A destination is where the files of a series go.
type destination struct {
	folder string
	images int // files there are in it
}

func newFolder(r FolderRequest) (*folder, error) {
	request := ExportRequest{Profile: deid.Basic, Options: map[string]json.RawMessage{}, PseudonymPrefix: r.Prefix}
	for _, name := range r.Options {
		request.Options[name] = json.RawMessage("true")
	}
	plan, wrong := planOf(request)
	for _, rectangle := range r.Blackout {
		if badRectangle(rectangle) {
			wrong.add("blackout", "a rectangle is x,y,width,height in pixels")
		}
	}
	if err := wrong.orNil(); err != nil {
		return nil, err
	}
	if r.Workers <= 0 {
		r.Workers = runtime.GOMAXPROCS(0)
	}
	f := &folder{FolderRequest: r, plan: plan, hidden: &secret{Key: r.Key},
		studies: map[string]*study{}, subjects: map[patient]deid.Subject{}, series: map[string]*destination{}}
	if r.Key == nil {
		f.hidden.Key = newKey()
	}
	f.mapping = f.hidden.mapping(f.Options)
	return f, f.checkPlaces()
}

// checkPlaces refuses to overwrite, and to write where reading goes on.
func (f *folder) checkPlaces() error {
	in, err := filepath.EvalSymlinks(f.In)
	if err != nil {
		return err
	}
	info, err := os.Stat(in)
	if err != nil {
		return err
	}
	f.In, f.many = in, info.IsDir()
	if _, err := os.Lstat(f.Out); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(FieldErrors{{Field: "out", Reason: "there is something of this name already"}}, err)
	}
	parent, err := filepath.Abs(filepath.Dir(f.Out))
	if err == nil {
		parent, err = filepath.EvalSymlinks(parent)
	}
	if err == nil {
		in, err = filepath.Abs(in)
	}
	if err != nil {
		return err
	}
	if way, err := filepath.Rel(in, parent); f.many && err == nil && filepath.IsLocal(way) {
		return FieldErrors{{Field: "out", Reason: "it must not lie within what is read"}}
	}
	return nil
}

// paths are the files of In, in the order of their names.
func (f *folder) paths(failure *error) iter.Seq[string] {
	return func(yield func(string) bool) {
		*failure = filepath.WalkDir(f.In, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && !yield(path) {
				return fs.SkipAll
			}
			return err
		})
	}
}
