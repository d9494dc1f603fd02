package imaging

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// checkEvery is how many bytes may be written between two looks at how much is free: what may be
// written too much, by each writer.
const checkEvery = 16 << 20

// room watches that a part of the disk stays free, for the database above all.
type room struct {
	dir     string
	minFree int64
	written atomic.Int64

	free  func(dir string) (int64, error)
	every int64
}

func newRoom(dir string, minFree int64) *room {
	return &room{dir: dir, minFree: minFree, free: freeBytes, every: checkEvery}
}

// take announces n bytes about to be written. [ErrNoRoom]: there is no room for them.
func (r *room) take(n int64) error {
	before := r.written.Add(n) - n
	if before/r.every == (before+n)/r.every {
		return nil
	}
	return r.check(n)
}

// check looks whether n more bytes leave enough free.
func (r *room) check(n int64) error {
	free, err := r.free(r.dir)
	if err != nil {
		return fmt.Errorf("look for room: %w", err)
	}
	if free-n < r.minFree {
		return ErrNoRoom
	}
	return nil
}

func freeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil // whose widths differ between systems
}

// full makes an [ErrNoRoom] of what the system says when a disk or a quota is full.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	return err
}
