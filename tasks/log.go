package tasks

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"
)

// What one attempt may log: a runner gone wild must fill neither memory nor store.
const (
	maxLogLines = 1000
	maxLogText  = 2000        // bytes of a line
	logDelay    = time.Second // how long a line waits for company on its way to the store
)

// A logBuffer collects an attempt's lines between two writes to the store.
type logBuffer struct {
	lines   []LogLine
	total   int
	dropped int
	seq     int64
}

func (b *logBuffer) add(t Task, at time.Time, level slog.Level, text string) {
	if b.total >= maxLogLines {
		b.dropped++
		return
	}
	b.total++
	b.append(t, at, level, text)
}

// append numbers a line by its moment, so that sequences rise over all attempts of a task.
func (b *logBuffer) append(t Task, at time.Time, level slog.Level, text string) {
	b.seq = max(b.seq+1, at.UnixMicro())
	b.lines = append(b.lines, LogLine{TaskID: t.ID, Attempt: t.Attempt, Seq: b.seq, At: Millis(at),
		Level: strings.ToLower(level.String()), Text: printable(text, maxLogText)})
}

// finish says how much was left out.
func (b *logBuffer) finish(t Task, at time.Time) {
	if b.dropped > 0 {
		b.append(t, at, slog.LevelWarn, fmt.Sprintf("%d more lines were left out", b.dropped))
		b.dropped = 0
	}
}

func (b *logBuffer) take() []LogLine {
	lines := b.lines
	b.lines = nil
	return lines
}

// printable cuts text to at most limit bytes of valid UTF-8 on one line, without control characters.
func printable(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
	}
	return strings.TrimSpace(text)
}
