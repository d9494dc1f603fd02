package handlers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"filmroom/tasks"
	"filmroom/views"
)

// What people who are not administrators may ask of the scheduler, and what those may.
const (
	maxName        = 200 // bytes
	longestAttempt = 24 * time.Hour
	longestAdmin   = 7 * 24 * time.Hour
	farthest       = 30 * 24 * time.Hour
	farthestAdmin  = 366 * 24 * time.Hour
	mostAttempts   = 100
	tryAgainAfter  = 10 * time.Second // when a person has as many unfinished tasks as they may
)

// schedule reads when and where a task is to run, within what the person may ask for.
func (s *Server) schedule(ctx context.Context, p *params, person tasks.Person, k tasks.Kind, given submission, spec *tasks.Spec) error {
	longest, attempts, ahead := cmp.Or(k.Timeout, longestAttempt), k.Retry.MaxAttempts, farthest
	if person.Admin {
		longest, attempts, ahead = max(longest, longestAdmin), max(attempts, mostAttempts), farthestAdmin
	}
	spec.Priority = p.within("priority", given.Priority, priorityFrom(person), leastUrgent)
	spec.MaxAttempts = p.within("maxAttempts", given.MaxAttempts, 1, attempts)
	spec.Timeout = p.duration("timeout", time.Second, longest)
	if spec.AvailableAt = p.moment("availableAt"); spec.AvailableAt.After(s.now().Add(ahead)) {
		p.fault("availableAt", fmt.Sprintf("must be at most %d days ahead", int(ahead.Hours()/24)))
	}
	spec.LockKey, spec.PartitionKey = p.word("lockKey", given.LockKey), p.word("partitionKey", given.PartitionKey)
	if !person.Admin {
		p.personal(person, k, given, spec)
		return nil
	}
	var err error
	spec.Lane, err = s.laneNamed(ctx, p, given.Lane)
	return err
}

// personal keeps what a person asks for apart from others': their share is their own, and so are their locks.
func (p *params) personal(person tasks.Person, k tasks.Kind, given submission, spec *tasks.Spec) {
	if given.Lane != "" && given.Lane != k.Lane {
		p.fault("lane", "must be "+k.Lane+", the lane of its kind")
	}
	if given.PartitionKey != "" && given.PartitionKey != person.UserID {
		p.fault("partitionKey", "must be your own user id, or be left out")
	}
	if given.LockKey != "" {
		spec.LockKey = person.UserID + "/" + given.LockKey
	}
}

func (s *Server) laneNamed(ctx context.Context, p *params, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	lanes, err := s.cfg.Tasks.Lanes(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, l := range lanes {
		if l.Lane.Name == name {
			return name, nil
		}
		names = append(names, l.Lane.Name)
	}
	p.fault("lane", mustBe(names))
	return "", nil
}

// nothingToSchedule refuses for a task that runs elsewhere what only the desk's own scheduler could do.
func (p *params) nothingToSchedule(given submission) {
	for _, x := range []struct {
		name  string
		asked bool
	}{
		{"lane", given.Lane != ""}, {"priority", given.Priority != nil}, {"lockKey", given.LockKey != ""},
		{"partitionKey", given.PartitionKey != ""}, {"maxAttempts", given.MaxAttempts != nil},
		{"timeout", p.text("timeout") != ""}, {"availableAt", p.text("availableAt") != ""},
	} {
		if x.asked {
			p.fault(x.name, "has no meaning for an external task: its work is done by the caller, at once")
		}
	}
}

// withRoom submits what a person asks for, unless they have as many unfinished tasks as one may have. Under an
// idempotency key that one of their tasks has, nothing new can come of it, and no room is needed. A person's submits go one after the other, so that no two take the last place. Each process on a shared store sees
// to its own: together they may go beyond the bound by one for each process but the first.
func (s *Server) withRoom(ctx context.Context, p tasks.Person, key string, submit func() error) error {
	if p.Admin {
		return submit() // in no order
	}
	leave, err := s.submits.enter(ctx, p.UserID)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.roomFor(ctx, p, key); err != nil {
		return err
	}
	return submit()
}

// roomFor refuses who has no room for one more.
func (s *Server) roomFor(ctx context.Context, p tasks.Person, key string) error {
	if p.Admin {
		return nil
	}
	if _, err := s.cfg.Tasks.Keyed(ctx, p, key); !errors.Is(err, tasks.ErrNotFound) {
		return err
	}
	counts, err := s.cfg.Tasks.Counts(ctx, p)
	if err != nil {
		return err
	}
	unfinished := 0
	for _, n := range counts {
		if !n.Status.Final() {
			unfinished += n.N
		}
	}
	if unfinished < s.cfg.MaxUnfinished {
		return nil
	}
	return &fault{status: http.StatusTooManyRequests, retryAfter: tryAgainAfter,
		detail: "You have " + views.Plural(unfinished, "unfinished task") + ", which is as many as one may have. Wait for some to end, or cancel some."}
}

// arguments checks what a kind is to work on. The external kind takes any object.
func (p *params) arguments(k tasks.Kind, args json.RawMessage) {
	switch {
	case !bytes.HasPrefix(bytes.TrimSpace(args), []byte("{")):
		p.fault("args", "must be an object")
	case len(args) > maxArgs:
		p.fault("args", "must be "+sizeText(maxArgs)+" at most")
	case k.Name != "":
		if err := k.Check(args); err != nil {
			p.fault("args", "is not what "+k.Name+" takes: "+err.Error())
		}
	}
}

// name checks a name for people to read: one line, no longer than the engine keeps.
func (p *params) name(field, text string) {
	if len(text) > maxName || strings.ContainsFunc(text, unicode.IsControl) {
		p.fault(field, "must be one line of at most "+strconv.Itoa(maxName)+" bytes")
	}
}

// word checks a key that a program chose.
func (p *params) word(field, text string) string {
	if len(text) > maxKey || strings.ContainsFunc(text, func(r rune) bool { return r < '!' || r > '~' }) {
		p.fault(field, "must be one word of 1 to "+strconv.Itoa(maxKey)+" visible ASCII characters")
	}
	return text
}

// within is a number that may be left out, 0 then.
func (p *params) within(field string, n *int, least, most int) int {
	if n == nil {
		return 0
	}
	if *n < least || *n > most {
		p.fault(field, mustBeFrom(least, most))
	}
	return *n
}

func mustBeFrom(least, most int) string {
	return "must be a whole number from " + strconv.Itoa(least) + " to " + strconv.Itoa(most)
}

// duration is a length of time as Go writes it; 0 when it does not stand.
func (p *params) duration(name string, least, most time.Duration) time.Duration {
	text := p.text(name)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		p.fault(name, fmt.Sprintf("must be a time like 30s or 5m, from %s to %s", least, most))
		return 0
	}
	return d
}
