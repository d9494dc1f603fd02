package handlers

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"

	"filmroom/accounts"
	"filmroom/imaging"
	"filmroom/tasks"
)

// Config is what the desk's HTTP works with. Tasks, Desk and Accounts must be set.
type Config struct {
	Tasks    *tasks.Manager
	Desk     *imaging.Desk
	Accounts *accounts.Service

	// PublicURL is how people reach the desk, "" when that is not known. With https, cookies are Secure
	// and bound to the host.
	PublicURL string
	// TrustedProxies are the peers whose X-Forwarded-For counts; none: the peer's own address does.
	TrustedProxies []netip.Prefix
	// MaxUpload is the largest body of an upload in bytes; default 20 GiB.
	MaxUpload  int64
	SessionTTL time.Duration // default 168 h

	// Rate is how many requests a second one token, or all sessions of one person, may make for long, and
	// Burst how many at once; defaults 50, and four seconds of Rate. A negative Rate sets no limit.
	Rate  float64
	Burst int
	// MaxUnfinished is how many unfinished tasks a person may have who asks for more, by API or page, and is
	// no administrator; default 1000.
	MaxUnfinished int

	Version   string
	StoreName string                          // "sqlite" or "mongo", for /status
	Ready     func(ctx context.Context) error // asks the store whether it answers; nil: not asked
	Logger    *slog.Logger                    // default slog.Default
	Metrics   *Metrics                        // default one on a registry of its own
	Now       func() time.Time                // default time.Now

	// Heartbeat is the time between two comments on a stream, default 10 s. Idle is how long a read or
	// write may make no progress, default 30 s.
	Heartbeat, Idle time.Duration
}

// A Server answers the desk's requests. It is an [http.Handler].
type Server struct {
	cfg      Config
	log      *slog.Logger
	now      func() time.Time
	secure   bool // people reach the desk by https
	started  time.Time
	sessions *scs.SessionManager
	origins  *http.CrossOriginProtection
	counts   *countCache
	lanes    lanesCache
	queue    queueCache
	receipts readings // that stand in the audit log
	rations  *rations // nil: as many requests as anybody likes
	submits  doorkeeper
	streams  sync.WaitGroup
	echo     *echo.Echo
}

// New makes a Server. It starts nothing: every goroutine it ever has belongs to a request, or to the event
// stream that one became; see [Server.Drain].
func New(cfg Config) (*Server, error) {
	if cfg.Tasks == nil || cfg.Desk == nil || cfg.Accounts == nil {
		return nil, errors.New("handlers: Tasks, Desk and Accounts must be set")
	}
	cfg.defaults()
	public, err := url.Parse(cfg.PublicURL)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, log: cfg.Logger, now: cfg.Now, secure: public.Scheme == "https", started: cfg.Now()}
	s.sessions = s.newSessions()
	s.counts = newCountCache(cfg.Tasks, cfg.Now)
	s.rations = newRations(cfg.Rate, cfg.Burst)
	s.origins = http.NewCrossOriginProtection()
	if cfg.PublicURL != "" {
		if err := s.origins.AddTrustedOrigin(public.Scheme + "://" + public.Host); err != nil {
			return nil, err
		}
	}
	s.echo = s.newEcho()
	return s, nil
}

func (c *Config) defaults() {
	if c.MaxUpload == 0 {
		c.MaxUpload = 20 << 30
	}
	if c.SessionTTL == 0 {
		c.SessionTTL = 168 * time.Hour
	}
	if c.Rate == 0 {
		c.Rate = 50
	}
	if c.Burst == 0 {
		c.Burst = max(1, int(4*c.Rate))
	}
	if c.MaxUnfinished == 0 {
		c.MaxUnfinished = 1000
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = 10 * time.Second
	}
	if c.Idle == 0 {
		c.Idle = 30 * time.Second
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

func (s *Server) newEcho() *echo.Echo {
	e := echo.New()
	e.IPExtractor = addressOf(s.cfg.TrustedProxies)
	e.HTTPErrorHandler = func(err error, c echo.Context) { s.fail(c, err) }
	e.Use(s.observe, s.pace, s.answer, s.protect)
	for _, r := range s.routes() {
		e.Add(r.method, r.path, s.wrap(r))
	}
	return e
}
