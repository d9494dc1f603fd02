// Filmroom is a self-hosted desk for bringing medical images in and taking them out. See README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"
)

func main() {
	os.Exit(program(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// grammar is the command line. Without a command the desk is served.
type grammar struct {
	places

	Serve serveCommand `cmd:"" default:"withargs" help:"Serve the desk (the default)."`
	User  struct {
		Add     userAdd     `cmd:"" help:"Make an account; the password comes from the terminal or one line on standard input."`
		List    userList    `cmd:"" help:"List all accounts."`
		Disable userDisable `cmd:"" help:"End an account's right to be used, its sessions and streams with it."`
		Enable  userEnable  `cmd:"" help:"Let a disabled account be used again."`
	} `cmd:"" help:"Manage accounts, also beside a running server."`
	Token   tokenCommand   `cmd:"" help:"Make an API token and print it alone."`
	Dicom   dicomCommands  `cmd:"" help:"Look into DICOM files, check and de-identify them, without a desk."`
	Backup  backupCommand  `cmd:"" help:"Copy the whole desk into a directory, also beside a running server."`
	Restore restoreCommand `cmd:"" help:"Fill an empty data directory from a backup."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// program runs one command and returns the exit code: 0, 1 for a failure, 2 for a mistake on the command
// line or in the configuration.
func program(args []string, in io.Reader, out, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	var g grammar
	exit := -1
	parser, err := kong.New(&g,
		kong.Name("filmroom"),
		kong.Description("A self-hosted desk for bringing medical images in and taking them out. Options may also be given as FILMROOM_* in the environment."),
		kong.Writers(out, errs),
		kong.Exit(func(code int) { exit = code }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(streams{in, out, errs}),
	)
	if err != nil {
		panic(err) // the grammar above is wrong
	}
	command, err := parser.Parse(args)
	if exit >= 0 { // --help has been answered
		return exit
	}
	if err != nil {
		fmt.Fprintln(errs, "filmroom:", err)
		return 2
	}
	return exitCode(errs, command.Run(g.places))
}

func exitCode(errs io.Writer, err error) int {
	if mistake, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintln(errs, mistake)
		return 2
	}
	if err != nil {
		fmt.Fprintln(errs, "filmroom:", err)
		return 1
	}
	return 0
}

// A usageError is a mistake in what the program was given.
type usageError struct{ error }

type serveCommand struct{ options }

func (c *serveCommand) Run(ctx context.Context, at places, s streams) error {
	cfg, err := c.config(at, isTerminal(s.err))
	if err != nil {
		return usageError{err}
	}
	log := newLogger(s.err, cfg)
	slog.SetDefault(log) // for libraries that write to the default
	return run(ctx, cfg, log)
}

func newLogger(w io.Writer, cfg Config) *slog.Logger {
	level := &slog.HandlerOptions{Level: cfg.LogLevel}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, level))
	}
	return slog.New(slog.NewTextHandler(w, level))
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

type versionCommand struct{}

func (versionCommand) Run(s streams) error {
	_, err := fmt.Fprintln(s.out, "filmroom", version())
	return err
}

// version is what the Go toolchain stamped into the binary.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	return info.Main.Version
}
