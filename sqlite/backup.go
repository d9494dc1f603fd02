package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Backup writes the database as it is at one moment to a new file, while others, in other processes too, go on
// reading and writing. When it returns nil the file is whole and on disk; else there is none.
func (db *DB) Backup(ctx context.Context, path string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("back up the database to %s: %w", path, err)
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	// The file is ours from here on, so it may be removed when the copy fails.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(db.copyTo(ctx, path), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, ctx.Err(), os.Remove(path))
	}
	return syncDir(filepath.Dir(path))
}

// copyTo reads through a connection of its own: neither the writer nor a reader waits for it.
func (db *DB) copyTo(ctx context.Context, path string) error {
	c, err := connect(db.path, db.options)
	if err != nil {
		return explained(err)
	}
	c.Interrupt(ctx.Done())
	return explained(errors.Join(c.Stmt("VACUUM INTO ?").Text(path).Run(), c.Close()))
}

// syncDir puts the entry of a new file on disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
