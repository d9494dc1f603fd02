package imaging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"filmroom/dicom"
	"filmroom/dicom/deid"
)

// A look is what the first pass sees of a file.
type look struct {
	facts Series
	who   patient
	says  deid.Identity
	err   error
}

// scan learns who the patients are and what each study says of them.
func (f *folder) scan(ctx context.Context) error {
	var first []Series // of each patient
	var walking error
	err := inOrder(ctx, f.Workers, 2*f.Workers, f.paths(&walking), lookAt, func(_ context.Context, l look) error {
		if reason, err := reasonOf(l.err); reason != "" || err != nil {
			return err // what cannot be read is refused when its turn comes
		}
		if _, known := f.subjects[l.who]; !known {
			f.subjects[l.who] = deid.Subject{}
			first = append(first, l.facts)
		}
		if f.studies[l.facts.StudyUID] == nil {
			f.studies[l.facts.StudyUID] = &study{uid: l.facts.StudyUID}
		}
		f.studies[l.facts.StudyUID].identity.Merge(&l.says)
		return nil
	}, func(look) {})
	if err = errors.Join(err, walking); err != nil {
		return err
	}
	return f.namePatients(first)
}

// lookAt is a worker's turn in the first pass.
func lookAt(_ context.Context, path string) (l look) {
	l.err = withFile(path, func(file *dicom.File) error {
		l.facts, _, _ = factsOf(file)
		l.who = patientOfFile(file)
		l.says.Collect(file.Dataset)
		return nil
	}, dicom.StopAtPixels())
	return l
}

// namePatients gives all patients their pseudonyms and all else that is the same in their files.
func (f *folder) namePatients(first []Series) error {
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

// reasonOf says why a file stays behind, "" if it may leave. An error is none of the file's.
func reasonOf(err error) (string, error) {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return "it cannot be opened", nil
	}
	return unfit(err)
}

// A rewritten file waits for its name.
type rewritten struct {
	path   string // where it was
	tmp    string
	series Series
	mapped Mapped
	report deid.Report
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
		case of.identity.Crowded():
			w.reason = crowded
		}
		if w.reason != "" {
			return nil
		}
		subject.Identity = of.identity
		if f.Mapped != nil {
			w.mapped = f.mappedOf(w.series, instance, subject.Pseudonym)
		}
		w.tmp, w.report, err = f.write(file, subject)
		return err
	})
	if w.reason == "" {
		w.reason, w.err = reasonOf(err)
	}
	return w
}

func (f *folder) mappedOf(s Series, i Instance, pseudonym string) Mapped {
	return Mapped{PatientID: s.PatientID, Pseudonym: pseudonym, StudyUID: s.StudyUID, NewStudyUID: f.mapping(s.StudyUID),
		SeriesUID: s.SeriesUID, NewSeriesUID: f.mapping(s.SeriesUID), InstanceUID: i.SOPInstanceUID, NewInstanceUID: f.mapping(i.SOPInstanceUID)}
}

// write makes a file without a name.
func (f *folder) write(file *dicom.File, subject deid.Subject) (path string, report deid.Report, err error) {
	out, err := os.CreateTemp(f.staging, "*.tmp")
	if err != nil {
		return "", report, err
	}
	report, err = f.plan.Apply(out, file, subject)
	if err = errors.Join(err, out.Close()); err != nil {
		err = errors.Join(err, os.Remove(out.Name()))
	}
	return out.Name(), report, err
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
	if f.Changed != nil {
		if err := f.Changed(cmp.Or(w.mapped.Name, filepath.Base(f.Out)), w.report); err != nil {
			return err
		}
	}
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
		to = &destination{folder: filepath.FromSlash(f.names.folder(string(w.who), w.series.StudyUID))}
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
