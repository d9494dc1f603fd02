package dicom

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// copyWithin copies a section from file to file without bringing it into this process, and says how many
// bytes arrived. Fewer than there are is no error: the section may be of no file, the two on different file
// systems; who reads and writes the rest learns what is wrong, if anything is.
func copyWithin(to *os.File, src *io.SectionReader) (done int64) {
	from, off, n := outermost(src)
	if from == nil {
		return 0
	}
	between(to, from, func(to, from int) {
		for done < n {
			at := off + done
			moved, err := unix.CopyFileRange(from, &at, to, nil, int(min(n-done, 1<<30)), 0)
			if err == unix.EINTR {
				continue
			}
			if err != nil || moved <= 0 {
				return
			}
			done += int64(moved)
		}
	})
	return done
}

// between calls do with the descriptors of two files, which stay open meanwhile.
func between(a, b *os.File, do func(a, b int)) {
	first, err := a.SyscallConn()
	if err != nil {
		return
	}
	second, err := b.SyscallConn()
	if err != nil {
		return
	}
	_ = first.Control(func(a uintptr) {
		_ = second.Control(func(b uintptr) { do(int(a), int(b)) })
	})
}

// outermost is the file that a section is cut from, by way of other sections or directly, and where in it
// the section lies; nil for a section of anything else.
func outermost(s *io.SectionReader) (f *os.File, off, n int64) {
	from, off, n := s.Outer()
	for {
		switch r := from.(type) {
		case *os.File:
			return r, off, n
		case *io.SectionReader:
			outer, start, size := r.Outer()
			from, n, off = outer, min(n, size-off), off+start
		default:
			return nil, 0, 0
		}
	}
}
