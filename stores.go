package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"filmroom/accounts"
	"filmroom/imaging"
	"filmroom/mongo"
	"filmroom/sqlite"
	"filmroom/tasks"
)

// stores are where the desk keeps its records, whichever database that is.
type stores struct {
	name     string // "sqlite" or "mongo"
	tasks    tasks.Store
	imaging  imaging.Store
	accounts accounts.Store

	ping  func(context.Context) error
	close func(context.Context) error

	// exclusive is true where nobody else can be running tasks while we hold the data directory.
	exclusive bool
	now       func() time.Time // the store's clock
	clock     *tasks.Clock     // the same, where the engine keeps it
	healthy   func() error     // nil, or says why nothing may be claimed
}

// openStores opens what the configuration names. beside is for the command line: accounts alone, while
// a server may be running.
func openStores(ctx context.Context, at places, beside bool, log *slog.Logger) (*stores, error) {
	if at.MongoDBURI != "" {
		return openMongo(ctx, at.MongoDBURI, log)
	}
	if err := os.MkdirAll(at.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := checkRestored(at.DataDir); err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, filepath.Join(at.DataDir, databaseName), sqlite.Options{Beside: beside})
	if err != nil {
		return nil, err
	}
	people, clock := db.Accounts(), tasks.NewClock(time.Now)
	return &stores{
		name: "sqlite", tasks: db.Tasks(), imaging: db.Imaging(), accounts: people,
		ping: func(ctx context.Context) error {
			_, err := people.Version(ctx)
			return err
		},
		close:     func(context.Context) error { return db.Close() },
		exclusive: true, now: clock.Now, clock: clock,
	}, nil
}

func openMongo(ctx context.Context, uri string, log *slog.Logger) (*stores, error) {
	db, err := mongo.Open(ctx, uri, mongo.Options{})
	if err != nil {
		return nil, err
	}
	clock, err := db.Clock(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close(ctx))
	}
	s := &stores{
		name: "mongo", tasks: db.Tasks(), imaging: db.Imaging(), accounts: db.Accounts(),
		ping: db.Ping, now: clock.Now, healthy: func() error { return jumped(clock.Jump()) },
	}
	measuring, stop := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() {
		clock.Run(measuring, func(jump time.Duration, err error) {
			log.Error("the database server's clock", "jump", jump, "error", err)
		})
	})
	s.close = func(ctx context.Context) error {
		stop()
		done.Wait()
		return db.Close(ctx)
	}
	return s, nil
}

// jumped says why leases cannot be trusted, if so.
func jumped(by time.Duration) error {
	if by == 0 {
		return nil
	}
	return fmt.Errorf("the clock moved by %v against the database server's", by)
}

const lockName = "lock"

// lockDataDir makes the data directory this process's own until release. The kernel gives the lock back
// when the process dies, however that happens.
func lockDataDir(dir string) (release func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder := make([]byte, 20)
		n, _ := f.ReadAt(holder, 0) // only for the message
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("the data directory %s belongs to another running desk (process %s): stop it, or use another directory", dir, strings.TrimSpace(string(holder[:n])))
		}
		return nil, fmt.Errorf("lock the data directory %s: %w", dir, err)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintln(f, os.Getpid())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	return f.Close, nil
}

const keySize = 32 // bytes

// deskKey returns the key that seals what exports keep secret, made on the first start. Without it
// sealed tasks cannot be run again, so one that is damaged is an error and never replaced.
func deskKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, keyName)
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeKey(dir, path); err != nil {
			return nil, fmt.Errorf("make %s: %w", path, err)
		}
		key, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	if len(key) != keySize {
		return nil, fmt.Errorf("%s holds %d bytes instead of %d: put the right file back", path, len(key), keySize)
	}
	return key, nil
}

// makeKey writes the key beside its place and links it there, so that it is whole or absent after a crash
// and the first of two wins.
func makeKey(dir, path string) error {
	f, err := os.CreateTemp(dir, ".desk.key-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	key := make([]byte, keySize)
	rand.Read(key) // never fails
	_, err = f.Write(key)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(dir)
}
