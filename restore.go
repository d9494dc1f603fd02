package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"
)

// restoringName marks a data directory that a restore has not finished filling.
const restoringName = "restoring"

type restoreCommand struct {
	Dir string `arg:"" type:"existingdir" help:"A backup."`
}

func (c *restoreCommand) Run(ctx context.Context, at places, s streams) error {
	if err := checkPlaces(at); err != nil {
		return err
	}
	if at.MongoDBURI != "" {
		return errOnMongo
	}
	info, err := restore(ctx, c.Dir, at.DataDir)
	if err != nil {
		return fmt.Errorf("restore %s: %w", c.Dir, err)
	}
	_, err = fmt.Fprintf(s.out, "%s: the desk as it was at %s, with %s files of %s\n", at.DataDir,
		info.CreatedAt.Format("2006-01-02 15:04:05 MST"), humanize.Comma(info.Files), humanize.IBytes(uint64(info.Bytes)))
	return err
}

// restore copies a backup into an empty data directory and compares every sum on the way. The backup is only
// read. Until all is there the directory is marked, and no desk starts in it; a restore that was cut off
// is begun again.
func restore(ctx context.Context, backup, data string) (info backupInfo, err error) {
	if info, err = readInfo(backup); err != nil {
		return info, err
	}
	release, err := lockDataDir(data)
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := claimEmpty(data); err != nil {
		return info, err
	}
	for _, folder := range keptFolders {
		if err := restoreFolder(ctx, backup, data, folder); err != nil {
			return info, err
		}
	}
	for name, want := range map[string]string{keyName: info.Key, databaseName: info.Database} {
		got, err := copySum(filepath.Join(backup, name), filepath.Join(data, name))
		if err == nil && got != want {
			err = damagedError(name)
		}
		if err != nil {
			return info, err
		}
	}
	if err := syncAll(data); err != nil {
		return info, err
	}
	return info, errors.Join(os.Remove(filepath.Join(data, restoringName)), syncDir(data))
}

func readInfo(backup string) (info backupInfo, err error) {
	text, err := os.ReadFile(filepath.Join(backup, backupName))
	if err == nil {
		err = json.Unmarshal(text, &info)
	}
	if err != nil {
		return info, fmt.Errorf("it is no whole backup: %w", err)
	}
	if info.Format != backupFormat {
		return info, fmt.Errorf("it has format %d, this version of Filmroom reads %d", info.Format, backupFormat)
	}
	return info, nil
}

// claimEmpty marks a data directory that holds nothing, or what a restore that was cut off left.
func claimEmpty(data string) error {
	mark := filepath.Join(data, restoringName)
	if _, err := os.Stat(mark); err == nil {
		return empty(data, restoringName, lockName)
	}
	entries, err := os.ReadDir(data)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != lockName {
			return fmt.Errorf("the data directory %s must be empty, but holds %s", data, e.Name())
		}
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return err
	}
	return syncDir(data)
}

func restoreFolder(ctx context.Context, backup, data, folder string) error {
	return eachFile(ctx, filepath.Join(backup, folder), func(path string) error {
		to := filepath.Join(data, folder, path)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		sum, err := copySum(filepath.Join(backup, folder, path), to)
		if err == nil && folder == "files" && sum != filepath.Base(path) { // stored files are named by their sum
			err = damagedError(filepath.Join(folder, path))
		}
		return err
	})
}

func damagedError(name string) error {
	return fmt.Errorf("%s is damaged: its bytes are not those that were backed up", name)
}

// checkRestored refuses a data directory that is only half of a desk.
func checkRestored(data string) error {
	_, err := os.Stat(filepath.Join(data, restoringName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("a restore into the data directory %s is under way or was cut off: run filmroom restore again", data)
	}
	return err
}
