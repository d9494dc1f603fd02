package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"filmroom/tasks"
	"filmroom/tasks/webhook"
)

// A checker parses options and collects what is wrong with them. Its methods return the zero value of
// what they cannot parse.
type checker struct{ mistakes []error }

func (c *checker) mistake(option, given, format string, args ...any) {
	flag := "--" + strings.ReplaceAll(strings.ToLower(option), "_", "-")
	c.mistakes = append(c.mistakes, fmt.Errorf("FILMROOM_%s (%s) is %q: it %s", option, flag, given, fmt.Sprintf(format, args...)))
}

func (c *checker) address(option, given string) string {
	_, port, err := net.SplitHostPort(given)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		c.mistake(option, given, "must be an address like 127.0.0.1:8080 or :8080")
	}
	return given
}

func (c *checker) publicURL(option, given string) string {
	if given == "" {
		return ""
	}
	u, err := url.Parse(given)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		c.mistake(option, given, "must be a scheme and a host like https://desk.example.org")
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func (c *checker) prefixes(option, given string) (all []netip.Prefix) {
	for part := range strings.SplitSeq(given, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if addr, ok := netip.ParseAddr(part); ok == nil {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			c.mistake(option, given, "must be addresses or networks like 10.0.0.0/8,192.0.2.1; %q is neither", part)
			continue
		}
		all = append(all, prefix)
	}
	return all
}

func (c *checker) lanes(option, given string) map[string]int {
	lanes := map[string]int{}
	for part := range strings.SplitSeq(given, ",") {
		name, capacity, _ := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.ParseUint(capacity, 10, 16)
		if err != nil || name == "" {
			c.mistake(option, given, "must be names with capacities like import=2,export=2; %q is none", part)
			return nil
		}
		lanes[name] = int(n)
	}
	for _, name := range []string{"import", "export"} {
		if _, ok := lanes[name]; !ok {
			c.mistake(option, given, "must name the lane %q", name)
		}
	}
	for name, capacity := range map[string]int{bulkLane: 1, webhook.Lane: 2} { // values from before these lanes existed
		if _, ok := lanes[name]; !ok {
			lanes[name] = capacity
		}
	}
	return lanes
}

// minRetention is what the engine keeps tasks for in any case, for the sake of their idempotency keys.
const minRetention = 24 * time.Hour

func (c *checker) retention(option, given string) map[tasks.Status]time.Duration {
	kept := map[tasks.Status]time.Duration{}
	for part := range strings.SplitSeq(given, ",") {
		name, age, _ := strings.Cut(strings.TrimSpace(part), "=")
		d, err := time.ParseDuration(age)
		if age == "-1" {
			d, err = -1, nil
		}
		if status := tasks.Status(name); err != nil || !status.Final() || d >= 0 && d < minRetention {
			c.mistake(option, given, "must be finished, error, canceled or interrupted, each with 24h or more, or -1 for good, like error=2160h,finished=-1; %q is not", part)
			return nil
		}
		kept[tasks.Status(name)] = d
	}
	return kept
}

func (c *checker) rate(option, given string) float64 {
	n, err := strconv.ParseFloat(given, 64)
	if err != nil || n != -1 && !(n > 0 && n <= 1e6) {
		c.mistake(option, given, "must be a number above zero like 50 or 0.5, or -1 for no limit")
		return 0
	}
	return n
}

func (c *checker) truth(option, given string) bool {
	b, err := strconv.ParseBool(given)
	if err != nil {
		c.mistake(option, given, "must be true or false")
	}
	return b
}

func (c *checker) size(option, given string) int64 {
	n, err := humanize.ParseBytes(given)
	if err != nil || n == 0 || n > 1<<62 {
		c.mistake(option, given, "must be a size above zero like 20GiB or 500MB")
		return 0
	}
	return int64(n)
}

func (c *checker) count(option, given string) int64 {
	n, err := strconv.ParseInt(given, 10, 64)
	if err != nil || n <= 0 {
		c.mistake(option, given, "must be a whole number above zero")
	}
	return n
}

func (c *checker) duration(option, given string) time.Duration {
	d, err := time.ParseDuration(given)
	if err != nil || d <= 0 {
		c.mistake(option, given, "must be a time above zero like 300ms, 10s or 168h")
	}
	return d
}

func (c *checker) logFormat(option, given string, terminal bool) string {
	switch {
	case given == "text" || given == "json":
		return given
	case given != "":
		c.mistake(option, given, "must be text or json")
	case terminal:
		return "text"
	}
	return "json"
}

func (c *checker) logLevel(option, given string) (level slog.Level) {
	if err := level.UnmarshalText([]byte(given)); err != nil {
		c.mistake(option, given, "must be debug, info, warn or error")
	}
	return level
}
