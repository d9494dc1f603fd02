package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"filmroom/accounts"
	"filmroom/accounts/accountstest"
	"filmroom/sqlite/internal/lite"
	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCommandLineWorksBesideTheServer(t *testing.T) {
	t.Parallel()
	server := open(t)
	beside := openAt(t, server.path, Options{Beside: true})
	before := version(t, server)
	user := accountstest.User("ada@example.org")
	must(t, beside.Accounts().AddUser(t.Context(), user))
	if got, err := server.Accounts().User(t.Context(), user.ID); err != nil || got.Email != user.Email {
		t.Errorf("the server sees %+v (%v)", got, err)
	}
	user.DisabledAt = accountstest.Epoch
	must(t, beside.Accounts().UpdateUser(t.Context(), user))
	if version(t, server) <= before {
		t.Error("the server does not see that an account was disabled")
	}
}

func version(t *testing.T, db *DB) int64 {
	t.Helper()
	v, err := db.Accounts().Version(t.Context())
	must(t, err)
	return v
}

func TestBothWriteAtOnce(t *testing.T) {
	t.Parallel()
	server := open(t)
	beside := openAt(t, server.path, Options{Beside: true})
	var wg sync.WaitGroup
	for _, s := range []accounts.Store{server.Accounts(), beside.Accounts()} {
		wg.Go(func() {
			for range 50 {
				if err := s.AddUser(t.Context(), accountstest.User(accountstest.ID()+"@example.org")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if all, err := server.Accounts().Users(t.Context()); err != nil || len(all) != 100 {
		t.Errorf("%d accounts (%v), want 100", len(all), err)
	}
}

// Migrations that ran at once have kept other systems from starting.
func TestAFileThatManyOpenAtOnceIsMadeOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			db, err := Open(t.Context(), path, Options{Beside: i > 0}) // the server, and people at the command line
			if err == nil {
				err = errors.Join(db.Accounts().AddUser(t.Context(), accountstest.User(accountstest.ID()+"@example.org")), db.Close())
			}
			if err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if all, err := openAt(t, path, Options{}).Accounts().Users(t.Context()); err != nil || len(all) != 8 {
		t.Errorf("%d accounts (%v), want 8", len(all), err)
	}
}

func TestWriteLockOfAnotherProgramIsBusy(t *testing.T) {
	t.Parallel()
	db := openAt(t, filepath.Join(t.TempDir(), "test.db"), Options{BusyTimeout: 1})
	other, err := lite.Open(db.path, 0, nil)
	must(t, err)
	must(t, other.Exec("BEGIN IMMEDIATE"))
	_, err = db.Tasks().Insert(t.Context(), taskstest.Queued())
	if !errors.Is(err, ErrBusy) {
		t.Errorf("error %v, want ErrBusy", err)
	}
	must(t, other.Close())
	if _, err := db.Tasks().Insert(t.Context(), taskstest.Queued()); err != nil {
		t.Errorf("after the lock was given up: %v", err)
	}
}

// TestFullDiskWritesNothing limits the file's size, which SQLite reports as a full disk does.
func TestFullDiskWritesNothing(t *testing.T) {
	t.Parallel()
	db := open(t)
	s := db.Tasks()
	var limit int64
	must(t, db.write(t.Context(), func(tx *tx) error {
		pages, err := number(tx.Stmt("PRAGMA page_count"))
		limit = pages + 20
		return err
	}))
	must(t, db.write(t.Context(), func(tx *tx) error {
		_, err := number(tx.Stmt("PRAGMA max_page_count = " + strconv.FormatInt(limit, 10)))
		return err
	}))
	big := taskstest.Queued(func(t *tasks.Task) { t.Sealed = make([]byte, 1<<20) })
	small := taskstest.Queued()
	errs := batched(t, db,
		func() error { _, err := s.Insert(t.Context(), big); return err },
		func() error { _, err := s.Insert(t.Context(), small); return err })
	if !errors.Is(errs[0], ErrFull) || !errors.Is(errs[0], syscall.ENOSPC) {
		t.Errorf("error %v, want ErrFull and ENOSPC", errs[0])
	}
	must(t, errs[1])
	if _, err := s.Get(t.Context(), big.ID); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("the refused task: %v, want ErrNotFound", err)
	}
	counts, err := s.Counts(t.Context(), small.UserID)
	must(t, err)
	if len(counts) != 1 || counts[0].N != 1 {
		t.Errorf("counted %+v, want the one task", counts)
	}
}

// batched makes writes that share a batch: the writer is held until all of them wait.
func batched(t *testing.T, db *DB, writes ...func() error) []error {
	t.Helper()
	held, let := make(chan struct{}), make(chan struct{})
	hold := sync.OnceFunc(func() { close(held); <-let }) // the batch may run again
	errs := make([]error, len(writes))
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = db.write(t.Context(), func(*tx) error { hold(); return nil })
	})
	<-held
	for i, write := range writes {
		wg.Go(func() { errs[i] = write() })
		for len(db.writer.queue) <= i {
			runtime.Gosched()
		}
	}
	close(let)
	wg.Wait()
	return errs
}

func TestWriteThatFailsHalfWayTakesNoOtherWithIt(t *testing.T) {
	t.Parallel()
	db := open(t)
	a, b := taskstest.Queued(), taskstest.Queued()
	broken := errors.New("broken")
	errs := batched(t, db,
		func() error { _, err := db.Tasks().Insert(t.Context(), a); return err },
		func() error {
			return db.write(t.Context(), func(tx *tx) error { return errors.Join(tx.Do(raiseVersion), broken) })
		},
		func() error { _, err := db.Tasks().Insert(t.Context(), b); return err })
	must(t, errs[0])
	must(t, errs[2])
	if !errors.Is(errs[1], broken) {
		t.Errorf("error %v, want its own", errs[1])
	}
	if v := version(t, db); v != 1 {
		t.Errorf("version %d: half of a write was kept", v)
	}
	counts, err := db.Tasks().Counts(t.Context(), a.UserID)
	must(t, err)
	if len(counts) != 1 || counts[0].N != 2 {
		t.Errorf("counted %+v, want both tasks once", counts)
	}
}

func TestCallerMayGiveUpOnlyBeforeItsWriteBegins(t *testing.T) {
	t.Parallel()
	db := open(t)
	gaveUp, stays := taskstest.Queued(), taskstest.Queued()
	first, cancelFirst := context.WithCancel(t.Context())
	second, cancelSecond := context.WithCancel(t.Context())
	defer cancelSecond()
	errs := batched(t, db,
		func() error { _, err := db.Tasks().Insert(first, gaveUp); return err },
		func() error { cancelFirst(); _, err := db.Tasks().Insert(t.Context(), stays); return err },
		func() error {
			return db.write(second, func(tx *tx) error { cancelSecond(); return tx.Do(raiseVersion) })
		})
	if !errors.Is(errs[0], context.Canceled) {
		t.Errorf("error %v, want Canceled", errs[0])
	}
	must(t, errs[1])
	must(t, errs[2]) // it had begun, so its caller learns that it was kept
	if v := version(t, db); v != 2 {
		t.Errorf("version %d, want 2", v)
	}
	if _, err := db.Tasks().Get(t.Context(), gaveUp.ID); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("what the caller gave up: %v, want ErrNotFound", err)
	}
}

func TestClosedDatabaseRefuses(t *testing.T) {
	t.Parallel()
	db := open(t)
	must(t, db.Close())
	_, err := db.Tasks().Insert(t.Context(), taskstest.Queued())
	if !errors.Is(err, ErrClosed) {
		t.Errorf("insert: %v, want ErrClosed", err)
	}
	if _, err := db.Tasks().Get(t.Context(), "x"); !errors.Is(err, ErrClosed) {
		t.Errorf("get: %v, want ErrClosed", err)
	}
}

func TestSchemaOfAnotherTimeIsRefused(t *testing.T) {
	t.Parallel()
	newest, err := newestVersion()
	must(t, err)
	for _, c := range []struct {
		what    string
		version int
		o       Options
		ok      bool
	}{
		{"the same version beside a server", newest, Options{Beside: true}, true},
		{"an older one beside a server", newest - 1, Options{Beside: true}, false},
		{"a newer one", newest + 1, Options{}, false},
	} {
		db := open(t)
		must(t, db.Close())
		setPragma(t, db.path, "user_version = "+strconv.Itoa(c.version))
		again, err := Open(t.Context(), db.path, c.o)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.what, err)
		}
		if again != nil {
			closeDB(t, again)
		}
	}
}

func TestFileOfAnotherProgramIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "other.db")
	setPragma(t, path, "user_version = 1")
	if _, err := Open(t.Context(), path, Options{}); err == nil {
		t.Error("another program's database was opened")
	}
	must(t, os.WriteFile(path, []byte("no database at all, but long enough to be looked at"), 0o600))
	if _, err := Open(t.Context(), path, Options{}); err == nil {
		t.Error("a file that is no database was opened")
	}
}

func setPragma(t *testing.T, path, pragma string) {
	t.Helper()
	c, err := lite.Open(path, 0, nil)
	must(t, err)
	must(t, c.Exec("PRAGMA "+pragma))
	must(t, c.Close())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
