package imaging

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"filmroom/tasks"
)

// Limits bound what people may send. Zero values take the defaults named.
type Limits struct {
	MaxUpload   int64 // 20 GiB: bytes of one transfer
	MinFree     int64 // 2 GiB: bytes that stay free on the disk, so that the database has room
	MaxEntries  int64 // 1,000,000: files in one import, those in archives counted
	MaxUnpacked int64 // 200 GiB: bytes that one import may unpack to
	MaxRatio    int64 // 1,000: times what was sent that one import may unpack to, from 64 MiB on
}

// Config is what a [Desk] needs.
type Config struct {
	Store   Store
	DataDir string // holds staging, files, previews and temporary files, all on one file system
	Limits  Limits
	Key     []byte // 32 bytes; seals what exports keep secret
	Now     func() time.Time
	Logger  *slog.Logger
	Workers int // files read at once by one import or export; 0: one for each processor

	// KeepInput is how long staged input of an import that did not finish stays for a retry; 0: 168 h.
	KeepInput time.Duration
	// PreviewCache is how many bytes of pictures are kept on disk; 0: 256 MiB.
	PreviewCache int64
}

// A Desk does the desk's work: it takes files in, keeps them, shows them, and lets them out.
type Desk struct {
	cfg      Config
	log      *slog.Logger
	files    *files
	staging  *staging
	previews *previews

	checkpointEvery int64 // rows of an import between two checkpoints
	sealer          *sealer
	identities      *identities
	known           studyCache
	tasks           *tasks.Manager

	libraries sync.Map // user id -> library id

	stop func()
	done sync.WaitGroup
}

const sweepInterval = time.Hour

// New checks the configuration and makes the directories. Nothing runs before Start.
func New(cfg Config) (*Desk, error) {
	cfg.defaults()
	d := &Desk{cfg: cfg, log: cfg.Logger, stop: func() {}, checkpointEvery: checkpointEvery}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	room := newRoom(cfg.DataDir, cfg.Limits.MinFree)
	var errs [5]error
	d.files, errs[0] = openFiles(filepath.Join(cfg.DataDir, "files"), room, cfg.Now)
	d.staging, errs[1] = openStaging(filepath.Join(cfg.DataDir, "staging"), room)
	d.previews, errs[2] = openPreviews(filepath.Join(cfg.DataDir, "previews"), cfg.PreviewCache, cfg.Workers)
	d.sealer, errs[3] = newSealer(cfg.Key)
	d.identities, errs[4] = openIdentities(filepath.Join(cfg.DataDir, "identities"), d.sealer, room)
	return d, errors.Join(append(errs[:], syncPath(cfg.DataDir))...)
}

func (c *Config) defaults() {
	for _, l := range []struct {
		field *int64
		value int64
	}{
		{&c.Limits.MaxUpload, 20 << 30}, {&c.Limits.MinFree, 2 << 30}, {&c.Limits.MaxEntries, 1_000_000},
		{&c.Limits.MaxUnpacked, 200 << 30}, {&c.Limits.MaxRatio, 1000}, {&c.PreviewCache, 256 << 20},
	} {
		if *l.field <= 0 {
			*l.field = l.value
		}
	}
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.KeepInput <= 0 {
		c.KeepInput = 168 * time.Hour
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
}

// Kinds are the desk's kinds of tasks, for the engine's registration.
func (d *Desk) Kinds() []tasks.Kind {
	return []tasks.Kind{d.importKind(), d.exportKind(), d.deleteKind()}
}

// Attach gives the desk the manager that was made from its kinds.
func (d *Desk) Attach(m *tasks.Manager) { d.tasks = m }

// Start removes what a crash left behind and then, once an hour, what nothing refers to any more. The desk
// must have its manager by then.
func (d *Desk) Start(ctx context.Context) error {
	if err := d.files.clear(); err != nil {
		return err
	}
	if err := d.sweepStaging(ctx); err != nil {
		return err
	}
	loop, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	d.done.Go(func() { d.sweepForever(loop) })
	return nil
}

// Stop ends the sweeps. Running tasks are the engine's to stop.
func (d *Desk) Stop(ctx context.Context) error {
	d.stop()
	stopped := make(chan struct{})
	go func() {
		d.done.Wait()
		close(stopped)
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *Desk) sweepForever(ctx context.Context) {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		d.sweep(ctx)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// sweep tidies up once. What fails is tried again an hour later.
func (d *Desk) sweep(ctx context.Context) {
	stored, sealed := swept{log: d.log, what: "stored files that nothing refers to", key: "sha256"}, swept{log: d.log, what: "sealed identities that no task can use any more", key: "task"}
	err := errors.Join(d.files.sweep(ctx, d.cfg.Store.Referred, stored.add), d.sweepStaging(ctx), d.identities.sweep(ctx, d.needsInput, sealed.add), d.previews.trim())
	stored.end()
	sealed.end()
	if err != nil && ctx.Err() == nil {
		d.log.Error("sweep of the data directory", "err", err)
	}
}

// libraryOf returns the id of a person's library, made on first use.
func (d *Desk) libraryOf(ctx context.Context, userID string) (string, error) {
	if id, ok := d.libraries.Load(userID); ok {
		return id.(string), nil
	}
	l, err := d.cfg.Store.LibraryOf(ctx, userID, tasks.NewID(), d.cfg.Now())
	if err != nil {
		return "", fmt.Errorf("library: %w", err)
	}
	d.libraries.Store(userID, l.ID)
	return l.ID, nil
}
