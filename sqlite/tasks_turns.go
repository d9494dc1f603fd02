package sqlite

import (
	"cmp"
	"container/heap"

	"filmroom/sqlite/internal/lite"
)

// A turn is a partition that may be served next, and the task with which.
type turn struct {
	key    string
	slots  int
	served int64
	first  head
	walk   *walk // nil until the partition's tasks were read
}

func compareTurns(a, b *turn) int {
	return cmp.Or(cmp.Compare(a.slots, b.slots), cmp.Compare(a.served, b.served), a.first.compare(b.first))
}

// A queue is what waits at one priority of the lane of a claim. Partitions that hold no slot come from the
// index lane_turns_order in the order of their turn, and only those whose turn may come are read; after them
// come those that hold slots, which the capacity bounds.
type queue struct {
	*claiming
	priority int
	free     *lite.Stmt      // partitions as lane_turns_order has them
	next     *turn           // of free, nil at its end
	reached  map[string]bool // partitions that held none when they were read
	busy     bool            // the partitions that hold slots were added
	turns    []*turn         // a heap
}

const (
	selectFree = `SELECT partitionKey, served, availableAt, taskId FROM lane_turns WHERE taskId IS NOT NULL
		AND lane = ? AND priority = ? AND availableAt <= ? ORDER BY served, availableAt, taskId`
	selectBusy = `SELECT partitionKey, served, availableAt, taskId FROM lane_turns WHERE taskId IS NOT NULL
		AND lane = ? AND partitionKey = ? AND priority = ? AND availableAt <= ?`
)

// serve claims until the claim has what it wants or nothing is left at this priority.
func (q *queue) serve() error {
	q.free = q.tx.Stmt(selectFree).Text(q.Lane).Int(int64(q.priority)).Int(q.now)
	defer q.free.Done()
	q.readFree()
	for len(q.claimed) < q.want {
		t, err := q.pop()
		if t == nil || err != nil {
			return cmp.Or(err, q.free.Err())
		}
		if err := q.serveOne(t); err != nil {
			return err
		}
	}
	return nil
}

// serveOne claims a partition's next task, or finds that another partition comes before it.
func (q *queue) serveOne(t *turn) error {
	if t.walk == nil {
		t.walk = q.walk(partition{q.Lane, q.priority, t.key})
	}
	task, err := t.walk.peek()
	if task == nil || err != nil {
		return err
	}
	if first := headOf(task); first != t.first { // what was first waits for a lock
		t.first = first
		heap.Push(q, t)
		return nil
	}
	t.walk.drop(task)
	taken, err := q.take(task)
	if err != nil {
		return err
	}
	if taken {
		t.slots, t.served = q.slots[t.key], q.served[t.key]
	}
	if task, err = t.walk.peek(); task == nil || err != nil {
		return err
	}
	t.first = headOf(task)
	heap.Push(q, t)
	return nil
}

// pop takes the turn that is first of all; nil when there is none.
func (q *queue) pop() (*turn, error) {
	if q.next != nil && (len(q.turns) == 0 || compareTurns(q.next, q.turns[0]) < 0) {
		t := q.next
		q.readFree()
		return t, nil
	}
	if q.next == nil && !q.busy && (len(q.turns) == 0 || q.turns[0].slots > 0) {
		if err := q.addBusy(); err != nil {
			return nil, err
		}
	}
	if len(q.turns) == 0 {
		return nil, nil
	}
	return heap.Pop(q).(*turn), nil
}

// readFree moves on to the next partition that holds no slot.
func (q *queue) readFree() {
	for q.next = nil; q.next == nil && q.free.Next(); {
		if t := readTurn(q.free); q.slots[t.key] == 0 {
			q.next, q.reached[t.key] = t, true
		}
	}
}

func readTurn(s *lite.Stmt) *turn {
	return &turn{key: s.ReadText(), served: s.ReadInt(), first: head{s.ReadInt(), s.ReadText()}}
}

// addBusy adds the partitions that held slots when this priority began; those that this queue has served
// are in it already.
func (q *queue) addBusy() error {
	q.busy = true
	for key, slots := range q.slots {
		if q.reached[key] {
			continue
		}
		s := q.tx.Stmt(selectBusy).Text(q.Lane).Text(key).Int(int64(q.priority)).Int(q.now)
		if s.Next() {
			t := readTurn(s)
			t.slots, t.served = slots, cmp.Or(q.served[key], t.served)
			q.turns = append(q.turns, t)
		}
		if err := s.Err(); err != nil {
			return err
		}
	}
	heap.Init(q)
	return nil
}

func (q *queue) Len() int           { return len(q.turns) }
func (q *queue) Less(i, j int) bool { return compareTurns(q.turns[i], q.turns[j]) < 0 }
func (q *queue) Swap(i, j int)      { q.turns[i], q.turns[j] = q.turns[j], q.turns[i] }
func (q *queue) Push(x any)         { q.turns = append(q.turns, x.(*turn)) }
func (q *queue) Pop() any {
	last := q.turns[len(q.turns)-1]
	q.turns = q.turns[:len(q.turns)-1]
	return last
}
