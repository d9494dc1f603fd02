package main

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite"
)

type riverPeer struct {
	db      *sql.DB
	client  *river.Client[*sql.Tx]
	ran     func(number int)
	started bool
}

type riverTask struct {
	Number int `json:"number"`
}

func (riverTask) Kind() string { return "noop" }

type riverWorker struct {
	river.WorkerDefaults[riverTask]
	peer *riverPeer
}

func (w *riverWorker) Work(_ context.Context, job *river.Job[riverTask]) error {
	w.peer.ran(job.Args.Number)
	return nil
}

// openRiver keeps River's tables in a file with the desk's own promises: WAL, synced at each commit. One
// connection is what River's driver advises.
func openRiver(ctx context.Context, dir string) (peer, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "river.db")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	p := &riverPeer{db: db}
	if err := p.open(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return p, nil
}

func (p *riverPeer) open(ctx context.Context) error {
	driver, quiet := riversqlite.New(p.db), slog.New(slog.DiscardHandler)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	known := river.NewWorkers()
	river.AddWorker(known, &riverWorker{peer: p})
	p.client, err = river.NewClient(driver, &river.Config{
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		Workers: known, Logger: quiet, FetchCooldown: poll, FetchPollInterval: poll,
	})
	return err
}

func (p *riverPeer) name() string { return "River (SQLite)" }

func (p *riverPeer) submit(ctx context.Context, number int) error {
	_, err := p.client.Insert(ctx, riverTask{number}, nil)
	return err
}

func (p *riverPeer) submitBulk(ctx context.Context, from, n int) error {
	all := make([]river.InsertManyParams, n)
	for i := range all {
		all[i].Args = riverTask{from + i}
	}
	_, err := p.client.InsertMany(ctx, all) // InsertManyFast of v0.31.0 panics on SQLite
	return err
}

func (p *riverPeer) start(ctx context.Context, ran func(number int)) error {
	p.ran, p.started = ran, true
	return p.client.Start(ctx)
}

func (p *riverPeer) unfinished(ctx context.Context) (n int, err error) {
	err = p.db.QueryRowContext(ctx, "SELECT count(*) FROM river_job WHERE state <> 'completed'").Scan(&n)
	return n, err
}

func (p *riverPeer) close() error {
	var err error
	if p.started {
		err = p.client.Stop(context.Background())
	}
	return errors.Join(err, p.db.Close())
}
