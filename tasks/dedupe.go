package tasks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// DedupeKey is the same for tasks that ask for the same: the SHA-256 of a kind and its canonical arguments.
func DedupeKey(kind string, args json.RawMessage) (string, error) {
	canonical, err := Canonical(args)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(kind+"\n"), canonical...))
	return hex.EncodeToString(sum[:]), nil
}

// Canonical writes JSON in the one form that all ways to ask for the same share: keys sorted, strings
// trimmed, nulls and blanks (and what is empty without them) left out of objects. Numbers keep their text.
func Canonical(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("canonical arguments: %w", err)
	}
	v, _ = trimmed(v)
	if v == nil {
		return json.RawMessage("{}"), nil
	}
	return json.Marshal(v) // sorts keys
}

// trimmed is v in canonical form; blank says that there is nothing left of it.
func trimmed(v any) (_ any, blank bool) {
	switch v := v.(type) {
	case nil:
		return nil, true
	case string:
		s := strings.TrimSpace(v)
		return s, s == ""
	case map[string]any:
		for key, value := range v {
			if value, blank := trimmed(value); blank {
				delete(v, key)
			} else {
				v[key] = value
			}
		}
		return v, len(v) == 0
	case []any:
		v = slices.Clone(v)
		for i := range v {
			v[i], _ = trimmed(v[i]) // a place in a list has a meaning
		}
		return v, len(v) == 0
	default:
		return v, false
	}
}
