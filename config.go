package main

import (
	"errors"
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"filmroom/imaging"
	"filmroom/tasks"
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

	Lanes             string `env:"FILMROOM_LANES" default:"import=2,export=2,delete=2,bulk=1,webhook=2" placeholder:"NAME=N,..." help:"How many tasks of a lane run at once, until somebody changes it on the desk (${default})."`
	MaxUpload         string `env:"FILMROOM_MAX_UPLOAD" default:"20GiB" placeholder:"SIZE" help:"Largest transfer (${default})."`
	MinFree           string `env:"FILMROOM_MIN_FREE" default:"2GiB" placeholder:"SIZE" help:"What stays free on the disk (${default})."`
	ImportMaxEntries  string `env:"FILMROOM_IMPORT_MAX_ENTRIES" default:"1000000" placeholder:"N" help:"Files in one import (${default})."`
	ImportMaxUnpacked string `env:"FILMROOM_IMPORT_MAX_UNPACKED" default:"200GiB" placeholder:"SIZE" help:"What one import may unpack to (${default})."`
	ImportMaxRatio    string `env:"FILMROOM_IMPORT_MAX_RATIO" default:"1000" placeholder:"N" help:"Times what was sent that one import may unpack to (${default})."`

	ResultTTL        string `name:"result-ttl" env:"FILMROOM_RESULT_TTL" default:"168h" placeholder:"TIME" help:"Until a finished task's download expires (${default})."`
	Retention        string `env:"FILMROOM_RETENTION" default:"finished=2160h,error=2160h,canceled=720h,interrupted=2160h" placeholder:"STATUS=TIME,..." help:"How long tasks are kept after their end, -1 for good; images, receipts and the audit log stay (${default})."`
	ExternalTTL      string `name:"external-ttl" env:"FILMROOM_EXTERNAL_TTL" default:"60s" placeholder:"TIME" help:"How long a task that another program reports may be silent (${default})."`
	ProgressInterval string `env:"FILMROOM_PROGRESS_INTERVAL" default:"300ms" placeholder:"TIME" help:"Least time between two events of one task (${default})."`
	Heartbeat        string `env:"FILMROOM_HEARTBEAT" default:"10s" placeholder:"TIME" help:"How often leases are renewed (${default})."`
	LeaseTTL         string `name:"lease-ttl" env:"FILMROOM_LEASE_TTL" default:"60s" placeholder:"TIME" help:"How long a lease lasts without renewal (${default})."`
	RescueInterval   string `env:"FILMROOM_RESCUE_INTERVAL" default:"10s" placeholder:"TIME" help:"How often expired leases are looked for (${default})."`
	SessionTTL       string `name:"session-ttl" env:"FILMROOM_SESSION_TTL" default:"168h" placeholder:"TIME" help:"Until people must sign in again (${default})."`
	ShutdownGrace    string `env:"FILMROOM_SHUTDOWN_GRACE" default:"30s" placeholder:"TIME" help:"For running tasks and requests when the desk stops (${default})."`

	APIRate             string `name:"api-rate" env:"FILMROOM_API_RATE" default:"50" placeholder:"N" help:"Requests a second for each token or person, -1 for no limit (${default})."`
	MaxUnfinished       string `env:"FILMROOM_MAX_UNFINISHED" default:"1000" placeholder:"N" help:"Unfinished tasks that a person may have who submits more, administrators aside (${default})."`
	WebhookAllowPrivate string `env:"FILMROOM_WEBHOOK_ALLOW_PRIVATE" default:"false" placeholder:"BOOL" help:"Let webhooks reach private addresses and this machine as well (${default})."`

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
	Heartbeat, LeaseTTL, RescueInterval, ExternalTTL       time.Duration

	Retention map[tasks.Status]time.Duration // negative: for good

	APIRate             float64 // requests a second, negative: no limit
	MaxUnfinished       int     // tasks of a person
	WebhookAllowPrivate bool

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
		ExternalTTL:      c.duration("EXTERNAL_TTL", o.ExternalTTL),
		Retention:        c.retention("RETENTION", o.Retention),

		APIRate:             c.rate("API_RATE", o.APIRate),
		MaxUnfinished:       int(c.count("MAX_UNFINISHED", o.MaxUnfinished)),
		WebhookAllowPrivate: c.truth("WEBHOOK_ALLOW_PRIVATE", o.WebhookAllowPrivate),

		LogFormat: c.logFormat("LOG_FORMAT", o.LogFormat, terminal),
		LogLevel:  c.logLevel("LOG_LEVEL", o.LogLevel),
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
