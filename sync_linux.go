package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll waits until all of the folder's file system is on its disk: one wait instead of one for each file.
func syncAll(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
