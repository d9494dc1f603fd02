package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"filmroom/imaging"
)

// places say where records and files are. Every command needs them.
type places struct {
	DataDir    string `name:"data-dir" env:"FILMROOM_DATA_DIR" default:"./data" placeholder:"DIR" help:"Holds the database file, staged uploads and stored files (${default})."`
	MongoDBURI string `name:"mongodb-uri" env:"FILMROOM_MONGODB_URI" placeholder:"URI" help:"Keep all records on this MongoDB server; without it in one SQLite file in the data directory."`
}

// options are the server's, as they were given: text. [options.config] turns them into a [Config], so
// that every mistake is found, not the first alone.
type options struct {
	Listen         string `env:"FILMROOM_LISTEN" default:"127.0.0.1:8080" placeholder:"ADDR" help:"Address to serve on; port 0 picks one, and the first line says which (${default})."`
	PublicURL      string `name:"public-url" env:"FILMROOM_PUBLIC_URL" placeholder:"URL" help:"How people reach the desk. With https, cookies are Secure and bound to the host."`
	TrustedProxies string `env:"FILMROOM_TRUSTED_PROXIES" placeholder:"CIDR,..." help:"Whose X-Forwarded-For counts; without it the peer's own address does."`
	MetricsListen  string `env:"FILMROOM_METRICS_LISTEN" placeholder:"ADDR" help:"Address of /metrics for Prometheus; without it there is none."`
	BlobURL        string `name:"blob-url" env:"FILMROOM_BLOB_URL" hidden:""`

	AdminEmail    string `env:"FILMROOM_ADMIN_EMAIL" placeholder:"EMAIL" help:"Makes the first administrator at start when there is no account."`
	AdminPassword string `env:"FILMROOM_ADMIN_PASSWORD" placeholder:"TEXT" help:"Their password; better given in the environment."`

	Lanes             string `env:"FILMROOM_LANES" default:"import=2,export=2" placeholder:"NAME=N,..." help:"How many tasks of a lane run at once (${default})."`
	MaxUpload         string `env:"FILMROOM_MAX_UPLOAD" default:"20GiB" placeholder:"SIZE" help:"Largest transfer (${default})."`
	MinFree           string `env:"FILMROOM_MIN_FREE" default:"2GiB" placeholder:"SIZE" help:"What stays free on the disk (${default})."`
	ImportMaxEntries  string `env:"FILMROOM_IMPORT_MAX_ENTRIES" default:"1000000" placeholder:"N" help:"Files in one import (${default})."`
	ImportMaxUnpacked string `env:"FILMROOM_IMPORT_MAX_UNPACKED" default:"200GiB" placeholder:"SIZE" help:"What one import may unpack to (${default})."`
	ImportMaxRatio    string `env:"FILMROOM_IMPORT_MAX_RATIO" default:"1000" placeholder:"N" help:"Times what was sent that one import may unpack to (${default})."`

	ResultTTL        string `name:"result-ttl" env:"FILMROOM_RESULT_TTL" default:"168h" placeholder:"TIME" help:"Until a finished task's download expires (${default})."`
	ProgressInterval string `env:"FILMROOM_PROGRESS_INTERVAL" default:"300ms" placeholder:"TIME" help:"Least time between two events of one task (${default})."`
	Heartbeat        string `env:"FILMROOM_HEARTBEAT" default:"10s" placeholder:"TIME" help:"How often leases are renewed (${default})."`
	LeaseTTL         string `name:"lease-ttl" env:"FILMROOM_LEASE_TTL" default:"60s" placeholder:"TIME" help:"How long a lease lasts without renewal (${default})."`
	RescueInterval   string `env:"FILMROOM_RESCUE_INTERVAL" default:"10s" placeholder:"TIME" help:"How often expired leases are looked for (${default})."`
	SessionTTL       string `name:"session-ttl" env:"FILMROOM_SESSION_TTL" default:"168h" placeholder:"TIME" help:"Until people must sign in again (${default})."`
	ShutdownGrace    string `env:"FILMROOM_SHUTDOWN_GRACE" default:"30s" placeholder:"TIME" help:"For running tasks and requests when the desk stops (${default})."`

	LogFormat string `env:"FILMROOM_LOG_FORMAT" placeholder:"text|json" help:"Default text on a terminal, else json."`
	LogLevel  string `env:"FILMROOM_LOG_LEVEL" default:"info" placeholder:"LEVEL" help:"debug, info, warn or error (${default})."`
}

// Config is what the server runs by, checked.
type Config struct {
	places
	Listen         string
	PublicURL      string // "" or scheme and host
	TrustedProxies []netip.Prefix
	MetricsListen  string // "": no metrics

	AdminEmail, AdminPassword string

	Lanes  map[string]int
	Limits imaging.Limits

	ResultTTL, ProgressInterval, SessionTTL, ShutdownGrace time.Duration
	Heartbeat, LeaseTTL, RescueInterval                    time.Duration

	LogFormat string // "text" or "json"
	LogLevel  slog.Level
}

// resultsDir holds the files that finished tasks leave.
func (c *Config) resultsDir() string { return filepath.Join(c.DataDir, "results") }

// config checks all options and reports every mistake, each with the option's name and the value given.
func (o options) config(at places, terminal bool) (Config, error) {
	var c checker
	cfg := Config{
		places:         at,
		Listen:         c.address("LISTEN", o.Listen),
		PublicURL:      c.publicURL("PUBLIC_URL", o.PublicURL),
		TrustedProxies: c.prefixes("TRUSTED_PROXIES", o.TrustedProxies),
		AdminEmail:     o.AdminEmail,
		AdminPassword:  o.AdminPassword,
		Lanes:          c.lanes("LANES", o.Lanes),
		Limits: imaging.Limits{
			MaxUpload:   c.size("MAX_UPLOAD", o.MaxUpload),
			MinFree:     c.size("MIN_FREE", o.MinFree),
			MaxEntries:  c.count("IMPORT_MAX_ENTRIES", o.ImportMaxEntries),
			MaxUnpacked: c.size("IMPORT_MAX_UNPACKED", o.ImportMaxUnpacked),
			MaxRatio:    c.count("IMPORT_MAX_RATIO", o.ImportMaxRatio),
		},
		ResultTTL:        c.duration("RESULT_TTL", o.ResultTTL),
		ProgressInterval: c.duration("PROGRESS_INTERVAL", o.ProgressInterval),
		SessionTTL:       c.duration("SESSION_TTL", o.SessionTTL),
		ShutdownGrace:    c.duration("SHUTDOWN_GRACE", o.ShutdownGrace),
		Heartbeat:        c.duration("HEARTBEAT", o.Heartbeat),
		LeaseTTL:         c.duration("LEASE_TTL", o.LeaseTTL),
		RescueInterval:   c.duration("RESCUE_INTERVAL", o.RescueInterval),
		LogFormat:        c.logFormat("LOG_FORMAT", o.LogFormat, terminal),
		LogLevel:         c.logLevel("LOG_LEVEL", o.LogLevel),
	}
	if o.MetricsListen != "" {
		cfg.MetricsListen = c.address("METRICS_LISTEN", o.MetricsListen)
	}
	c.together(o, cfg)
	c.places(at)
	return cfg, errors.Join(c.mistakes...)
}

// together checks what options ask of each other.
func (c *checker) together(o options, cfg Config) {
	if cfg.LeaseTTL > 0 && cfg.LeaseTTL < 2*cfg.Heartbeat {
		c.mistake("LEASE_TTL", o.LeaseTTL, "must be at least twice HEARTBEAT, which is %s", o.Heartbeat)
	}
	if o.AdminEmail != "" && o.AdminPassword == "" {
		c.mistake("ADMIN_EMAIL", o.AdminEmail, "needs ADMIN_PASSWORD as well")
	}
	if o.AdminPassword != "" && o.AdminEmail == "" {
		c.mistake("ADMIN_PASSWORD", "(not shown)", "needs ADMIN_EMAIL as well")
	}
	if o.BlobURL != "" {
		c.mistake("BLOB_URL", o.BlobURL, "must be empty: this version keeps files in DATA_DIR alone")
	}
}

func (c *checker) places(at places) {
	if at.DataDir == "" {
		c.mistake("DATA_DIR", "", "must name a directory")
	}
	if at.MongoDBURI != "" && !strings.HasPrefix(at.MongoDBURI, "mongodb://") && !strings.HasPrefix(at.MongoDBURI, "mongodb+srv://") {
		c.mistake("MONGODB_URI", "(not shown)", "must begin with mongodb:// or mongodb+srv://")
	}
}

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
	return lanes
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
