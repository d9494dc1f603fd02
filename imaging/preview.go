package imaging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"filmroom/dicom"
	"filmroom/dicom/preview"
	"filmroom/tasks"
)

// PreviewOptions choose a picture of a series.
type PreviewOptions struct {
	Index int // image in the series' order, from 0; of a series of one multi-frame object its frame; -1: the middle one
	Size  int // pixels of the longer side, at most 1,024; 0: 256
}

// Preview is a PNG of one image of a series. [ErrNotFound], or an error that wraps [ErrNoPreview] and says
// why there is none.
func (d *Desk) Preview(ctx context.Context, p tasks.Person, seriesID string, o PreviewOptions) ([]byte, error) {
	s, err := d.Series(ctx, p, seriesID)
	if err != nil {
		return nil, err
	}
	if o.Size <= 0 {
		o.Size = 256
	}
	o.Size = min(max(o.Size, 16), 1024)
	// A series that has grown has another middle, and so another name here.
	name := fmt.Sprintf("%d-%d-%d-%d.png", o.Index, o.Size, s.Instances, s.Bytes)
	if png, ok := d.previews.get(s.ID, name); ok {
		return png, nil
	}
	png, err := d.render(ctx, s, o)
	if err != nil {
		return nil, err
	}
	if err := d.previews.put(s.ID, name, png); err != nil {
		d.log.Warn("a preview was not kept", "err", err)
	}
	return png, nil
}

// render makes the picture. Few are made at once, for each may take 64 MiB.
func (d *Desk) render(ctx context.Context, s Series, o PreviewOptions) ([]byte, error) {
	select {
	case d.previews.slots <- struct{}{}:
		defer func() { <-d.previews.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	instance, err := d.imageOf(ctx, s, o.Index)
	if err != nil {
		return nil, err
	}
	frame := preview.Middle
	if s.Instances == 1 && o.Index >= 0 {
		frame = o.Index
	}
	f, err := d.files.open(instance.SHA256)
	if err != nil {
		return nil, fmt.Errorf("preview of %s: %w", s.ID, err)
	}
	defer f.Close()
	file, err := dicom.Parse(f, instance.Size, reading)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoPreview, err)
	}
	png, err := preview.PNG(file, preview.Options{Frame: frame, MaxSide: o.Size})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoPreview, err)
	}
	return png, nil
}

// imageOf finds an instance by its place in the series, -1 for the middle one.
func (d *Desk) imageOf(ctx context.Context, s Series, index int) (Instance, error) {
	switch {
	case s.Instances == 1:
		index = 0
	case index < 0:
		index = s.Instances / 2
	}
	for i, err := range d.instances(ctx, s) {
		if err != nil || index == 0 {
			return i, err
		}
		index--
	}
	return Instance{}, fmt.Errorf("%w: the series has no such image", ErrNoPreview)
}

// previews keeps pictures on disk, as <dir>/<seriesId>/<name>, and forgets those that were not asked for
// longest when there are too many bytes of them.
type previews struct {
	dir   string
	limit int64
	slots chan struct{}
}

func openPreviews(dir string, limit int64, slots int) (*previews, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("previews: %w", err)
	}
	return &previews{dir, limit, make(chan struct{}, slots)}, nil
}

func (p *previews) get(seriesID, name string) (png []byte, ok bool) {
	path := filepath.Join(p.dir, seriesID, name)
	png, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // only makes it live longer
	return png, true
}

// put keeps a picture. It is not worth a sync: one that a crash cut short does not get its name.
func (p *previews) put(seriesID, name string, png []byte) error {
	dir := filepath.Join(p.dir, seriesID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp := filepath.Join(dir, tasks.NewID()+".tmp")
	if err := os.WriteFile(tmp, png, 0o600); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, filepath.Join(dir, name))
}

func (p *previews) remove(seriesID string) error { return os.RemoveAll(filepath.Join(p.dir, seriesID)) }

// trim removes the pictures that were not asked for longest, until the rest fits.
func (p *previews) trim() error {
	type picture struct {
		path string
		size int64
		used time.Time
	}
	var all []picture
	total := int64(0)
	err := filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if info, err := e.Info(); err == nil {
			all = append(all, picture{path, info.Size(), info.ModTime()})
			total += info.Size()
		}
		return nil
	})
	slices.SortFunc(all, func(a, b picture) int { return a.used.Compare(b.used) })
	for _, old := range all {
		if total <= p.limit {
			break
		}
		if os.Remove(old.path) == nil {
			total -= old.size
		}
	}
	return err
}
