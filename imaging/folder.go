package imaging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"

	"filmroom/dicom"
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

	Refused func(path, reason string) // told of each file that stays behind
	Mapped  func(Mapped) error        // told who is who in each file that is written; nil: nobody asks
}

// FolderResult says how many files there were.
type FolderResult struct{ Files, Written int64 }

// DeidentifyFolder reads In twice: first for whom its files are about, then to rewrite them. Names in Out
// are numbers, as in an export's archive. Out appears when all of it is written, or not at all; files that
// may not leave are left out and told of. [FieldErrors] say what is wrong with the request.
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

// scan learns who the patients are and what each study says of them.
func (f *folder) scan(ctx context.Context) error {
	var first []Series // of each patient
	var walking error
	for path := range f.paths(&walking) {
		if err := ctx.Err(); err != nil {
			return err
		}
		_ = withFile(path, func(file *dicom.File) error { // what cannot be read is refused when its turn comes
			facts, _, _ := factsOf(file)
			who := patientOfFile(file)
			if _, known := f.subjects[who]; !known {
				f.subjects[who] = deid.Subject{}
				first = append(first, facts)
			}
			f.learn(facts.StudyUID, file)
			return nil
		}, dicom.StopAtPixels())
	}
	if walking != nil {
		return walking
	}
	request := ExportRequest{PseudonymPrefix: f.Prefix}
	if f.Key != nil {
		request.Key = "named"
	}
	given, wrong := pseudonyms(request, f.hidden, first)
	f.hidden.Patients = given
	for who := range f.subjects {
		subject, _ := f.hidden.subject(who)
		subject.PixelsReviewed, subject.Blackout = f.PixelsReviewed, rectangles(f.Blackout)
		f.subjects[who] = subject
	}
	return wrong.orNil()
}

func (f *folder) learn(studyUID string, file *dicom.File) {
	s := f.studies[studyUID]
	if s == nil {
		s = &study{uid: studyUID}
		f.studies[studyUID] = s
	}
	if s.crowded {
		return
	}
	s.identity.Collect(file.Dataset)
	s.crowded = s.identity.Len() > maxIdentity
}

// A rewritten file waits for its name.
type rewritten struct {
	path   string // where it was
	tmp    string
	series Series
	mapped Mapped
	who    patient
	reason string
	err    error
}

// rewrite is a worker's turn.
func (f *folder) rewrite(_ context.Context, path string) (w rewritten) {
	w.path = path
	err := withFile(path, func(file *dicom.File) (err error) {
		var instance Instance
		w.series, instance, _ = factsOf(file)
		w.who = patientOfFile(file)
		subject, known := f.subjects[w.who]
		of := f.studies[w.series.StudyUID]
		switch {
		case !known || of == nil:
			w.reason = "it has changed while it was read"
		case of.crowded:
			w.reason = crowded
		}
		if w.reason != "" {
			return nil
		}
		subject.Identity = of.identity
		if f.Mapped != nil {
			w.mapped = f.mappedOf(w.series, instance, subject.Pseudonym)
		}
		w.tmp, err = f.write(file, subject)
		return err
	})
	switch {
	case w.reason != "":
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		w.reason = "it cannot be opened"
	default:
		w.reason, w.err = unfit(err)
	}
	return w
}

func (f *folder) mappedOf(s Series, i Instance, pseudonym string) Mapped {
	return Mapped{PatientID: s.PatientID, Pseudonym: pseudonym, StudyUID: s.StudyUID, NewStudyUID: f.mapping(s.StudyUID),
		SeriesUID: s.SeriesUID, NewSeriesUID: f.mapping(s.SeriesUID), InstanceUID: i.SOPInstanceUID, NewInstanceUID: f.mapping(i.SOPInstanceUID)}
}

// write makes a file without a name.
func (f *folder) write(file *dicom.File, subject deid.Subject) (path string, err error) {
	out, err := os.CreateTemp(f.staging, "*.tmp")
	if err != nil {
		return "", err
	}
	_, err = f.plan.Apply(out, file, subject)
	if err = errors.Join(err, out.Close()); err != nil {
		err = errors.Join(err, os.Remove(out.Name()))
	}
	return out.Name(), err
}

// commit gives a file its name, in the order in which files were read.
func (f *folder) commit(_ context.Context, w rewritten) error {
	if w.err != nil {
		return fmt.Errorf("%s: %w", w.path, w.err)
	}
	f.result.Files++
	if w.reason != "" {
		f.Refused(w.path, w.reason)
		return nil
	}
	name := "file"
	if f.many {
		var err error
		if name, err = f.name(w); err != nil {
			return err
		}
		w.mapped.Name, name = filepath.ToSlash(name), filepath.Join("out", name)
	}
	if err := os.Rename(w.tmp, filepath.Join(f.staging, name)); err != nil {
		return err
	}
	f.result.Written++
	if f.Mapped == nil {
		return nil
	}
	return f.Mapped(w.mapped)
}

// name is the next of a file's series, in a folder that is there.
func (f *folder) name(w rewritten) (string, error) {
	key := string(w.who) + "\x00" + w.series.StudyUID + "\x00" + w.series.SeriesUID
	to := f.series[key]
	if to == nil {
		to = &destination{folder: filepath.FromSlash(f.names.folder(w.who, w.series))}
		if err := os.MkdirAll(filepath.Join(f.staging, "out", to.folder), 0o700); err != nil {
			return "", err
		}
		f.series[key] = to
	}
	to.images++
	return filepath.Join(to.folder, fmt.Sprintf("IM%06d.dcm", to.images)), nil
}

// withFile reads a DICOM file. One that makes the reader panic is malformed.
func withFile(path string, do func(*dicom.File) error, options ...dicom.Option) (err error) {
	defer func() {
		if recover() != nil {
			err = &dicom.Error{Err: dicom.ErrMalformed, Offset: -1, Reason: "this file could not be understood"}
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	file, err := dicom.Parse(f, info.Size(), append(options, reading)...)
	if err != nil {
		return err
	}
	return do(file)
}
