package tasks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// MaxCheckpoint bounds what [Run.SaveCheckpoint] keeps, in bytes.
const MaxCheckpoint = 64 << 10

// A Run is one attempt of a task, as its runner sees it. Its methods may be called from many goroutines. Once
// the attempt has ended for the engine (its lease is lost, or it outlived its grace), they do
// nothing or return [ErrLeaseLost], so a goroutine that was left behind has no effect.
type Run struct {
	m      *Manager
	kind   *Kind
	lane   *lane // nil when the work runs in the caller
	token  string
	ctx    context.Context // the runner's; its cause says why it ended
	cancel context.CancelCauseFunc
	news   throttle
	expiry *time.Timer   // ends the attempt a heartbeat before its lease
	calm   func() bool   // calls off the loss of patience
	ended  chan struct{} // closed when the end is stored, or given up
	err    error         // why the end could not be stored; set before ended is closed

	settled atomic.Bool // how it came out is known

	mu       sync.Mutex
	task     Task // newest record known
	progress Progress
	closed   bool
	file     *resultFile
	fileName string
	lines    logBuffer

	writingLog sync.Mutex // held while lines go to the store, so that they stay in order
}

// Task returns the record as it was last stored, with live progress.
func (r *Run) Task() Task {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state()
}

// TaskID is the task's id.
func (r *Run) TaskID() string { return r.Task().ID }

// Attempt counts from 1.
func (r *Run) Attempt() int { return r.Task().Attempt }

// Progress says how far the work is: value of maximum, or a message alone while the maximum is unknown
// (0). It is kept in memory and shown at once or within Config.ProgressInterval; call it as often as you like.
func (r *Run) Progress(message string, value, maximum int64) {
	r.mu.Lock()
	closed := r.closed
	if !closed {
		r.progress = Progress{Message: message, Value: value, Max: maximum}
	}
	r.mu.Unlock()
	if !closed {
		r.news.touch()
	}
}

// Phase says that the attempt has come to its next phase: it is stored, with a row in the journal, and shown at
// once. A task has a handful of phases, not hundreds.
func (r *Run) Phase(ctx context.Context, phase string) error {
	return r.move(ctx, PhaseEntered(r.token, phase, r.m.now()))
}

// Checkpoint returns what the attempt before this one saved, or nil.
func (r *Run) Checkpoint() []byte { return r.Task().Checkpoint }

// SaveCheckpoint keeps up to [MaxCheckpoint] bytes for the next attempt, should this one not finish.
func (r *Run) SaveCheckpoint(ctx context.Context, data []byte) error {
	if len(data) > MaxCheckpoint {
		return fmt.Errorf("save checkpoint: %d bytes are more than the %d that are kept", len(data), MaxCheckpoint)
	}
	return r.move(ctx, Checkpointed(r.token, data, r.m.now()))
}

// Log keeps a line with the attempt, for the task's owner. It must not name patients or files.
func (r *Run) Log(level slog.Level, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if len(r.lines.lines) == 0 {
		time.AfterFunc(logDelay, r.writeLog)
	}
	r.lines.add(r.task, r.m.now(), level, fmt.Sprintf(format, args...))
}

// writeLog stores the lines that wait, together.
func (r *Run) writeLog() {
	r.writingLog.Lock()
	defer r.writingLog.Unlock()
	r.mu.Lock()
	lines := r.lines.take()
	r.mu.Unlock()
	if len(lines) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), storeTimeout)
	defer cancel()
	if err := r.m.cfg.Store.AppendLog(ctx, lines); err != nil {
		r.m.log.Error("log lines of a task were lost", "task", lines[0].TaskID, "lines", len(lines), "err", err)
	}
}

// CreateFile opens the download that the task leaves if this attempt finishes. There is one; the name is
// what browsers are offered. It must be written by one goroutine and needs no closing.
func (r *Run) CreateFile(name string) (io.Writer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrLeaseLost
	}
	if r.file != nil {
		return nil, errors.New("create result: the attempt has a file already")
	}
	f, err := r.m.cfg.Results.create(r.task)
	if err != nil {
		return nil, err
	}
	r.file, r.fileName = f, name
	return resultWriter{r, f}, nil
}

// A resultWriter refuses what a runner writes after its attempt has ended.
type resultWriter struct {
	r *Run
	f *resultFile
}

func (w resultWriter) Write(p []byte) (int, error) {
	if w.r.isClosed() {
		return 0, ErrLeaseLost
	}
	return w.f.Write(p)
}

func (r *Run) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// move makes a move of the running attempt and tells of it at once.
func (r *Run) move(ctx context.Context, m Move) error {
	r.mu.Lock()
	known, closed := r.task, r.closed
	r.mu.Unlock()
	if closed {
		return ErrLeaseLost
	}
	t, err := r.m.cfg.Store.Update(ctx, known, m)
	if errors.Is(err, ErrUnchanged) {
		return nil
	}
	if err != nil {
		return err
	}
	r.observe(t)
	return nil
}

// observe takes in a newer record of the running task and tells of it at once.
func (r *Run) observe(t Task) {
	r.mu.Lock()
	if t.Rev > r.task.Rev {
		r.task = t
	}
	r.mu.Unlock()
	r.news.flush()
}

// state is the record with live progress laid over it; r.mu is held.
func (r *Run) state() Task {
	t := r.task
	t.Progress = r.progress
	return t
}

// close refuses the runner everything from here on and returns what it left: the record as it was last
// stored, how far it came, and its file.
func (r *Run) close() (record Task, reached Progress, file *resultFile) {
	r.news.close()
	r.expiry.Stop()
	r.mu.Lock()
	r.closed = true
	r.lines.finish(r.task, r.m.now())
	record, reached, file = r.task, r.progress, r.file
	r.mu.Unlock()
	r.writeLog()
	return record, reached, file
}
