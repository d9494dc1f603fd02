package taskstest

import (
	"testing"

	"filmroom/tasks"
)

var insertScenarios = []scenario{
	{"a second task with the same idempotency key is the first one", duplicateIdempotencyKey},
	{"a second active task with the same dedupe key is the first one", duplicateDedupeKey},
	{"a dedupe key is free again once its task is final", dedupeKeyIsFreed},
	{"a retried task has its dedupe key again, unless another took it", dedupeKeyComesBack},
	{"the holder of the idempotency key comes before that of the dedupe key", idempotencyFirst},
	{"keys of different people do not meet", keysBelongToUsers},
	{"a task is found by the idempotency key that its user gave", foundByKey},
	{"inserting a record again after an unknown outcome finds it", insertedTwice},
}

func keyed(idempotency, dedupe string) func(*tasks.Task) {
	return func(t *tasks.Task) { t.IdempotencyKey, t.DedupeKey = idempotency, dedupe }
}

func duplicateIdempotencyKey(t *testing.T, s tasks.Store) {
	first := insert(t, s, Queued(keyed("k", "")))
	second := Queued(keyed("k", ""))
	isFirst(t, s, second, first)

	update(t, s, first, tasks.CancelRequested("ada@example.org", Epoch))
	isFirst(t, s, second, get(t, s, first.ID)) // an idempotency key outlives its task's end
}

func duplicateDedupeKey(t *testing.T, s tasks.Store) {
	first := insert(t, s, Queued(keyed("", "d")))
	isFirst(t, s, Queued(keyed("", "d")), first)
}

// isFirst checks that inserting second answers first, and that nothing of second was written.
func isFirst(t testing.TB, s tasks.Store, second, first tasks.Task) {
	t.Helper()
	got, err := s.Insert(t.Context(), second)
	refused(t, "the second insert", err, tasks.ErrDuplicate)
	same(t, "the second insert returns the first record", first, got)
	_, err = s.Get(t.Context(), second.ID)
	refused(t, "get the second", err, tasks.ErrNotFound)
	if n := list(t, s, tasks.Query{UserID: first.UserID}).Total; n != 1 {
		t.Errorf("%d tasks are counted, want 1", n)
	}
}

func dedupeKeyIsFreed(t *testing.T, s tasks.Store) {
	first := insert(t, s, Queued(keyed("", "d")))
	update(t, s, first, tasks.CancelRequested("ada@example.org", Epoch))
	insert(t, s, Queued(keyed("", "d")))
}

func dedupeKeyComesBack(t *testing.T, s tasks.Store) {
	retried := tasks.RetriedByPerson("ada@example.org", 2, Epoch)
	first := insert(t, s, Queued(keyed("", "d")))
	ended := update(t, s, first, tasks.CancelRequested("ada@example.org", Epoch))
	again := update(t, s, ended, retried)
	got, err := s.Insert(t.Context(), Queued(keyed("", "d")))
	refused(t, "an equal task beside the retried one", err, tasks.ErrDuplicate)
	same(t, "it returns the retried one", again, got)

	ended = update(t, s, again, tasks.CancelRequested("ada@example.org", Epoch))
	second := insert(t, s, Queued(keyed("", "d")))
	for what, known := range map[string]tasks.Task{"on the newest record": ended, "on a stale one": again} {
		got, err = s.Update(t.Context(), known, retried)
		refused(t, "a retry beside an equal task, "+what, err, tasks.ErrDuplicate)
		same(t, "the record", ended, got)
	}
	same(t, "the record as it is stored", ended, get(t, s, first.ID))

	insert(t, s, Queued(keyed("", "d"), Of("somebody else")))
	update(t, s, second, tasks.CancelRequested("ada@example.org", Epoch))
	update(t, s, ended, retried)
}

func idempotencyFirst(t *testing.T, s tasks.Store) {
	insert(t, s, Queued(keyed("", "d")))
	first := insert(t, s, Queued(keyed("k", "")))
	insert(t, s, Queued(keyed("", "e")))
	for _, dedupe := range []string{"d", "e"} {
		got, err := s.Insert(t.Context(), Queued(keyed("k", dedupe)))
		refused(t, "an insert that is like two others", err, tasks.ErrDuplicate)
		same(t, "it returns the holder of the idempotency key", first, got)
	}
}

func keysBelongToUsers(t *testing.T, s tasks.Store) {
	insertAll(t, s, Queued(keyed("k", "d"), Of("ada")), Queued(keyed("k", "d"), Of("bob")))
}

func foundByKey(t *testing.T, s tasks.Store) {
	first, plain := insert(t, s, Queued(keyed("k", ""))), insert(t, s, Queued())
	update(t, s, first, tasks.CancelRequested("ada@example.org", Epoch))
	got, err := s.Keyed(t.Context(), first.UserID, "k")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "found by its key, after its end too", get(t, s, first.ID), got)
	for _, other := range [][2]string{{first.UserID, "l"}, {first.UserID, ""}, {first.UserID, plain.ID}, {"bob", "k"}} {
		_, err := s.Keyed(t.Context(), other[0], other[1])
		refused(t, "a key that nobody gave", err, tasks.ErrNotFound)
	}
}

func insertedTwice(t *testing.T, s tasks.Store) {
	first := insert(t, s, Queued())
	got, err := s.Insert(t.Context(), first)
	refused(t, "the second insert", err, tasks.ErrDuplicate)
	same(t, "it returns the record", first, got)
}
