package views

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
)

// A Document is JSON for people: an object's members as names and values, and the whole as it is. The zero
// Document is none.
type Document struct {
	Fields []Field
	JSON   string // indented
}

// A Field is a member of an object.
type Field struct {
	Name  string // "pixelsReviewed" reads "Pixels reviewed"
	Value string
	JSON  bool // Value is indented JSON of its own
}

// maxFields bounds the members shown one by one; whole objects are shown as JSON anyhow.
const maxFields = 40

func newDocument(raw json.RawMessage) Document {
	d := Document{JSON: indented(raw)}
	dec := json.NewDecoder(strings.NewReader(d.JSON))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return d
	}
	for dec.More() && len(d.Fields) < maxFields {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return d
		}
		name, _ := key.(string)
		d.Fields = append(d.Fields, newField(name, value))
	}
	return d
}

func newField(name string, value json.RawMessage) Field {
	f := Field{Name: fieldWord(name), Value: string(value)}
	var v any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return f
	}
	switch v := v.(type) {
	case nil:
		f.Value = "none"
	case bool:
		f.Value = map[bool]string{true: "yes", false: "no"}[v]
	case string:
		f.Value = v
	case json.Number:
		f.Value = v.String()
		if n, err := v.Int64(); err == nil {
			f.Value = Count(n)
		}
	case []any:
		if text, ok := plainList(v); ok {
			f.Value = text
			return f
		}
		f.JSON, f.Value = true, indented(value)
	default:
		f.JSON, f.Value = true, indented(value)
	}
	return f
}

// plainList words a short list of texts and numbers on one line.
func plainList(list []any) (string, bool) {
	if len(list) == 0 {
		return "none", true
	}
	words := make([]string, len(list))
	for i, v := range list {
		switch v := v.(type) {
		case string:
			words[i] = v
		case json.Number:
			words[i] = v.String()
		default:
			return "", false
		}
	}
	return strings.Join(words, ", "), true
}

// fieldWord spells a camelCase name as words.
func fieldWord(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case i == 0:
			r = unicode.ToUpper(r)
		case unicode.IsUpper(r) && unicode.IsLower(runes[i-1]):
			b.WriteByte(' ')
			if i+1 >= len(runes) || !unicode.IsUpper(runes[i+1]) {
				r = unicode.ToLower(r)
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) == 0 || string(raw) == "null" || json.Indent(&b, raw, "", "  ") != nil {
		return ""
	}
	return b.String()
}
