package imaging

import (
	"os"

	"golang.org/x/sys/unix"
)

// startWriting starts the way of a file's bytes to the disk, so that the sync that follows has less to wait
// for. It is only a hint.
func startWriting(f *os.File) {
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}
