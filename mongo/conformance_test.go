package mongo

import (
	"testing"

	"filmroom/accounts"
	"filmroom/accounts/accountstest"
	"filmroom/imaging"
	"filmroom/imaging/imagingtest"
	"filmroom/tasks"
	"filmroom/tasks/taskstest"
)

func TestTasksKeepTheirPromises(t *testing.T) {
	t.Parallel()
	say(t)
	taskstest.Test(t, taskstest.Harness{
		New:        func(t testing.TB) tasks.Store { return setup(t).Tasks() },
		Reopen:     func(t testing.TB, old tasks.Store) tasks.Store { return again(t, old.(*Tasks).db).Tasks() },
		Beside:     func(t testing.TB, s tasks.Store) tasks.Store { return open(t, s.(*Tasks).db.name).Tasks() },
		Contention: true,
		Fight:      fight(),
	})
}

// fight is how many tasks many claimers fight for: FerretDB 1 reads all of them for each write.
func fight() int {
	if theServer.whole {
		return 500
	}
	return 40
}

func TestImagingKeepsItsPromises(t *testing.T) {
	t.Parallel()
	say(t)
	imagingtest.Test(t, imagingtest.Harness{
		New:        func(t testing.TB) imaging.Store { return setup(t).Imaging() },
		Reopen:     func(t testing.TB, old imaging.Store) imaging.Store { return again(t, old.(*Imaging).db).Imaging() },
		Contention: true,
	})
}

func TestAccountsKeepTheirPromises(t *testing.T) {
	t.Parallel()
	say(t)
	accountstest.Test(t, accountstest.Harness{
		New:        func(t testing.TB) accounts.Store { return setup(t).Accounts() },
		Reopen:     func(t testing.TB, old accounts.Store) accounts.Store { return again(t, old.(*Accounts).db).Accounts() },
		Contention: true,
	})
}

// say tells the log on what the suite runs.
func say(t *testing.T) {
	if theServer.whole {
		t.Log("on the server at TEST_MONGODB_URI")
	} else {
		t.Log("on an embedded FerretDB 1, one command at a time: that a server's single writes are atomic " +
			"is shown only with TEST_MONGODB_URI")
	}
}
