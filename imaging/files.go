package imaging

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"filmroom/tasks"
)

// syncers is how many files are made durable at once: enough that their waits overlap in few commits of
// the file system's journal. Syncing the whole file system in one call is faster still on an idle disk, but it
// also waits for what others write, such as an upload of many gigabytes.
const syncers = 16

// files keeps whole files under the SHA-256 of their bytes, as <dir>/<first two digits>/<hash>. A file of
// that name is whole and durable: it is written beside, under <dir>/tmp, synced, and only then renamed. Names
// are made from hashes alone, never from anything that somebody sent.
type files struct {
	dir    string
	tmp    string // of this process; those of others are what crashes left
	room   *room
	now    func() time.Time
	serial atomic.Int64

	// keeping is held (shared) while a file is found and touched, and (alone) while one is looked at
	// again and removed, so that a sweep never takes what an import has just decided to refer to.
	keeping sync.RWMutex
}

func openFiles(dir string, r *room, now func() time.Time) (*files, error) {
	f := &files{dir: dir, tmp: filepath.Join(dir, "tmp", tasks.NewID()), room: r, now: now}
	if err := os.MkdirAll(f.tmp, 0o700); err != nil {
		return nil, fmt.Errorf("stored files: %w", err)
	}
	for i := range 256 {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("%02x", i)), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("stored files: %w", err)
		}
	}
	return f, syncPath(dir)
}

// clear removes temporary files of processes that are no more.
func (f *files) clear() error {
	left, err := os.ReadDir(filepath.Dir(f.tmp))
	if err != nil {
		return fmt.Errorf("stored files: %w", err)
	}
	for _, e := range left {
		if e.Name() != filepath.Base(f.tmp) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(filepath.Dir(f.tmp), e.Name())))
		}
	}
	return err
}

// path is where the file of a hash stands. It refuses everything else, whatever a record says.
func (f *files) path(sum string) (string, error) {
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != 32 || hex.EncodeToString(raw) != sum {
		return "", fmt.Errorf("stored files: %q is no SHA-256", sum)
	}
	return filepath.Join(f.dir, sum[:2], sum), nil
}

// open opens the file of a hash for reading.
func (f *files) open(sum string) (*os.File, error) {
	path, err := f.path(sum)
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// touch finds the file of a hash and makes it young again. ok is false when it is not there in full.
func (f *files) touch(sum string, size int64) (ok bool, err error) {
	path, err := f.path(sum)
	if err != nil {
		return false, err
	}
	f.keeping.RLock()
	defer f.keeping.RUnlock()
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() != size {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	now := f.now()
	return true, os.Chtimes(path, now, now)
}

// create opens a new temporary file, which is renamed by settle or removed by the caller.
func (f *files) create() (*os.File, error) {
	name := strconv.FormatInt(f.serial.Add(1), 10)
	t, err := os.OpenFile(filepath.Join(f.tmp, name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	return t, full(err)
}

// A stored file is on its way in: written under tmp, or (tmp "") found to be there already.
type stored struct {
	sum  string
	size int64
	tmp  string
}

// write puts bytes into a temporary file, unless the file of their hash is there.
func (f *files) write(sum string, data []byte) (stored, error) {
	s := stored{sum: sum, size: int64(len(data))}
	if there, err := f.touch(sum, s.size); there || err != nil {
		return s, err
	}
	if err := f.room.take(s.size); err != nil {
		return s, err
	}
	t, err := f.create()
	if err != nil {
		return s, err
	}
	_, err = t.Write(data)
	return f.adopt(s, t, err)
}

// adopt takes over a temporary file that was written in full, unless err says that it was not. It
// starts the way to the disk, so that settle has less to wait for.
func (f *files) adopt(s stored, t *os.File, err error) (stored, error) {
	s.tmp = t.Name()
	if err == nil {
		startWriting(t)
	}
	if err = errors.Join(err, t.Close()); err != nil {
		_ = os.Remove(s.tmp)
		return s, full(err)
	}
	return s, nil
}

// take takes over the content of a temporary file, unless the file of its hash is there.
func (f *files) take(c *content) (stored, error) {
	s := stored{sum: c.sum, size: c.size}
	if there, err := f.touch(s.sum, s.size); there || err != nil {
		return s, err
	}
	t := c.tmp
	c.tmp = nil
	return f.adopt(s, t, nil)
}

// drop forgets files that will not be referred to.
func (f *files) drop(batch []stored) {
	for _, s := range batch {
		if s.tmp != "" {
			_ = os.Remove(s.tmp)
		}
	}
}

// settle makes files durable under their names. When it returns, records may refer to them.
func (f *files) settle(batch []stored) error {
	contents := newSyncGroup()
	folders := map[string]bool{}
	for _, s := range batch {
		folders[filepath.Join(f.dir, s.sum[:2])] = true
		if s.tmp != "" {
			contents.Go(func() error { return syncPath(s.tmp) })
		}
	}
	if err := contents.Wait(); err != nil {
		return full(err)
	}
	for _, s := range batch {
		if s.tmp == "" {
			continue
		}
		path, err := f.path(s.sum)
		if err != nil {
			return err
		}
		if err := os.Rename(s.tmp, path); err != nil {
			return full(err)
		}
	}
	names := newSyncGroup()
	for folder := range folders {
		names.Go(func() error { return syncPath(folder) })
	}
	return full(names.Wait())
}

func newSyncGroup() *errgroup.Group {
	g := new(errgroup.Group)
	g.SetLimit(syncers)
	return g
}

// syncPath makes a file or the names in a folder durable.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
