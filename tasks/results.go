package tasks

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
)

// A ResultDir keeps the files that tasks leave, as <taskId>/<attempt>.<token> under one directory. A file
// belongs to one attempt and is shown to nobody before the record of the task names it, so it is written where
// it stays and only made durable before that one write.
type ResultDir struct{ dir string }

// NewResultDir makes the directory if it is missing.
func NewResultDir(dir string) (*ResultDir, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	return &ResultDir{dir}, nil
}

func (d *ResultDir) create(t Task) (*resultFile, error) { return d.createNamed(t, t.Lease.Token) }

// createNamed opens a file of the present attempt, told apart from others by an id of ours.
func (d *ResultDir) createNamed(t Task, id string) (*resultFile, error) {
	path := filepath.Join(t.ID, fmt.Sprintf("%d.%s", t.Attempt, id))
	if err := os.MkdirAll(filepath.Join(d.dir, t.ID), 0o700); err != nil {
		return nil, fmt.Errorf("create result: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(d.dir, path), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create result: %w", err)
	}
	return &resultFile{dir: d, path: path, file: f, sum: sha256.New()}, nil
}

func (d *ResultDir) open(path string) (*os.File, error) {
	return os.Open(filepath.Join(d.dir, filepath.FromSlash(path)))
}

func (d *ResultDir) remove(path string) error {
	err := os.Remove(filepath.Join(d.dir, path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Fails while other attempts' files are there, which is right.
	_ = os.Remove(filepath.Dir(filepath.Join(d.dir, path)))
	return nil
}

// sweep removes each file that keep does not want, a task's directory at a time, and returns their paths, which are
// made of our own ids.
func (d *ResultDir) sweep(keep func(taskID, path string) (bool, error)) (removed []string, err error) {
	dirs, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, fmt.Errorf("sweep results: %w", err)
	}
	var failures []error
	for _, dir := range dirs {
		files, err := os.ReadDir(filepath.Join(d.dir, dir.Name()))
		failures = append(failures, err)
		for _, f := range files {
			path := filepath.Join(dir.Name(), f.Name())
			wanted, err := keep(dir.Name(), path)
			if err == nil && !wanted {
				if err = d.remove(path); err == nil {
					removed = append(removed, path)
				}
			}
			failures = append(failures, err)
		}
	}
	return removed, errors.Join(failures...)
}

// A resultFile is the download being written by one attempt.
type resultFile struct {
	dir  *ResultDir
	path string
	file *os.File
	sum  hash.Hash
	size int64
}

func (f *resultFile) Write(p []byte) (int, error) {
	n, err := f.file.Write(p)
	f.sum.Write(p[:n])
	f.size += int64(n)
	return n, err
}

// shownPath is the path as records name it.
func (f *resultFile) shownPath() string { return filepath.ToSlash(f.path) }

// commit makes the file durable, its name in the directories included.
func (f *resultFile) commit() (File, error) {
	err := f.file.Sync()
	if err = errors.Join(err, f.file.Close()); err == nil {
		full := filepath.Join(f.dir.dir, f.path)
		err = errors.Join(syncDir(filepath.Dir(full)), syncDir(f.dir.dir))
	}
	if err != nil {
		return File{}, fmt.Errorf("keep result: %w", err)
	}
	return File{Size: f.size, SHA256: hex.EncodeToString(f.sum.Sum(nil)), Path: f.shownPath()}, nil
}

// discard removes what was written. It may follow commit.
func (f *resultFile) discard() error {
	_ = f.file.Close()
	return f.dir.remove(f.path)
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
