package handlers

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"filmroom/tasks"
)

// params reads named values strictly: what is wrong and what nobody asked for is collected, and reported
// together by done.
type params struct {
	values url.Values
	known  []string
	faults []fieldFault
}

func newParams(values url.Values) *params { return &params{values: values} }

// query reads the request's query.
func query(c echo.Context) *params {
	values, err := url.ParseQuery(c.Request().URL.RawQuery)
	p := newParams(values)
	if err != nil {
		p.fault("query", "must be name=value pairs with & between them, percent-encoded")
	}
	return p
}

func (p *params) fault(name, reason string) {
	p.faults = append(p.faults, fieldFault{Field: name, Reason: reason})
}

// done refuses the request if anything was wrong with the values or unknown.
func (p *params) done() error {
	names := make([]string, 0, len(p.values))
	for name := range p.values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains(p.known, name) {
			p.fault(name, "is not known here")
		}
	}
	if len(p.faults) > 0 {
		return unprocessable(p.faults...)
	}
	return nil
}

// texts are all values of a name.
func (p *params) texts(name string) []string {
	p.known = append(p.known, name)
	return p.values[name]
}

// text is the value of a name that may stand once, "" when it does not stand.
func (p *params) text(name string) string {
	all := p.texts(name)
	if len(all) > 1 {
		p.fault(name, "may be given once")
	}
	return p.values.Get(name)
}

func (p *params) integer(name string, otherwise, least, most int) int {
	text := p.text(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		p.fault(name, "must be a whole number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most))
		return otherwise
	}
	return n
}

func (p *params) flag(name string) *bool {
	text := p.text(name)
	switch text {
	case "":
		return nil
	case "true", "false":
		yes := text == "true"
		return &yes
	}
	p.fault(name, "must be true or false")
	return nil
}

// moment is a time, RFC 3339 or a day in UTC.
func (p *params) moment(name string) time.Time {
	text := p.text(name)
	if text == "" {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	p.fault(name, "must be a time like 2026-11-21T14:00:00Z or a day like 2026-11-21")
	return time.Time{}
}

// day is a day in UTC.
func (p *params) day(name string) time.Time {
	text := p.text(name)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		p.fault(name, "must be a day like 2026-11-21")
	}
	return t
}

// dicomDay is a day as DICOM writes it, from either spelling.
func (p *params) dicomDay(name string) string {
	text := p.text(name)
	if text == "" {
		return ""
	}
	for _, layout := range []string{time.DateOnly, "20060102"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Format("20060102")
		}
	}
	p.fault(name, "must be a day like 2026-11-21 or 20261121")
	return ""
}

// oneOf is a value out of those allowed, "" when it does not stand.
func oneOf[T ~string](p *params, name string, allowed ...T) T {
	value := T(p.text(name))
	if value != "" && !slices.Contains(allowed, value) {
		p.fault(name, mustBe(allowed))
	}
	return value
}

// someOf are values out of those allowed.
func someOf[T ~string](p *params, name string, allowed ...T) []T {
	var chosen []T
	for _, text := range p.texts(name) {
		if !slices.Contains(allowed, T(text)) {
			p.fault(name, mustBe(allowed))
		}
		chosen = append(chosen, T(text))
	}
	return chosen
}

// kind is a kind of task that this desk knows, "" when it does not stand.
func (s *Server) kind(p *params) string { return oneOf(p, "kind", s.kindNames()...) }

func (s *Server) kindNames() []string { return append(s.cfg.Tasks.KindNames(), tasks.ExternalKind) }

func mustBe[T ~string](allowed []T) string {
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = string(a)
	}
	return "must be one of " + strings.Join(words, ", ")
}

// id reads an id out of the route's path: a ULID. Anything else is nowhere.
func id(c echo.Context, name string) (string, error) {
	text := c.Param(name)
	if len(text) != 26 || strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > 'Z' || r > '9' && r < 'A' }) {
		return "", errNotHere
	}
	return text, nil
}
