//go:build !linux

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// syncAll waits until each file and folder in the folder is on its disk.
func syncAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}
