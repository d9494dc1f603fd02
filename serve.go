package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"filmroom/accounts"
	"filmroom/handlers"
	"filmroom/imaging"
	"filmroom/static"
	"filmroom/tasks"
	"filmroom/tasks/webhook"
	"filmroom/views"
)

const (
	startWithin = time.Minute      // to open the stores and rescue what a crash left
	stepWithin  = 10 * time.Second // for a step of the teardown that has no grace of its own
)

// desk is everything that runs, in the order in which it was started.
type desk struct {
	cfg      Config
	log      *slog.Logger
	down     teardown
	stores   *stores
	accounts *accounts.Service
	imaging  *imaging.Desk
	registry *prometheus.Registry
	metrics  *handlers.Metrics
	manager  *tasks.Manager
	failed   chan error // what ended a listener that nobody stopped
}

// run serves the desk until ctx ends, and then stops everything in reverse order.
func run(ctx context.Context, cfg Config, log *slog.Logger) (err error) {
	d := newDesk(cfg, log)
	defer func() { err = errors.Join(err, d.down.run(log)) }()
	if err := d.start(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		log.Info("stopping: running tasks have their grace, a second signal ends it at once", "grace", cfg.ShutdownGrace.String())
		return nil
	case err := <-d.failed:
		return err
	}
}

func newDesk(cfg Config, log *slog.Logger) *desk {
	d := &desk{cfg: cfg, log: log, failed: make(chan error, 2), registry: prometheus.NewRegistry()}
	d.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	d.metrics = handlers.NewMetrics(d.registry)
	return d
}

func (d *desk) start(ctx context.Context) error {
	// Not within a time: an upgrade of millions of records takes a while, and must not be given up.
	if err := d.openStores(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for _, begin := range []func(context.Context) error{
		d.startAccounts, d.startWork, d.serveMetrics, d.serve, d.inviteFirst,
	} {
		if err := begin(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *desk) openStores(ctx context.Context) error {
	release, err := lockDataDir(d.cfg.DataDir)
	if err != nil {
		return err
	}
	d.down.add("data directory lock", stepWithin, func(context.Context) error { return release() })
	d.stores, err = openStores(ctx, d.cfg.places, false, d.log)
	if err != nil {
		return err
	}
	d.down.add("stores", stepWithin, d.stores.close)
	return nil
}

func (d *desk) startAccounts(ctx context.Context) error {
	d.accounts = accounts.NewService(accounts.ServiceConfig{Store: d.stores.accounts, Now: d.stores.now, Logger: d.log})
	d.down.add("accounts", stepWithin, func(context.Context) error { d.accounts.Close(); return nil })
	if d.cfg.AdminEmail == "" {
		return nil
	}
	made, err := d.accounts.EnsureAdmin(ctx, d.cfg.AdminEmail, d.cfg.AdminPassword)
	if invalid, ok := errors.AsType[*accounts.InvalidError](err); ok {
		return fmt.Errorf("FILMROOM_ADMIN_EMAIL, FILMROOM_ADMIN_PASSWORD: %w", invalid)
	}
	if made {
		d.log.Info("made the first account from the configuration; the password may be taken out of it now")
	}
	return err
}

// startWork starts the desk's work and the engine that runs it. The engine rescues first what a crash
// left behind, before anybody can look.
func (d *desk) startWork(ctx context.Context) error {
	key, err := deskKey(d.cfg.DataDir)
	if err != nil {
		return err
	}
	d.imaging, err = imaging.New(imaging.Config{
		Store: d.stores.imaging, DataDir: d.cfg.DataDir, Limits: d.cfg.Limits, Key: key,
		Now: d.stores.now, Logger: d.log, KeepInput: d.cfg.ResultTTL,
	})
	if err != nil {
		return err
	}
	if d.manager, err = d.newManager(); err != nil {
		return err
	}
	d.imaging.Attach(d.manager)
	if err := d.imaging.Start(ctx); err != nil {
		return err
	}
	d.down.add("imaging", stepWithin, d.imaging.Stop)
	if err := d.manager.Start(ctx); err != nil {
		return err
	}
	d.down.add("tasks", d.cfg.ShutdownGrace+2*stepWithin, d.manager.Stop)
	return nil
}

// bulkLane is where actions on many tasks wait.
const bulkLane = "bulk"

func (d *desk) newManager() (*tasks.Manager, error) {
	kinds, err := tasks.NewKinds(append(d.imaging.Kinds(),
		tasks.DefineBulk(bulkLane, func() *tasks.Manager { return d.manager }, handlers.AuditBulk(d.accounts)),
		webhook.Define(webhook.Config{Lookup: d.webhookOf, Task: d.task, AllowPrivate: d.cfg.WebhookAllowPrivate, Now: d.stores.now}),
	)...)
	if err != nil {
		return nil, err
	}
	results, err := tasks.NewResultDir(d.cfg.resultsDir())
	if err != nil {
		return nil, err
	}
	return tasks.NewManager(tasks.Config{
		Store: d.stores.tasks, Results: results, Kinds: kinds, Lanes: d.cfg.Lanes,
		ProgressInterval: d.cfg.ProgressInterval, Heartbeat: d.cfg.Heartbeat, LeaseTTL: d.cfg.LeaseTTL,
		RescueInterval: d.cfg.RescueInterval, ShutdownGrace: d.cfg.ShutdownGrace, ResultTTL: d.cfg.ResultTTL,
		ExternalTTL: d.cfg.ExternalTTL, Retention: d.cfg.Retention,
		Follow: webhook.Follow(d.webhookOf, func(err error) {
			d.log.Error("who has a webhook could not be looked up; the delivery looks again", "error", err)
		}),
		SoleOwner: d.stores.exclusive, Healthy: d.stores.healthy, Now: d.stores.now, Clock: d.stores.clock,
		Logger: d.log, Observer: d.metrics,
	})
}

func (d *desk) webhookOf(ctx context.Context, userID string) (webhook.Target, error) {
	address, secret, err := d.accounts.Webhook(ctx, userID)
	return webhook.Target{URL: address, Secret: secret}, err
}

// task looks a task up through the engine, which is made after the kinds that need this.
func (d *desk) task(ctx context.Context, p tasks.Person, id string) (tasks.Task, error) {
	return d.manager.Get(ctx, p, id)
}

// serve opens the desk to people.
func (d *desk) serve(ctx context.Context) error {
	if missing := static.Missing(); missing != "" {
		d.log.Warn(missing)
	}
	handler, err := handlers.New(handlers.Config{
		Tasks: d.manager, Desk: d.imaging, Accounts: d.accounts,
		PublicURL: d.cfg.PublicURL, TrustedProxies: d.cfg.TrustedProxies,
		MaxUpload: d.cfg.Limits.MaxUpload, SessionTTL: d.cfg.SessionTTL, Rate: d.cfg.APIRate, MaxUnfinished: d.cfg.MaxUnfinished,
		Version: version(), StoreName: d.stores.name, Ready: d.stores.ping,
		Now: d.stores.now, Logger: d.log, Metrics: d.metrics,
	})
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler}
	// Streams never end by themselves: the engine tells them to come back, and stops claiming meanwhile.
	server.RegisterOnShutdown(func() {
		ctx, cancel := context.WithTimeout(context.Background(), d.cfg.ShutdownGrace+2*stepWithin)
		defer cancel()
		_ = d.manager.Stop(ctx) // the step "tasks" waits for this call and has its error
	})
	d.down.add("event streams", stepWithin, handler.Drain)
	ln, err := d.listen(ctx, "requests", "LISTEN", d.cfg.Listen, d.cfg.ShutdownGrace, server)
	if err != nil {
		return err
	}
	if d.cfg.PublicURL == "" {
		d.cfg.PublicURL = "http://" + reachable(ln.Addr())
	}
	d.log.Info("Filmroom is at "+d.cfg.PublicURL, "url", d.cfg.PublicURL, "address", ln.Addr().String(),
		"version", version(), "store", d.stores.name, "dataDir", d.cfg.DataDir)
	return nil
}

func (d *desk) serveMetrics(ctx context.Context) error {
	if d.cfg.MetricsListen == "" {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(d.registry, promhttp.HandlerOpts{}))
	ln, err := d.listen(ctx, "metrics", "METRICS_LISTEN", d.cfg.MetricsListen, stepWithin, &http.Server{Handler: mux, WriteTimeout: time.Minute})
	if err == nil {
		d.log.Debug("serving metrics", "metrics", "http://"+reachable(ln.Addr())+"/metrics")
	}
	return err
}

// listen serves until the teardown; requests under way have the grace to end by themselves. Deadlines of
// bodies and answers are the handler's, because uploads and streams may take any time while they move.
func (d *desk) listen(ctx context.Context, name, option, address string, grace time.Duration, server *http.Server) (net.Listener, error) {
	var config net.ListenConfig
	ln, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("FILMROOM_%s is %q: %w", option, address, err)
	}
	server.ReadHeaderTimeout = 10 * time.Second
	server.IdleTimeout = 2 * time.Minute
	server.MaxHeaderBytes = 64 << 10
	server.ErrorLog = slog.NewLogLogger(d.log.Handler(), slog.LevelDebug) // what clients do wrong with TCP
	go func() {
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			d.failed <- fmt.Errorf("serve %s: %w", name, err)
		}
	}()
	d.down.add(name, grace+stepWithin, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			return errors.Join(err, server.Close())
		}
		return nil
	})
	return ln, nil
}

// inviteFirst prints the one-time link while the desk has no account.
func (d *desk) inviteFirst(ctx context.Context) error {
	token, needed, err := d.accounts.SetupToken(ctx)
	if err != nil || !needed {
		return err
	}
	link := views.SetupLink(d.cfg.PublicURL, token)
	d.log.Info("make the first account at "+link, "setup", link)
	return nil
}

// reachable is an address that a browser on this machine can open.
func reachable(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
