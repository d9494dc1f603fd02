// Command ferretdb runs an embedded FerretDB 1, a MongoDB-compatible server on SQLite, for tests on
// machines that have no such server. It prints its URI on the first line and runs until its standard
// input ends or it is told to stop; then it removes what it kept.
//
// It is a module of its own, so that its dependencies stay out of the desk's.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdin, os.Stdout); err != nil {
		slog.Error("ferretdb", "error", err)
		os.Exit(1)
	}
}

// run serves until ctx or in ends.
func run(ctx context.Context, in io.Reader, out io.Writer) error {
	dir, err := os.MkdirTemp("", "filmroom-ferretdb-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: "127.0.0.1:0"},
		Handler:   "sqlite",
		SQLiteURL: "file:" + dir + "/?_pragma=synchronous(off)",
	})
	if err != nil {
		return fmt.Errorf("set up FerretDB on SQLite in %s: %w", dir, err)
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- server.Run(ctx) }()
	fmt.Fprintln(out, server.MongoDBURI())

	// The reader ends with the process: a read of standard input cannot be called off.
	go func() {
		_, _ = io.Copy(io.Discard, bufio.NewReader(in))
		cancel()
	}()
	if err := <-served; err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
