package imaging

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strconv"

	"filmroom/tasks"
)

// copyBuffer is how much of an upload is held in memory.
const copyBuffer = 256 << 10

// An Upload is one transfer on its way in. It is used by one goroutine. Nothing is left of one that is
// aborted, or whose process dies before its Commit.
type Upload struct {
	d      *Desk
	person tasks.Person
	id     string // of the task to be
	key    string // idempotency key, "" for none
	slot   string // the key with its user, as reserved

	data     *os.File
	lines    *os.File
	manifest *bufio.Writer
	buffer   []byte
	content  hash.Hash // of names and bytes; nil without a key
	end      stagedEnd
	err      error // of an Add: what was sent is not whole
	over     bool  // aborted, or committed
}

// NewUpload begins a transfer. [ErrUploadUnderWay]: another one of this person has the same idempotency
// key; [ErrNoRoom]. The caller defers Abort.
func (d *Desk) NewUpload(ctx context.Context, p tasks.Person, idempotencyKey string) (*Upload, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := d.staging.room.check(0); err != nil {
		return nil, err
	}
	u := &Upload{d: d, person: p, id: tasks.NewID(), key: idempotencyKey, buffer: make([]byte, copyBuffer)}
	if u.key != "" {
		u.slot, u.content = p.UserID+" "+u.key, sha256.New()
	}
	if err := d.staging.begin(u.id, u.slot); err != nil {
		return nil, err
	}
	var err error
	if u.data, err = u.create("data"); err == nil {
		u.lines, err = u.create("manifest")
	}
	if err != nil {
		u.Abort()
		return nil, fmt.Errorf("staging: %w", full(err))
	}
	u.manifest = bufio.NewWriter(u.lines)
	return u, nil
}

func (u *Upload) create(name string) (*os.File, error) {
	return os.OpenFile(u.d.staging.path(u.id, name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}

// Add takes one file in, in constant memory. The name may be any bytes; it is kept for the receipt alone.
// [ErrTooLarge], [ErrNoRoom]; an error of r is returned as it is. After an error only Abort makes sense.
func (u *Upload) Add(ctx context.Context, name string, r io.Reader) error {
	if u.err != nil {
		return u.err
	}
	u.err = u.add(ctx, displayable(name), r)
	return u.err
}

func (u *Upload) add(ctx context.Context, name string, r io.Reader) error {
	if u.end.Files++; u.end.Files > u.d.cfg.Limits.MaxEntries {
		return ErrTooLarge
	}
	u.digest(name)
	f := stagedFile{Name: name}
	for {
		n, err := fill(r, u.buffer)
		if err := u.write(ctx, u.buffer[:n]); err != nil {
			return err
		}
		f.Size += int64(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	u.digest(strconv.FormatInt(f.Size, 10))
	return u.line(manifestLine{File: &f})
}

func (u *Upload) write(ctx context.Context, b []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n := int64(len(b))
	if u.end.Bytes+n > u.d.cfg.Limits.MaxUpload {
		return ErrTooLarge
	}
	if err := u.d.staging.room.take(n); err != nil {
		return err
	}
	if u.content != nil {
		u.content.Write(b)
	}
	if _, err := u.data.Write(b); err != nil {
		return full(err)
	}
	// Begin the way to the disk while bytes still arrive, so that Commit has little to wait for.
	const stride = 8 << 20
	if before := u.end.Bytes; before/stride != (before+n)/stride {
		startWriting(u.data)
	}
	u.end.Bytes += n
	return nil
}

// digest adds a text to the content's digest so that no two lists of files run together to the same.
func (u *Upload) digest(text string) {
	if u.content != nil {
		u.content.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		u.content.Write([]byte(text))
	}
}

func (u *Upload) line(l manifestLine) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = u.manifest.Write(append(b, '\n'))
	return full(err)
}

// Commit makes what was sent durable and submits its import. existed: the same content came before under
// the same key, and t is its task. [ErrNoFiles], [ErrKeyReused], [ErrNoRoom].
func (u *Upload) Commit(ctx context.Context) (t tasks.Task, existed bool, err error) {
	defer u.Abort()
	if err := errors.Join(u.err, ctx.Err()); err != nil {
		return t, false, err
	}
	if u.end.Files == 0 {
		return t, false, ErrNoFiles
	}
	if err := u.settle(); err != nil {
		return t, false, fmt.Errorf("staging: %w", full(err))
	}
	return u.submit(context.WithoutCancel(ctx))
}

// settle closes the manifest and makes everything durable.
func (u *Upload) settle() error {
	if u.content != nil {
		u.end.Content = hex.EncodeToString(u.content.Sum(nil))
	}
	if err := u.line(manifestLine{End: &u.end}); err != nil {
		return err
	}
	if err := u.manifest.Flush(); err != nil {
		return err
	}
	contents := newSyncGroup()
	contents.Go(u.data.Sync)
	contents.Go(u.lines.Sync)
	if err := contents.Wait(); err != nil {
		return err
	}
	names := newSyncGroup()
	names.Go(func() error { return syncPath(u.d.staging.path(u.id)) })
	names.Go(func() error { return syncPath(u.d.staging.dir) })
	return names.Wait()
}

func (u *Upload) submit(ctx context.Context) (t tasks.Task, existed bool, err error) {
	in, err := u.d.staging.open(u.id)
	if err != nil {
		return t, false, err
	}
	name := importName(in, u.d.cfg.Limits)
	in.close()
	args := importArgs{Files: u.end.Files, Bytes: u.end.Bytes, Content: u.end.Content}
	t, err = u.d.tasks.Submit(ctx, u.person, tasks.Spec{ID: u.id, Kind: importKindName, Name: name, Args: args, IdempotencyKey: u.key})
	switch {
	case err == nil:
		u.keep()
		return t, false, nil
	case errors.Is(err, tasks.ErrDuplicate):
		var earlier importArgs
		if t.Kind != importKindName || json.Unmarshal(t.Args, &earlier) != nil || earlier.Content != args.Content {
			return tasks.Task{}, false, ErrKeyReused
		}
		return t, true, nil
	}
	// Whether the task was stored is unknown: the sweep finds out, and removes the input if not.
	u.keep()
	return t, false, fmt.Errorf("submit import: %w", err)
}

// keep ends the transfer and leaves its files to the task.
func (u *Upload) keep() {
	u.over = true
	u.close()
	u.d.staging.release(u.slot)
	u.d.staging.end(u.id)
}

// Abort removes what was sent. It does nothing after Commit or another Abort.
func (u *Upload) Abort() {
	if u.over {
		return
	}
	u.over = true
	u.close()
	u.d.staging.release(u.slot) // first: who finds nothing staged any more may send again under the key
	if err := u.d.staging.remove(u.id); err != nil {
		u.d.log.Warn("an aborted transfer was left behind until the next sweep", "err", err)
	}
	u.d.staging.end(u.id)
}

func (u *Upload) close() {
	_ = u.data.Close()
	_ = u.lines.Close()
}
