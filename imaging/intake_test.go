package imaging

import (
	"context"
	"io"
	"log/slog"
	"testing"
)

// A bug that one hostile file sets off must not end the process, and with it everybody's work.
func TestAFileThatMakesItsReaderPanicIsUnreadable(t *testing.T) {
	t.Parallel()
	in := &intake{ctx: context.Background(), log: slog.New(slog.DiscardHandler)}
	for name, open := range map[string]func() (io.ReadCloser, error){
		"when it is opened": func() (io.ReadCloser, error) { panic("a secret") },
		"when it is read":   func() (io.ReadCloser, error) { return io.NopCloser(panicking{}), nil },
	} {
		if got := in.take(entry{name: name, open: open}); got.outcome != Unreadable || got.reason == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("a secret") }
