package taskstest

import (
	"testing"
	"time"

	"filmroom/tasks"
)

var leaseScenarios = []scenario{
	{"a beat extends the lease and stores the progress", renewExtends},
	{"a beat for a lease that ran out, was taken or ended is lost", renewLost},
	{"a beat learns of a cancel", renewCancelRequested},
	{"tasks whose lease ran out are stale, oldest first", staleExpired},
	{"tasks of other owners are stale for the one that holds the lock", staleOwner},
}

func renew(t testing.TB, s tasks.Store, until, now time.Time, beats ...tasks.Beat) []tasks.Renewal {
	t.Helper()
	got, err := s.Renew(t.Context(), beats, until, now)
	if err != nil {
		t.Fatalf("renew: %v", err)
	}
	return got
}

func renewExtends(t *testing.T, s tasks.Store) {
	a, b := insert(t, s, Running()), insert(t, s, Running())
	now, until := After(30*time.Second), After(90*time.Second)
	pa, pb := tasks.Progress{Message: "Importing", Value: 1, Max: 9}, tasks.Progress{Value: 1 << 40}
	got := renew(t, s, until, now, tasks.Beat{TaskID: a.ID, Token: Token, Progress: pa}, tasks.Beat{TaskID: b.ID, Token: Token, Progress: pb})
	same(t, "answers", []tasks.Renewal{{}, {}}, got)
	same(t, "the first", Moved(a, tasks.Renewed(Token, pa, until, now)), get(t, s, a.ID))
	same(t, "the second", Moved(b, tasks.Renewed(Token, pb, until, now)), get(t, s, b.ID))
	if got := renew(t, s, until, now); len(got) != 0 {
		t.Errorf("no beats got %d answers", len(got))
	}
}

func renewLost(t *testing.T, s tasks.Store) {
	lives, taken := insert(t, s, Running()), insert(t, s, Running())
	expired := insert(t, s, expiring(Epoch.Add(time.Second)))
	ended, waits := insert(t, s, InStatus(tasks.StatusFinished)), insert(t, s, Queued())
	now := After(time.Second) // a lease that expires now has expired
	got := renew(t, s, now.Add(time.Minute), now,
		tasks.Beat{TaskID: expired.ID, Token: Token},
		tasks.Beat{TaskID: taken.ID, Token: "another"},
		tasks.Beat{TaskID: lives.ID, Token: Token},
		tasks.Beat{TaskID: ended.ID, Token: Token},
		tasks.Beat{TaskID: waits.ID, Token: ""},
		tasks.Beat{TaskID: ID(), Token: Token},
		tasks.Beat{}) // which asks whether the store answers
	lost := tasks.Renewal{Lost: true}
	same(t, "answers in the order of the beats", []tasks.Renewal{lost, lost, {}, lost, lost, lost, lost}, got)
	for _, was := range []tasks.Task{expired, taken, ended, waits} {
		unchanged(t, s, was)
	}
}

func renewCancelRequested(t *testing.T, s tasks.Store) {
	running := insert(t, s, Running())
	update(t, s, running, tasks.CancelRequested("bob@example.org", Epoch))
	got := renew(t, s, After(time.Hour), Epoch, tasks.Beat{TaskID: running.ID, Token: Token})
	same(t, "answers", []tasks.Renewal{{CancelRequested: true}}, got)
}

// expiring is a running task of owner "boot-1" whose lease expires at at.
func expiring(at time.Time, edits ...func(*tasks.Task)) tasks.Task {
	lease := tasks.Lease{Owner: "boot-1", Token: Token, ExpiresAt: at}
	return Moved(Queued(edits...), tasks.Claimed(lease, Epoch))
}

func stale(t testing.TB, s tasks.Store, owner string, now time.Time, limit int) []string {
	t.Helper()
	got, err := s.Stale(t.Context(), owner, now, limit)
	if err != nil {
		t.Fatalf("stale: %v", err)
	}
	for _, task := range got {
		same(t, "a stale task comes whole", get(t, s, task.ID), task)
	}
	return idsOf(got)
}

func staleExpired(t *testing.T, s tasks.Store) {
	third, first := expiring(After(3*time.Second)), expiring(After(time.Second))
	second, alive := expiring(After(2*time.Second)), expiring(After(4*time.Second))
	insertAll(t, s, third, first, second, alive, InStatus(tasks.StatusFinished), Queued())
	now := After(3 * time.Second)
	same(t, "all", []string{first.ID, second.ID, third.ID}, stale(t, s, "", now, 10))
	same(t, "two at most", []string{first.ID, second.ID}, stale(t, s, "", now, 2))
	same(t, "none yet", []string{}, stale(t, s, "", Epoch, 10))
}

func staleOwner(t *testing.T, s tasks.Store) {
	mine, expired := expiring(After(time.Hour)), expiring(After(time.Second))
	insertAll(t, s, mine, expired)
	now := After(time.Minute)
	same(t, "for another process", []string{expired.ID, mine.ID}, stale(t, s, "boot-2", now, 10))
	same(t, "one at most", []string{expired.ID}, stale(t, s, "boot-2", now, 1))
	same(t, "for the owner", []string{expired.ID}, stale(t, s, "boot-1", now, 10))
}
