package views

import (
	"iter"
	"slices"
	"time"

	"filmroom/tasks"
)

const (
	historySlots = 60
	historySlot  = time.Minute
)

// HistorySpan is how far back a lane's charts reach.
const HistorySpan = historySlots * historySlot

// A LaneHistory is what a lane did in the last hour, by minute, oldest first.
type LaneHistory struct {
	Ended  []int           // tasks that ended in each minute
	Waited []time.Duration // the middle of how long tasks that started in it had waited; -1: none started
}

// NewLaneHistory counts tasks by their lane: those that started or ended within [HistorySpan] before now. Others
// may be among them and count for nothing.
func NewLaneHistory(now time.Time, items ...[]tasks.Task) map[string]LaneHistory {
	history, waits := map[string]LaneHistory{}, map[string][][]time.Duration{}
	for t := range each(items) {
		h, ok := history[t.Lane]
		if !ok {
			h = LaneHistory{Ended: make([]int, historySlots), Waited: make([]time.Duration, historySlots)}
			history[t.Lane], waits[t.Lane] = h, make([][]time.Duration, historySlots)
		}
		if i := slotOf(t.EndedAt, now); i >= 0 {
			h.Ended[i]++
		}
		if i := slotOf(t.StartedAt, now); i >= 0 {
			due := t.AvailableAt
			if t.CreatedAt.After(due) {
				due = t.CreatedAt
			}
			waits[t.Lane][i] = append(waits[t.Lane][i], max(t.StartedAt.Sub(due), 0))
		}
	}
	for lane, h := range history {
		for i, w := range waits[lane] {
			h.Waited[i] = middle(w)
		}
	}
	return history
}

// each goes through lists of tasks where they are.
func each(lists [][]tasks.Task) iter.Seq[*tasks.Task] {
	return func(yield func(*tasks.Task) bool) {
		for _, list := range lists {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// slotOf is the minute of the history that t falls into, -1 for none.
func slotOf(t, now time.Time) int {
	age := now.Sub(t)
	if t.IsZero() || age < 0 || age >= HistorySpan {
		return -1
	}
	return historySlots - 1 - int(age/historySlot)
}

func middle(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return -1
	}
	slices.Sort(d)
	return d[len(d)/2]
}
