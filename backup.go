package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"

	"filmroom/sqlite"
	"filmroom/tasks"
)

const (
	databaseName   = "filmroom.db"
	keyName        = "desk.key"
	backupName     = "backup.json" // what a backup says of itself
	backupFormat   = 1
	snapshotsTried = 5
)

// keptFolders are those of the data directory that a backup holds. Previews are made again when asked for.
var keptFolders = []string{"files", "staging", "results"}

// A backupInfo stands in every backup, written last.
type backupInfo struct {
	Format    int       `json:"format"`
	Version   string    `json:"version"` // of the program that made it
	CreatedAt time.Time `json:"createdAt"`
	Database  string    `json:"database"` // SHA-256, hex
	Key       string    `json:"key"`
	Files     int64     `json:"files"`
	Bytes     int64     `json:"bytes"` // of files, without the database
}

// errOnMongo says what to do where the records are not ours to copy.
var errOnMongo = errors.New("the records are on MongoDB: back them up and restore them with its own tools, such as mongodump and mongorestore; " +
	"copy DATA_DIR after the records are dumped, and put it back before they are restored")

type backupCommand struct {
	Dir string `arg:"" help:"A directory that is empty or not there yet."`
}

// Run may be called beside a running server.
func (c *backupCommand) Run(ctx context.Context, at places, s streams) error {
	if err := checkPlaces(at); err != nil {
		return err
	}
	if at.MongoDBURI != "" {
		return errOnMongo
	}
	if _, err := os.Stat(filepath.Join(at.DataDir, databaseName)); err != nil {
		return fmt.Errorf("back up %s: there is no desk: %w", at.DataDir, err)
	}
	info, err := backUp(ctx, at.DataDir, c.Dir)
	if err != nil {
		return fmt.Errorf("back up to %s: %w", c.Dir, err)
	}
	_, err = fmt.Fprintf(s.out, "%s: the records, and %s files of %s\n", c.Dir, humanize.Comma(info.Files), humanize.IBytes(uint64(info.Bytes)))
	return err
}

func checkPlaces(at places) error {
	var c checker
	c.places(at)
	if err := errors.Join(c.mistakes...); err != nil {
		return usageError{err}
	}
	return nil
}

// backUp writes everything beside dir and renames it, so that dir holds a whole backup or none.
func backUp(ctx context.Context, data, dir string) (info backupInfo, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return info, err
	}
	// Gone for a moment if it is there and empty. This refuses one that is not.
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return info, fmt.Errorf("it must be empty or not there yet, and no mount point: %w", err)
	}
	aside, release, err := partial(dir)
	if err != nil {
		return info, err
	}
	defer release()
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(aside))
		}
	}()
	b := &backup{from: data, to: aside}
	if err := b.take(ctx); err != nil {
		return info, err
	}
	if info, err = b.describe(); err != nil {
		return info, err
	}
	if err := syncAll(aside); err != nil {
		return info, err
	}
	return info, errors.Join(os.Rename(aside, dir), syncDir(filepath.Dir(dir)))
}

// partial makes an empty directory beside dir, clearing away what a crash left there. It is locked until
// release, so that two backups to one place do not meet.
func partial(dir string) (aside string, release func(), err error) {
	aside = dir + ".partial"
	if err := os.MkdirAll(aside, 0o700); err != nil {
		return "", nil, err
	}
	f, err := os.Open(aside)
	if err != nil {
		return "", nil, err
	}
	release = func() { _ = f.Close() }
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		release()
		return "", nil, fmt.Errorf("another backup to it is under way: lock %s: %w", aside, err)
	}
	if err := empty(aside); err != nil {
		release()
		return "", nil, err
	}
	return aside, release, nil
}

// A backup is one on its way.
type backup struct{ from, to string }

// take copies records and files while a server goes on with both. Files go first, so that none which the
// records name has been removed in between; and once more after, for those that came meanwhile: a sweep
// takes nothing young. What was sent for an import goes as soon as that has ended, so the copy of the records is
// looked through, and made again where it names an import whose input was missed.
func (b *backup) take(ctx context.Context) error {
	if err := b.gather(ctx); err != nil {
		return err
	}
	for range snapshotsTried {
		if err := b.snapshot(ctx); err != nil {
			return err
		}
		if err := b.gather(ctx); err != nil {
			return err
		}
		whole, err := b.whole(ctx)
		if err != nil {
			return err
		}
		if whole {
			return copyFile(filepath.Join(b.from, keyName), filepath.Join(b.to, keyName))
		}
	}
	return fmt.Errorf("imports began and ended faster than they could be copied, %d times: try again at a quieter moment", snapshotsTried)
}

func (b *backup) snapshot(ctx context.Context) error {
	to := filepath.Join(b.to, databaseName)
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, err := sqlite.Open(ctx, filepath.Join(b.from, databaseName), sqlite.Options{Beside: true})
	if err != nil {
		return err
	}
	return errors.Join(db.Backup(ctx, to), db.Close())
}

// gather links every file that is not in the backup yet, or copies it where that cannot be.
func (b *backup) gather(ctx context.Context) error {
	for _, folder := range keptFolders {
		if err := eachFile(ctx, filepath.Join(b.from, folder), func(path string) error {
			return place(filepath.Join(b.from, folder, path), filepath.Join(b.to, folder, path))
		}); err != nil {
			return err
		}
	}
	return nil
}

// whole reports whether each import that the copied records expect to run has its input.
func (b *backup) whole(ctx context.Context) (whole bool, err error) {
	db, err := sqlite.Open(ctx, filepath.Join(b.to, databaseName), sqlite.Options{Beside: true})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	q := tasks.Query{Kind: "import", Statuses: []tasks.Status{tasks.StatusQueued, tasks.StatusPaused, tasks.StatusProcessing}, Limit: 500, NoTotal: true}
	for {
		page, err := db.Tasks().List(ctx, q)
		if err != nil {
			return false, err
		}
		for _, t := range page.Items {
			_, err := os.Stat(filepath.Join(b.to, "staging", t.ID, "manifest"))
			if errors.Is(err, fs.ErrNotExist) {
				return false, nil
			}
			if err != nil {
				return false, err
			}
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			return true, nil
		}
	}
}

// describe writes what the backup holds; without it a restore refuses the directory.
func (b *backup) describe() (info backupInfo, err error) {
	info = backupInfo{Format: backupFormat, Version: version(), CreatedAt: tasks.Millis(time.Now())}
	for _, folder := range keptFolders {
		err := eachFile(context.Background(), filepath.Join(b.to, folder), func(path string) error {
			stat, err := os.Stat(filepath.Join(b.to, folder, path))
			if err == nil {
				info.Files++
				info.Bytes += stat.Size()
			}
			return err
		})
		if err != nil {
			return info, err
		}
	}
	if info.Database, err = sumOf(filepath.Join(b.to, databaseName)); err != nil {
		return info, err
	}
	if info.Key, err = sumOf(filepath.Join(b.to, keyName)); err != nil {
		return info, err
	}
	text, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return info, err
	}
	return info, os.WriteFile(filepath.Join(b.to, backupName), append(text, '\n'), 0o600)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
