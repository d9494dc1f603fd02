package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// eachFile calls do with the path of each file in a directory that may change meanwhile. Temporary files of a
// running server are left out.
func eachFile(ctx context.Context, dir string, do func(path string) error) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		inside, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if e.IsDir() && inside == "tmp" {
			return fs.SkipDir
		}
		if !e.Type().IsRegular() {
			return nil
		}
		if err := do(inside); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil // removed since it was listed
	})
}

// place makes to a second name of from, or a copy where it cannot be one. It may be called again, and then
// copies what has changed.
func place(from, to string) error {
	source, err := os.Stat(from)
	if err != nil {
		return err
	}
	if there, err := os.Stat(to); err == nil && (os.SameFile(source, there) || there.Size() == source.Size()) {
		return nil // files grow until they are whole, and are never changed after
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	err = os.Link(from, to)
	for _, cannot := range []error{syscall.EXDEV, syscall.EPERM, syscall.EMLINK, syscall.ENOTSUP, fs.ErrExist} {
		if errors.Is(err, cannot) {
			return copyFile(from, to)
		}
	}
	return err
}

// copyFile copies a file, in place of one that may be there.
func copyFile(from, to string) error {
	_, err := copySum(from, to)
	return err
}

// copySum copies a file and returns the SHA-256 of its bytes, hex.
func copySum(from, to string) (sum string, err error) {
	r, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.CopyBuffer(io.MultiWriter(w, hash), onlyReader{r}, make([]byte, 1<<20))
	if err = errors.Join(err, w.Close()); err != nil {
		return "", fmt.Errorf("copy %s: %w", filepath.Base(from), err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// An onlyReader keeps io.CopyBuffer from finding a way around the buffer.
type onlyReader struct{ io.Reader }

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.CopyBuffer(hash, onlyReader{f}, make([]byte, 1<<20)); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// empty removes everything in a directory but the names given.
func empty(dir string, but ...string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, name := range but {
		kept[name] = true
	}
	for _, e := range entries {
		if !kept[e.Name()] {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
