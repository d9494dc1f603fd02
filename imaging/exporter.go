package imaging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"runtime/debug"
	"strings"

	"filmroom/dicom"
	"filmroom/dicom/deid"
	"filmroom/tasks"
)

// ExportResult is the result of a finished export, for programs.
type ExportResult struct {
	Images   int64 `json:"images"` // that were asked for
	Exported int64 `json:"exported"`
	Refused  int64 `json:"refused"`
}

func (d *Desk) exportKind() tasks.Kind {
	return tasks.Define(tasks.Kind{
		Name: exportKindName, Lane: exportKindName, Retry: attempts, Rerunnable: true, Downloadable: "application/zip",
		Ended: func(_ context.Context, t tasks.Task) {
			if t.Status == tasks.StatusFinished { // the others may be retried
				d.forgetIdentities(t)
			}
		},
		Pruned: func(_ context.Context, t tasks.Task) { d.forgetIdentities(t) },
	}, d.runExport)
}

func (d *Desk) forgetIdentities(t tasks.Task) {
	if err := d.identities.remove(t.ID); err != nil {
		d.log.Warn("sealed identities were left behind until the next sweep", "task", t.ID, "err", err)
	}
}

// runExport writes the archive. It may run again after a crash: what decides its bytes was fixed at submit, but
// for what the studies say of their patients, which the first attempt fixes before it writes anything. What is
// deleted from the library before its turn comes is left out and listed.
func (d *Desk) runExport(ctx context.Context, args exportArgs, r *tasks.Run) (tasks.Done, error) {
	x, err := d.newExporter(ctx, args, r)
	if err == nil {
		err = x.run(ctx, args)
	}
	if err != nil {
		return tasks.Done{}, forOwner(err)
	}
	done := ExportResult{Images: x.next, Exported: x.exported, Refused: x.next - x.exported}
	message := fmt.Sprintf("%s of %s exported", thousands(done.Exported), thousands(done.Images))
	if done.Refused > 0 {
		message += fmt.Sprintf(", %s refused", thousands(done.Refused))
	}
	r.Log(slog.LevelInfo, "%s", message)
	return tasks.Done{Message: message, Result: done}, nil
}

// An exporter is one attempt of an export.
type exporter struct {
	desk    *Desk
	task    *tasks.Run
	plan    *deid.Plan
	hidden  *secret
	studies *studies
	library string
	packing *packing // made once there is something to write

	next     int64 // index of the next row
	exported int64
	images   int64 // rows to come
	rows     []Receipt
	summary  *report
}

func (d *Desk) newExporter(ctx context.Context, args exportArgs, r *tasks.Run) (x *exporter, err error) {
	t := r.Task()
	x = &exporter{desk: d, task: r, hidden: &secret{}, images: args.Images, summary: newReport(args)}
	if err := d.sealer.open(t.ID, t.Sealed, x.hidden); err != nil {
		return nil, tasks.Permanent(tasks.UserError("The keys of this export can no longer be opened. Please ask for it again.", err))
	}
	if x.plan, err = compile(args.Profile, args.Options); err != nil {
		return nil, tasks.Permanent(tasks.UserError("This version of the desk does not have what the export asks for.", err))
	}
	if x.library, err = d.libraryOf(ctx, t.UserID); err != nil {
		return nil, err
	}
	return x, d.files.room.check(0)
}

func (x *exporter) run(ctx context.Context, args exportArgs) (err error) {
	if x.studies, err = x.openStudies(ctx); err != nil {
		return err
	}
	defer x.studies.close()
	out, err := x.task.CreateFile(fileName(args.Name, x.task.Task().CreatedAt))
	if err != nil {
		return err
	}
	if x.packing, err = newPacking(ctx, out, x.desk.files, x.task.Task().CreatedAt); err != nil {
		return err
	}
	defer x.packing.close()
	if err := x.task.Phase(ctx, "exporting"); err != nil {
		return err
	}
	var listing error
	err = inOrder(ctx, x.desk.cfg.Workers, 2*x.desk.cfg.Workers, x.items(ctx, args, &listing), x.pack, x.commit, func(p packed) { p.drop() })
	if err = errors.Join(err, listing); err == nil {
		err = x.flush(ctx)
	}
	if err != nil {
		return err
	}
	if x.exported == 0 {
		return tasks.Permanent(tasks.UserError(x.nothing(), nil))
	}
	return x.packing.finish(x.summary)
}

// openStudies opens what the first attempt found out of the patients, or finds it out.
func (x *exporter) openStudies(ctx context.Context) (*studies, error) {
	t := x.task.Task()
	kept, err := x.desk.identities.open(t.ID)
	if !errors.Is(err, fs.ErrNotExist) {
		return kept, err
	}
	if err := x.task.Phase(ctx, "reading"); err != nil {
		return nil, err
	}
	if err := x.desk.identities.write(t, x.readStudies(ctx)); err != nil {
		return nil, err
	}
	return x.desk.identities.open(t.ID)
}

// readStudies yields each study of the export once; the series of one come together.
func (x *exporter) readStudies(ctx context.Context) iter.Seq2[*study, error] {
	return func(yield func(*study, error) bool) {
		for i, s := range x.hidden.Series {
			if i > 0 && s.StudyUID == x.hidden.Series[i-1].StudyUID {
				continue
			}
			x.task.Progress("Reading whose images they are", int64(i), int64(len(x.hidden.Series)))
			if !yield(x.desk.study(ctx, x.library, s.StudyUID, x.task.Task().CreatedAt)) {
				return
			}
		}
	}
}

// nothing says why there is no archive.
func (x *exporter) nothing() string {
	return fmt.Sprintf("None of the %s images could be exported. Most of them: %s. The receipt says why for each.", thousands(x.next), x.summary.mainReason())
}

// Reasons why an image does not leave, besides those of the de-identifier.
const (
	anotherPatient   = "it names another patient than its series"
	deletedMeanwhile = "it was deleted from the library before its turn came"
	notUnderstood    = "this file could not be understood"
)

// pack is a worker's turn: it de-identifies an image into a packed one, or says why not.
func (x *exporter) pack(ctx context.Context, i item) (p packed) {
	p.item = i
	// A file that makes this code panic does not leave; it must not take the desk down with it.
	defer func() {
		if recover() != nil {
			x.desk.log.Error("a file made the de-identifier panic", "stack", string(debug.Stack()))
			p.reason = notUnderstood
		}
		if p.err != nil || p.reason != "" {
			p.drop()
		}
	}()
	if i.deleted {
		p.reason = deletedMeanwhile
		return p
	}
	if i.study.crowded {
		p.reason = crowded
		return p
	}
	f, err := x.desk.files.open(i.instance.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		x.desk.log.Error("a stored file is missing", "sha256", i.instance.SHA256)
		p.reason = "its stored file is missing"
		return p
	}
	if err != nil {
		p.err = err
		return p
	}
	defer f.Close()
	file, err := dicom.Parse(f, i.instance.Size, reading)
	if err == nil {
		subject, known := x.hidden.subject(patientOfFile(file))
		if !known {
			p.reason = anotherPatient
			return p
		}
		subject.Identity, subject.PixelsReviewed, subject.Blackout = i.study.identity, i.reviewed, i.blackout
		p.report, err = p.fill(ctx, x.desk.files, func(w *packer) (deid.Report, error) { return x.plan.Apply(w, file, subject) })
	}
	p.reason, p.err = unfit(err)
	return p
}

// unfit tells an image that may not leave, with the reason, from a failure of the desk.
func unfit(err error) (reason string, failure error) {
	_, broken := errors.AsType[*dicom.Error](err)
	if broken || errors.Is(err, deid.ErrHeld) || errors.Is(err, deid.ErrRefused) {
		return err.Error(), nil
	}
	return "", err
}

// commit writes an image into the archive and its row into the receipt.
func (x *exporter) commit(ctx context.Context, p packed) error {
	defer p.drop()
	if p.err != nil {
		return p.err
	}
	row := Receipt{
		TaskID: x.task.TaskID(), Index: x.next, Name: p.item.path, Size: p.item.instance.Size, Outcome: Exported,
		SOPInstanceUID: p.item.instance.SOPInstanceUID, SeriesUID: p.item.series.SeriesUID, StudyUID: p.item.series.StudyUID,
	}
	if p.reason != "" {
		row.Outcome, row.Reason = Refused, p.reason
		x.summary.refused(p.reason)
	} else {
		if err := x.packing.add(p); err != nil {
			return err
		}
		x.exported++
		x.summary.changed(p.report)
	}
	x.next++
	x.rows = append(x.rows, row)
	x.task.Progress("Exporting", x.next, max(x.images, x.next))
	if len(x.rows) >= batchRows {
		return x.flush(ctx)
	}
	return nil
}

// flush stores the rows of the receipt.
func (x *exporter) flush(ctx context.Context) error {
	if err := x.desk.cfg.Store.PutReceipts(ctx, x.library, x.task.TaskID(), x.rows); err != nil {
		return fmt.Errorf("store rows: %w", err)
	}
	x.rows = x.rows[:0]
	return nil
}

// fileName is what browsers are offered for the archive.
func fileName(name string, t interface{ Format(string) string }) string {
	if name == "" {
		name = "export-" + t.Format("2006-01-02")
	}
	return strings.TrimSuffix(displayable(name), ".zip") + ".zip"
}
