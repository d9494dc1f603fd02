package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hibiken/asynq"
)

type asynqPeer struct {
	sync    string // when Redis syncs its file: its option appendfsync
	redis   *exec.Cmd
	client  *asynq.Client
	inspect *asynq.Inspector
	server  *asynq.Server
}

// asynqQueue is where asynq keeps tasks that name no queue.
const asynqQueue = "default"

// openAsynq prepares a Redis of its own, which syncs its file before it answers a write ("always"), or once
// a second ("everysec": a power cut loses that second).
func openAsynq(sync string) func(ctx context.Context, dir string) (peer, error) {
	return func(ctx context.Context, dir string) (peer, error) { return startAsynq(ctx, dir, sync) }
}

func startAsynq(ctx context.Context, dir, sync string) (peer, error) {
	p := &asynqPeer{sync: sync}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, &missingError{p.name(), "redis-server"}
	}
	if dir, err = os.MkdirTemp(dir, "redis-*"); err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "redis.sock")
	p.redis = exec.CommandContext(ctx, path, "--port", "0", "--unixsocket", socket, "--dir", dir,
		"--save", "", "--appendonly", "yes", "--appendfsync", sync)
	p.redis.Stderr = os.Stderr
	if err := p.redis.Start(); err != nil {
		return nil, err
	}
	at := asynq.RedisClientOpt{Network: "unix", Addr: socket}
	p.client, p.inspect = asynq.NewClient(at), asynq.NewInspector(at)
	p.server = asynq.NewServer(at, asynq.Config{Concurrency: workers, TaskCheckInterval: poll, LogLevel: asynq.FatalLevel})
	if err := p.answers(ctx); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// answers waits until Redis serves.
func (p *asynqPeer) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	again := time.NewTicker(tick)
	defer again.Stop()
	for {
		err := p.client.Ping()
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

func (p *asynqPeer) name() string { return "asynq (Redis, appendfsync " + p.sync + ")" }

func (p *asynqPeer) submit(ctx context.Context, number int) error {
	b, err := json.Marshal(number)
	if err == nil {
		_, err = p.client.EnqueueContext(ctx, asynq.NewTask("noop", b))
	}
	return err
}

// submitBulk has many callers, because asynq submits only one task at a time.
func (p *asynqPeer) submitBulk(ctx context.Context, from, n int) error {
	return together(256, n, func(i int) error { return p.submit(ctx, from+i) })
}

func (p *asynqPeer) start(_ context.Context, ran func(number int)) error {
	return p.server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		var number int
		err := json.Unmarshal(t.Payload(), &number)
		if err == nil {
			ran(number)
		}
		return err
	}))
}

func (p *asynqPeer) unfinished(context.Context) (int, error) {
	q, err := p.inspect.GetQueueInfo(asynqQueue)
	if err != nil {
		return 0, err
	}
	return q.Size, nil // finished tasks are deleted, and not counted
}

func (p *asynqPeer) close() error {
	p.server.Shutdown()
	err := errors.Join(p.client.Close(), p.inspect.Close(), p.redis.Process.Kill())
	_ = p.redis.Wait() // it was killed, and says so
	return err
}
