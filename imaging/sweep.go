package imaging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// unreferredFor is how long a file stays that nothing refers to: an import that has found it has so long
// to commit its rows.
const unreferredFor = 24 * time.Hour

// sweepBatch is how many files are looked up at once, and so what a sweep holds in memory.
const sweepBatch = 500

// sweep removes files that nothing has referred to for [unreferredFor].
func (f *files) sweep(ctx context.Context, referred func(context.Context, []string) (map[string]bool, error), removed func(sha256 string)) error {
	before := f.now().Add(-unreferredFor)
	for i := range 256 {
		if err := f.sweepFolder(ctx, filepath.Join(f.dir, fmt.Sprintf("%02x", i)), before, referred, removed); err != nil {
			return fmt.Errorf("sweep stored files: %w", err)
		}
	}
	return nil
}

func (f *files) sweepFolder(ctx context.Context, folder string, before time.Time, referred func(context.Context, []string) (map[string]bool, error), removed func(sha256 string)) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	for {
		entries, end := d.ReadDir(sweepBatch)
		var old []string
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && info.ModTime().Before(before) {
				old = append(old, e.Name())
			}
		}
		if len(old) > 0 {
			wanted, err := referred(ctx, old)
			if err != nil {
				return err
			}
			for _, sum := range old {
				if !wanted[sum] && f.removeOlder(filepath.Join(folder, sum), before) {
					removed(sum)
				}
			}
		}
		if errors.Is(end, io.EOF) {
			return nil
		}
		if end != nil {
			return end
		}
	}
}

// removeOlder removes a file unless it was touched meanwhile.
func (f *files) removeOlder(path string, before time.Time) bool {
	f.keeping.Lock()
	defer f.keeping.Unlock()
	info, err := os.Stat(path)
	return err == nil && info.ModTime().Before(before) && os.Remove(path) == nil
}

// sweepStaging removes staged input that no task can use any more: of transfers that a crash cut off, of
// imports that finished, and of those that were left unfinished for too long.
func (d *Desk) sweepStaging(ctx context.Context) error {
	ids, err := d.staging.list()
	if err != nil {
		return err
	}
	for _, id := range ids {
		needed, err := d.needsInput(ctx, id)
		if err != nil {
			return fmt.Errorf("sweep staging: %w", err)
		}
		if !needed {
			if err = d.staging.remove(id); err == nil {
				d.log.Info("removed staged input that no task can use any more", "id", id)
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("sweep staging: %w", err)
		}
	}
	return nil
}

// sweptNamed is how many of what a sweep removes stand in the log each, under a name of ours.
const sweptNamed = 100

// A swept tells the log of one sort of what a sweep removes.
type swept struct {
	log       *slog.Logger
	what, key string
	n         int
}

func (s *swept) add(name string) {
	if s.n++; s.n <= sweptNamed {
		s.log.Info("removed one of the "+s.what, s.key, name)
	}
}

func (s *swept) end() {
	if s.n > sweptNamed {
		s.log.Info("removed more of the "+s.what, "files", s.n-sweptNamed)
	}
}
