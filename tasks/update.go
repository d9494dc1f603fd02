package tasks

import (
	"sync"
	"time"
)

// An UpdateKind names what an [Update] tells; it is also the name of the event on the wire.
type UpdateKind string

const (
	UpdateProgress UpdateKind = "progress" // anything but an end
	UpdateFinish   UpdateKind = "finish"   // the end of a task that finished
	UpdateFailure  UpdateKind = "failure"  // any other end
)

// An Update is one piece of news of one task, shared by all who watch it. It is not to be changed.
type Update struct {
	ID   string // <boot>-<sequence>, for Last-Event-ID; sequences rise
	Kind UpdateKind
	Task Task // as stored, with live progress laid over; no journal is promised
	At   time.Time

	seq     uint64
	encoded [encodings]encoding
}

// An Encoding is a form in which updates are sent.
type Encoding int

const (
	EncodingJSON Encoding = iota // the API's event data
	EncodingRow                  // the board's row
	EncodingTask                 // the task page's live parts
	encodings
)

type encoding struct {
	once sync.Once
	data []byte
}

// Encoded returns the update in one form. It is rendered by the first who asks, and shared with all others,
// so render must depend on nothing but the update.
func (u *Update) Encoded(as Encoding, render func(*Update) []byte) []byte {
	e := &u.encoded[as]
	e.once.Do(func() { e.data = render(u) })
	return e.data
}

func updateKind(s Status) UpdateKind {
	switch {
	case s == StatusFinished:
		return UpdateFinish
	case s.Final():
		return UpdateFailure
	default:
		return UpdateProgress
	}
}
