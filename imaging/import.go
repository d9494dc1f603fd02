package imaging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"filmroom/tasks"
)

const importKindName = "import"

// importArgs are what an import is asked to do; its input is staged under the task's id.
type importArgs struct {
	Files   int64  `json:"files"`             // that were sent, archives counting one
	Bytes   int64  `json:"bytes"`             // that were sent
	Content string `json:"content,omitempty"` // digest of names and bytes, when there was an idempotency key
}

// ImportResult is the result of a finished import, for programs.
type ImportResult struct {
	Files    int64           `json:"files"` // rows of the receipt
	Outcomes map[Outcome]int `json:"outcomes"`
}

// attempts are many: each crash of the desk takes one, and both kinds may begin anew as often as it takes.
var attempts = tasks.Retry{MaxAttempts: 20, Base: 2 * time.Second, Cap: time.Minute}

func (d *Desk) importKind() tasks.Kind {
	return tasks.Define(tasks.Kind{
		Name: importKindName, Lane: importKindName,
		Retry:      attempts,
		Rerunnable: true,
		Input: func(_ context.Context, t tasks.Task) error {
			if !d.staging.has(t.ID) {
				return tasks.ErrInputGone
			}
			return nil
		},
		Ended: func(_ context.Context, t tasks.Task) {
			if t.Status != tasks.StatusFinished {
				return // it may be retried
			}
			if err := d.staging.remove(t.ID); err != nil {
				d.log.Warn("staged input was left behind until the next sweep", "task", t.ID, "err", err)
			}
		},
		Pruned: func(_ context.Context, t tasks.Task) {
			if err := d.staging.remove(t.ID); err != nil {
				d.log.Warn("staged input was left behind until the next sweep", "task", t.ID, "err", err)
			}
		},
	}, d.runImport)
}

// needsInput reports whether what is kept in files under a task's id, such as its staged input, may still be
// wanted.
func (d *Desk) needsInput(ctx context.Context, id string) (bool, error) {
	if d.staging.isActive(id) {
		return true, nil
	}
	t, err := d.tasks.Get(ctx, tasks.Person{UserID: "desk", Admin: true}, id)
	switch {
	case errors.Is(err, tasks.ErrNotFound):
		return d.staging.isActive(id), nil // not committed in between
	case err != nil:
		return true, err
	case t.Status == tasks.StatusFinished:
		return false, nil
	}
	return !t.Status.Final() || d.cfg.Now().Sub(t.EndedAt) < d.cfg.KeepInput, nil
}

// importName is a task's name: its kind and how many files it brings, never a file's name.
func importName(in *input, l Limits) string {
	n, known := in.count(l.MaxEntries)
	switch {
	case known && n == 1:
		return "Import, 1 file"
	case known:
		return fmt.Sprintf("Import, %s files", thousands(n))
	case in.end.Files == 1:
		return "Import, 1 archive"
	}
	return fmt.Sprintf("Import, %s files and archives", thousands(in.end.Files))
}

// count is how many files will be brought in; known is false where archives must be unpacked to know.
func (in *input) count(most int64) (n int64, known bool) {
	known = true
	for _, bytes := range in.files() {
		head := make([]byte, sniffed)
		read, _ := io.ReadFull(bytes, head)
		f := formatOf(head[:read])
		if f == formatOther {
			n++
			continue
		}
		inside, ok := (&archive{format: f, size: bytes.Size(), bytes: bytes}).files(most)
		n += inside
		known = known && ok
	}
	return n, known
}

// runImport brings in what is staged under the task's id. It may run again after a crash: the receipt is
// the same, byte for byte, for rows are decided in the order of the entries and by what they are alone.
func (d *Desk) runImport(ctx context.Context, args importArgs, r *tasks.Run) (tasks.Done, error) {
	in, err := d.staging.open(r.TaskID())
	if errors.Is(err, tasks.ErrInputGone) {
		return tasks.Done{}, tasks.Permanent(tasks.UserError("What was sent is no longer kept. Please send it again.", err))
	}
	if err != nil {
		return tasks.Done{}, err
	}
	defer in.close()
	library, err := d.libraryOf(ctx, r.Task().UserID)
	if err != nil {
		return tasks.Done{}, err
	}
	im := newImporter(ctx, d, r, library)
	if err := im.run(in, d.cfg.Limits); err != nil {
		return tasks.Done{}, forOwner(err)
	}
	outcomes, err := d.cfg.Store.Outcomes(ctx, r.TaskID())
	if err != nil {
		return tasks.Done{}, err
	}
	message := summary(outcomes)
	r.Log(slog.LevelInfo, "%s", message)
	return tasks.Done{Message: message, Result: ImportResult{im.batch.next, outcomes}}, nil
}
