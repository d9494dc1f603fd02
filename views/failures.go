package views

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode"

	"filmroom/tasks"
)

// A FailureGroup is tasks that failed alike: same kind, same cause, and a message that differs in numbers
// and ids alone.
type FailureGroup struct {
	Key     string // names the group when its retry is posted
	Kind    string // in people's words
	Cause   string
	Message string   // of the newest
	IDs     []string // of the tasks that can be retried, newest first
	Tasks   string   // "12 tasks of 3 people"
	Retry   string   // "Retry these 12", "" when none can be
	Newest  When
	Sample  string // id of the newest
}

// GroupFailures groups tasks that failed, the largest group first. Both the page and the retry that it asks
// for group, so that what is retried is what was shown; see [FailureGroup.Key].
func GroupFailures(failed []tasks.Task, now time.Time) []FailureGroup {
	byKey := map[string][]tasks.Task{}
	for _, t := range failed {
		if t.Status == tasks.StatusError || t.Status == tasks.StatusInterrupted {
			key := failureKey(t)
			byKey[key] = append(byKey[key], t)
		}
	}
	groups := make([]FailureGroup, 0, len(byKey))
	for key, items := range byKey {
		slices.SortFunc(items, func(a, b tasks.Task) int { return cmp.Or(b.EndedAt.Compare(a.EndedAt), cmp.Compare(b.ID, a.ID)) })
		groups = append(groups, newFailureGroup(key, items, now))
	}
	slices.SortFunc(groups, func(a, b FailureGroup) int {
		return cmp.Or(cmp.Compare(len(b.IDs), len(a.IDs)), cmp.Compare(b.Newest.ISO, a.Newest.ISO), cmp.Compare(a.Key, b.Key))
	})
	return groups
}

func newFailureGroup(key string, items []tasks.Task, now time.Time) FailureGroup {
	newest := items[0]
	g := FailureGroup{
		Key: key, Kind: KindWord(newest.Kind), Cause: causeWords[lastCause(newest)], Message: newest.Error,
		Newest: NewWhen(newest.EndedAt, now), Sample: newest.ID,
	}
	people := map[string]bool{}
	for _, t := range items {
		people[t.UserID] = true
		if canRetry(t) {
			g.IDs = append(g.IDs, t.ID)
		}
	}
	g.Tasks = Plural(len(items), "task")
	if len(people) > 1 {
		g.Tasks += " of " + Count(len(people)) + " people"
	}
	switch len(g.IDs) {
	case 0:
	case 1:
		g.Retry = "Retry it"
	default:
		g.Retry = "Retry these " + Count(len(g.IDs))
	}
	return g
}

func failureKey(t tasks.Task) string {
	sum := sha256.Sum256([]byte(t.Kind + "\x00" + string(lastCause(t)) + "\x00" + alike(t.Error)))
	return hex.EncodeToString(sum[:12])
}

func lastCause(t tasks.Task) tasks.Cause {
	if n := len(t.Failures); n > 0 {
		return t.Failures[n-1].Cause
	}
	if t.Status == tasks.StatusInterrupted {
		return tasks.CauseLost
	}
	return tasks.CauseError
}

// alike makes messages equal that differ in numbers and ids alone: each word with a digit is one mark.
func alike(message string) string {
	words := strings.Fields(message)
	for i, w := range words {
		if strings.ContainsFunc(w, unicode.IsDigit) {
			words[i] = "#"
		}
	}
	return strings.Join(words, " ")
}
