package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Threat: what somebody sends makes lines of its own in the log.
func TestNothingThatIsLoggedCanForgeALine(t *testing.T) {
	t.Parallel()
	for format, forged := range map[string]string{
		"text": "ada@example.org\ntime=2026-01-01T00:00:00Z level=ERROR msg=forged",
		"json": "ada@example.org\"}\r\n{\"level\":\"ERROR\",\"msg\":\"forged\"}\u2028",
	} {
		var out bytes.Buffer
		log := newLogger(&out, Config{LogFormat: format})
		log.With("user", forged).Error("sign in", "email", forged, "error", fmt.Errorf("check: %w", errors.New(forged)), "any", []string{forged})
		line := out.String()
		if n := len(strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("\n\r\u2028", r) })); n != 1 {
			t.Errorf("%s: %d lines came of one: %s", format, n, line)
		}
		var entry struct{ Msg string }
		if format == "json" && (json.Unmarshal(out.Bytes(), &entry) != nil || entry.Msg != "sign in") {
			t.Errorf("the line is not what was logged: %s", line)
		}
	}
}
