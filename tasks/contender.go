package tasks

import (
	"cmp"
	"time"
)

// A Contender is a partition with tasks that wait at one priority of a lane: what its turn depends on.
type Contender struct {
	Slots  int       // of the lane, which its tasks hold
	Served int64     // when it was served last: later is more, 0 is never
	At     time.Time // AvailableAt and ID of the first of its tasks
	ID     string
}

// Lets returns how many tasks of a rival, if it has so many, are served before the one of c's that comes after
// own others of c. A partition is served until it has as many slots as the next, and then they take turns, so it
// is what the rival lacks to as many as c will have; and one more when the rival comes first among equals. Of
// two that began unequal that is the one that began with more, for the other was served later.
func (c Contender) Lets(rival Contender, own int) int {
	lacks := c.Slots + own - rival.Slots
	first := cmp.Or(cmp.Compare(c.Slots, rival.Slots), cmp.Compare(rival.Served, c.Served), rival.At.Compare(c.At), cmp.Compare(rival.ID, c.ID))
	if first < 0 {
		lacks++
	}
	return max(lacks, 0)
}
