package imaging

import (
	"bytes"
	"context"
	"fmt"

	"filmroom/dicom/phantom"
	"filmroom/tasks"
)

// sample is the study for people who have no images at hand: a synthetic CT, the same each time.
var sample = phantom.Study{Seed: 1, Slices: 60, Size: 256}

// Sample brings the sample study in, on the way that every transfer takes.
func (d *Desk) Sample(ctx context.Context, p tasks.Person) (tasks.Task, error) {
	u, err := d.NewUpload(ctx, p, "")
	if err != nil {
		return tasks.Task{}, err
	}
	defer u.Abort()
	var slice bytes.Buffer
	for i := range sample.Files() {
		slice.Reset()
		if err := sample.Write(i, &slice); err != nil {
			return tasks.Task{}, fmt.Errorf("sample study: %w", err)
		}
		if err := u.Add(ctx, fmt.Sprintf("sample/CT%03d.dcm", i+1), &slice); err != nil {
			return tasks.Task{}, err
		}
	}
	t, _, err := u.Commit(ctx)
	return t, err
}
