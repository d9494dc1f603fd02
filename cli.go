package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"filmroom/accounts"
)

// withAccounts opens the accounts beside a server that may be running, and closes them again.
func withAccounts(ctx context.Context, at places, do func(*accounts.Service) error) error {
	if err := checkPlaces(at); err != nil {
		return err
	}
	s, err := openStores(ctx, at, true, slog.Default())
	if err != nil {
		return err
	}
	service := accounts.NewService(accounts.ServiceConfig{Store: s.accounts, Now: s.now})
	err = do(service)
	service.Close()
	return errors.Join(err, s.close(context.WithoutCancel(ctx)))
}

// noted writes what was done here into the audit log. Who did it the desk cannot know.
func noted(ctx context.Context, service *accounts.Service, action, target string) {
	service.Audit(ctx, accounts.AuditEntry{Action: action, Target: target, Note: "on the command line"})
}

type userAdd struct {
	Email string `arg:"" help:"Their address."`
	Name  string `help:"How they are called."`
	Admin bool   `help:"Make them an administrator."`
}

func (c *userAdd) Run(ctx context.Context, at places, s streams) error {
	password, err := readPassword(s)
	if err != nil {
		return err
	}
	return withAccounts(ctx, at, func(service *accounts.Service) error {
		u, err := service.AddUser(ctx, c.Email, c.Name, password, c.Admin)
		if err == nil {
			noted(ctx, service, accounts.ActUserAdded, u.ID)
			_, err = fmt.Fprintln(s.out, u.ID)
		}
		return err
	})
}

// readPassword asks on a terminal, without showing what is typed; elsewhere it reads one line.
func readPassword(s streams) (string, error) {
	f, ok := s.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		line, err := bufio.NewReader(io.LimitReader(s.in, 64<<10)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the password: %w", err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	ask := func(prompt string) (string, error) {
		fmt.Fprint(s.err, prompt)
		typed, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(s.err)
		return string(typed), err
	}
	first, err := ask("Password: ")
	if err != nil {
		return "", err
	}
	second, err := ask("Again: ")
	if err == nil && first != second {
		err = errors.New("the two passwords differ")
	}
	return first, err
}

type userList struct{}

func (userList) Run(ctx context.Context, at places, s streams) error {
	return withAccounts(ctx, at, func(service *accounts.Service) error {
		users, err := service.Users(ctx)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "EMAIL\tNAME\tROLE\tCREATED\tDISABLED\tID")
		for _, u := range users {
			role := "member"
			if u.Admin {
				role = "admin"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", u.Email, printable(u.Name), role, day(u.CreatedAt), day(u.DisabledAt), u.ID)
		}
		return w.Flush()
	})
}

// printable keeps a name from moving the cursor.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, name)
}

func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.DateOnly)
}

type userDisable struct {
	Email string `arg:"" help:"Their address."`
}

func (c *userDisable) Run(ctx context.Context, at places) error {
	return withUser(ctx, at, c.Email, func(service *accounts.Service, u accounts.User) error {
		err := service.Disable(ctx, u.ID)
		if err == nil {
			noted(ctx, service, accounts.ActUserDisabled, u.ID)
		}
		return err
	})
}

type userEnable struct {
	Email string `arg:"" help:"Their address."`
}

func (c *userEnable) Run(ctx context.Context, at places) error {
	return withUser(ctx, at, c.Email, func(service *accounts.Service, u accounts.User) error {
		err := service.Enable(ctx, u.ID)
		if err == nil {
			noted(ctx, service, accounts.ActUserEnabled, u.ID)
		}
		return err
	})
}

type tokenCommand struct {
	Email string `arg:"" help:"Whom the token acts for."`
	Name  string `default:"command line" help:"What the token is for (${default})."`
}

func (c *tokenCommand) Run(ctx context.Context, at places, s streams) error {
	return withUser(ctx, at, c.Email, func(service *accounts.Service, u accounts.User) error {
		token, text, err := service.CreateToken(ctx, u.ID, c.Name)
		if err == nil {
			noted(ctx, service, accounts.ActTokenCreated, token.ID)
			_, err = fmt.Fprintln(s.out, text)
		}
		return err
	})
}

func withUser(ctx context.Context, at places, email string, do func(*accounts.Service, accounts.User) error) error {
	return withAccounts(ctx, at, func(service *accounts.Service) error {
		u, err := service.UserByEmail(ctx, email)
		if err == nil {
			err = do(service, u)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", email, err)
		}
		return nil
	})
}
