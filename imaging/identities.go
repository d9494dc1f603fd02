package imaging

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filmroom/dicom/deid"
	"filmroom/tasks"
)

// identities keeps what the studies of an export say of their patients, as <dir>/<taskId>: a sealed record for
// each study, in the order in which they are taken out. The first attempt writes it before the first byte of its
// archive; later ones read it, so that nothing that is deleted meanwhile changes what they search for. It may
// be far larger than a checkpoint, for an export takes up to [maxSeries] studies.
type identities struct {
	dir    string
	sealer *sealer
	room   *room
}

func openIdentities(dir string, s *sealer, r *room) (*identities, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("identities: %w", err)
	}
	return &identities{dir, s, r}, nil
}

// A keptStudy is a study as it is sealed.
type keptStudy struct {
	UID      string        `json:"uid"`
	Identity deid.Identity `json:"identity"`
	Crowded  bool          `json:"crowded,omitempty"`
}

// sealedName binds a record to its task and its place.
func sealedName(taskID string, n int) string { return fmt.Sprintf("%s study %d", taskID, n) }

// write keeps the studies of a task. Of two attempts that write, because one was left behind, the first wins.
func (k *identities) write(task tasks.Task, studies func(yield func(*study, error) bool)) error {
	f, err := os.CreateTemp(k.dir, task.ID+".*")
	if err != nil {
		return full(err)
	}
	defer os.Remove(f.Name())
	n := 0
	for s, err := range studies {
		if err == nil {
			err = k.add(f, sealedName(task.ID, n), s)
		}
		if err != nil {
			return errors.Join(err, f.Close())
		}
		n++
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return full(err)
	}
	if err := os.Link(f.Name(), k.path(task.ID)); err != nil && !errors.Is(err, fs.ErrExist) {
		return full(err)
	}
	return syncPath(k.dir)
}

func (k *identities) path(taskID string) string { return filepath.Join(k.dir, taskID) }

// add writes a record: its length and its sealed bytes.
func (k *identities) add(w io.Writer, name string, s *study) error {
	sealed, err := k.sealer.seal(name, keptStudy{s.uid, s.identity, s.crowded})
	if err != nil {
		return err
	}
	if err := k.room.take(int64(len(sealed))); err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(sealed))), sealed...))
	return full(err)
}

// open opens what write kept; [fs.ErrNotExist] when there is nothing yet.
func (k *identities) open(taskID string) (*studies, error) {
	f, err := os.Open(k.path(taskID))
	if err != nil {
		return nil, err
	}
	return &studies{file: f, sealer: k.sealer, taskID: taskID}, nil
}

// remove forgets a task's identities, and what a crash left of writing them.
func (k *identities) remove(taskID string) error {
	left, err := filepath.Glob(k.path(taskID) + ".*")
	for _, path := range append(left, k.path(taskID)) {
		if e := os.Remove(path); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// sweep removes what no task can use any more.
func (k *identities) sweep(ctx context.Context, needed func(context.Context, string) (bool, error), removed func(taskID string)) error {
	entries, err := os.ReadDir(k.dir)
	if err != nil {
		return fmt.Errorf("sweep identities: %w", err)
	}
	for _, e := range entries {
		id, _, _ := strings.Cut(e.Name(), ".")
		if !taskID.MatchString(id) {
			continue
		}
		keep, err := needed(ctx, id)
		if err == nil && !keep {
			if err = k.remove(id); err == nil {
				removed(id)
			}
		}
		if err != nil {
			return fmt.Errorf("sweep identities: %w", err)
		}
	}
	return nil
}

// studies reads the records of a task, one after the other.
type studies struct {
	file   *os.File
	sealer *sealer
	taskID string
	n      int
	last   *study
}

func (s *studies) close() { _ = s.file.Close() }

// of is the study with a UID, which is that of the record before or the next.
func (s *studies) of(uid string) (*study, error) {
	if s.n > 0 && s.last.uid == uid {
		return s.last, nil
	}
	next, err := s.read()
	if err != nil {
		return nil, fmt.Errorf("read the identities of export %s: %w", s.taskID, err)
	}
	if next.uid != uid {
		return nil, fmt.Errorf("the identities of export %s are those of other studies", s.taskID)
	}
	s.last = next
	s.n++
	return next, nil
}

// maxRecord bounds a sealed study: [maxIdentityBytes] as JSON, which writes a byte as six at most.
const maxRecord = 8 * maxIdentityBytes

func (s *studies) read() (*study, error) {
	var length [4]byte
	if _, err := io.ReadFull(s.file, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxRecord {
		return nil, fmt.Errorf("a record of %d bytes", n)
	}
	sealed := make([]byte, n)
	if _, err := io.ReadFull(s.file, sealed); err != nil {
		return nil, err
	}
	var kept keptStudy
	err := s.sealer.open(sealedName(s.taskID, s.n), sealed, &kept)
	return &study{kept.UID, kept.Identity, kept.Crowded}, err
}
