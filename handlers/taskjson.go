package handlers

import (
	"encoding/json"

	"github.com/labstack/echo/v4"

	"filmroom/tasks"
)

// A taskJSON is a task as the API tells of it: everything its owner may know. Lease tokens, sealed arguments,
// checkpoints and where files lie are not for telling.
type taskJSON struct {
	TaskID            string          `json:"taskId"`
	UserID            string          `json:"userId"`
	UserEmail         string          `json:"userEmail"`
	Kind              string          `json:"kind"`
	Name              string          `json:"name"`
	Status            tasks.Status    `json:"status"`
	Phase             string          `json:"phase"`
	Lane              string          `json:"lane"`
	Priority          int             `json:"priority"`
	PartitionKey      string          `json:"partitionKey"`
	LockKey           *string         `json:"lockKey"`
	IdempotencyKey    *string         `json:"idempotencyKey"`
	DedupeKey         *string         `json:"dedupeKey"`
	Args              json.RawMessage `json:"args"`
	Attempt           int             `json:"attempt"`
	MaxAttempts       int             `json:"maxAttempts"`
	AvailableAt       stamp           `json:"availableAt"`
	Lease             *leaseJSON      `json:"lease"`
	HeartbeatAt       stamp           `json:"heartbeatAt"`
	CancelRequestedAt stamp           `json:"cancelRequestedAt"`
	Progress          progressJSON    `json:"progress"`
	Result            json.RawMessage `json:"result"`
	Error             *string         `json:"error"`
	Failures          []failureJSON   `json:"failures,omitzero"` // with one task, not in lists
	Journal           []entryJSON     `json:"journal,omitzero"`  // the same
	Downloadable      *string         `json:"downloadable"`
	File              *fileJSON       `json:"file"`
	Dismissed         bool            `json:"dismissed"`
	Retryable         bool            `json:"retryable"`
	Waiting           *waitingJSON    `json:"waiting,omitempty"` // with one task, while it waits
	CreatedAt         stamp           `json:"createdAt"`
	UpdatedAt         stamp           `json:"updatedAt"`
	StartedAt         stamp           `json:"startedAt"`
	EndedAt           stamp           `json:"endedAt"`
}

type leaseJSON struct {
	Owner     string `json:"owner"`
	ExpiresAt stamp  `json:"expiresAt"`
}

type progressJSON struct {
	Message string `json:"message"`
	Value   int64  `json:"value"`
	Max     int64  `json:"max"`
}

type failureJSON struct {
	Attempt int         `json:"attempt"`
	At      stamp       `json:"at"`
	Cause   tasks.Cause `json:"cause"`
	Message string      `json:"message"`
}

type entryJSON struct {
	At      stamp       `json:"at"`
	Event   tasks.Event `json:"event"`
	Attempt int         `json:"attempt,omitempty"`
	By      string      `json:"by,omitempty"`
	Note    string      `json:"note,omitempty"`
	Folded  int         `json:"folded,omitempty"`
}

type fileJSON struct {
	Name      string `json:"name"`
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
	ExpiresAt stamp  `json:"expiresAt"`
}

// newTaskJSON is a task as it stands in a list.
func (s *Server) newTaskJSON(c echo.Context, t tasks.Task) taskJSON {
	j := taskJSON{
		TaskID: t.ID, UserID: t.UserID, UserEmail: t.UserEmail, Kind: t.Kind, Name: t.Name, Status: t.Status, Phase: t.Phase,
		Lane: t.Lane, Priority: t.Priority, PartitionKey: t.PartitionKey, LockKey: orNull(t.LockKey),
		IdempotencyKey: ownKey(t, t.IdempotencyKey), DedupeKey: ownKey(t, t.DedupeKey), Args: t.Args,
		Attempt: t.Attempt, MaxAttempts: t.MaxAttempts, AvailableAt: stamp(t.AvailableAt),
		HeartbeatAt: stamp(t.HeartbeatAt), CancelRequestedAt: stamp(t.CancelRequestedAt),
		Progress: progressJSON(t.Progress), Result: t.Result, Error: orNull(t.Error), Downloadable: orNull(t.Downloadable),
		Dismissed: t.Dismissed, Retryable: s.cfg.Tasks.Retryable(c.Request().Context(), t),
		CreatedAt: stamp(t.CreatedAt), UpdatedAt: stamp(t.UpdatedAt), StartedAt: stamp(t.StartedAt), EndedAt: stamp(t.EndedAt),
	}
	if t.Lease != nil {
		j.Lease = &leaseJSON{t.Lease.Owner, stamp(t.Lease.ExpiresAt)}
	}
	if f := t.File; f != nil {
		j.File = &fileJSON{f.Name, f.Size, f.SHA256, stamp(f.ExpiresAt)}
	}
	return j
}

// newWholeTaskJSON is a task with all that happened to it.
func (s *Server) newWholeTaskJSON(c echo.Context, t tasks.Task) taskJSON {
	j := s.newTaskJSON(c, t)
	j.Failures = make([]failureJSON, 0, len(t.Failures))
	for _, f := range t.Failures {
		j.Failures = append(j.Failures, failureJSON{f.Attempt, stamp(f.At), f.Cause, f.Message})
	}
	j.Journal = make([]entryJSON, 0, len(t.Journal))
	for _, e := range t.Journal {
		j.Journal = append(j.Journal, entryJSON{stamp(e.At), e.Event, e.Attempt, e.By, e.Note, e.Folded})
	}
	return j
}

// ownKey is a key that somebody chose: stores fill in the task's own id where nobody did.
func ownKey(t tasks.Task, key string) *string {
	if key == t.ID {
		return nil
	}
	return orNull(key)
}
