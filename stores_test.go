package main

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"filmroom/accounts"
)

func TestADataDirectoryBelongsToOneDesk(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	release, err := lockDataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockDataDir(dir); err == nil {
		t.Fatal("a second desk got it too")
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	release, err = lockDataDir(dir)
	if err != nil {
		t.Fatalf("released, but %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}

func TestTheDeskKeyIsMadeOnceAndKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			var err error
			if keys[i], err = deskKey(dir); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, key := range keys {
		if len(key) != keySize || !bytes.Equal(key, keys[0]) || bytes.Equal(key, make([]byte, keySize)) {
			t.Fatalf("keys differ or are no keys: %x and %x", key, keys[0])
		}
	}
	info, err := os.Stat(filepath.Join(dir, "desk.key"))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the key's file is %v, %v; want only its owner to read it", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%d files are left, want the key alone", len(entries))
	}
}

// Threat: a key cut short by a full disk or an editor is replaced in silence, and with it goes what it sealed.
func TestADamagedDeskKeyIsNotReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "desk.key")
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if key, err := deskKey(dir); err == nil {
		t.Errorf("got %x", key)
	}
	if kept, _ := os.ReadFile(path); string(kept) != "short" {
		t.Errorf("it was replaced by %x", kept)
	}
}

// filmroom runs a command on a data directory and returns what it printed.
func filmroom(t *testing.T, dir, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = program(append([]string{"--data-dir=" + dir}, args...), strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

func TestAccountsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const email, password = "ada@example.org", "correct horse battery\n"
	for _, c := range []struct {
		name, in string
		args     []string
		code     int
	}{
		{"an account is made with a line on standard input", password, []string{"user", "add", email, "--admin"}, 0},
		{"the same address twice is refused", password, []string{"user", "add", email}, 1},
		{"a short password is refused", "short\n", []string{"user", "add", "bob@example.org"}, 1},
		{"no password is refused", "", []string{"user", "add", "bob@example.org"}, 1},
		{"an unknown account has no token", "", []string{"token", "eve@example.org"}, 1},
		{"an unknown account cannot be disabled", "", []string{"user", "disable", "eve@example.org"}, 1},
		{"an unknown command is a mistake", "", []string{"sing"}, 2},
		{"a missing argument is a mistake", "", []string{"user", "add"}, 2},
		{"the last administrator stays", "", []string{"user", "disable", email}, 1},
		{"another is made", password, []string{"user", "add", "bob@example.org", "--admin"}, 0},
		{"an account is disabled", "", []string{"user", "disable", email}, 0},
		{"a disabled account has no token", "", []string{"token", email}, 1},
		{"an account is enabled", "", []string{"user", "enable", email}, 0},
		{"help is no mistake", "", []string{"--help"}, 0},
		{"the version is printed", "", []string{"version"}, 0},
	} {
		if code, out, errs := filmroom(t, dir, c.in, c.args...); code != c.code {
			t.Errorf("%s: exit code %d, want %d\n%s%s", c.name, code, c.code, out, errs)
		}
	}
	code, out, _ := filmroom(t, dir, "", "token", email, "--name=nightly")
	if code != 0 || !strings.HasPrefix(out, "frm_") || strings.Count(out, "\n") != 1 || strings.ContainsAny(strings.TrimSpace(out), " \t") {
		t.Errorf("token printed %q (%d), want the token alone", out, code)
	}
	code, out, _ = filmroom(t, dir, "", "user", "list")
	if code != 0 || !strings.Contains(out, email+"        admin") {
		t.Errorf("list printed (%d)\n%s", code, out)
	}
}

func TestWhatTheCommandLineDoesIsAudited(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const email = "ada@example.org"
	for _, args := range [][]string{{"user", "add", email}, {"token", email}, {"user", "disable", email}, {"user", "enable", email}, {"user", "list"}} {
		if code, _, errs := filmroom(t, dir, "correct horse battery\n", args...); code != 0 {
			t.Fatal(errs)
		}
	}
	s, err := openStores(t.Context(), places{DataDir: dir}, true, slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close(context.Background())
	page, err := s.accounts.Audit(t.Context(), accounts.AuditQuery{})
	var actions []string
	for _, e := range page.Items {
		actions = append(actions, e.Action)
	}
	want := []string{accounts.ActUserEnabled, accounts.ActUserDisabled, accounts.ActTokenCreated, accounts.ActUserAdded}
	if err != nil || !slices.Equal(actions, want) {
		t.Errorf("the log holds %q (%v), want %q", actions, err, want)
	}
}

func TestCommandsNeedNoServerAndLeaveTheLockAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	release, err := lockDataDir(dir) // as a running server does
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if code, _, errs := filmroom(t, dir, "correct horse battery\n", "user", "add", "ada@example.org"); code != 0 {
		t.Errorf("beside a server: %s", errs)
	}
}

func TestDumpNeedsAFileThatIsThere(t *testing.T) {
	t.Parallel()
	if code, _, _ := filmroom(t, t.TempDir(), "", "dicom", "dump", "nowhere.dcm"); code != 2 {
		t.Errorf("a missing file gave %d, want 2", code)
	}
	empty := filepath.Join(t.TempDir(), "empty.dcm")
	if err := os.WriteFile(empty, nil, fs.FileMode(0o600)); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := filmroom(t, t.TempDir(), "", "dicom", "dump", empty); code != 1 || errs == "" {
		t.Errorf("an empty file gave %d and %q", code, errs)
	}
}
