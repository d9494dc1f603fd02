package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"filmroom/imaging"
	"filmroom/tasks"
)

// parsed is what the command line says, without what the environment of this test says.
func parsed(t testing.TB, args ...string) *grammar {
	t.Helper()
	var g grammar
	parser, err := kong.New(&g, kong.Exit(func(int) { t.Fatal("the parser wants to exit") }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &g
}

func TestDefaultsAreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	g := parsed(t)
	got, err := g.Serve.config(g.places, false)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		places: places{DataDir: "./data"},
		Listen: "127.0.0.1:8080",
		Lanes:  map[string]int{"import": 2, "export": 2, "delete": 2, "bulk": 1, "webhook": 2},
		Limits: imaging.Limits{
			MaxUpload: 20 << 30, MinFree: 2 << 30,
			MaxEntries: 1_000_000, MaxUnpacked: 200 << 30, MaxRatio: 1000,
		},
		ResultTTL: 168 * time.Hour, ProgressInterval: 300 * time.Millisecond,
		SessionTTL: 168 * time.Hour, ShutdownGrace: 30 * time.Second,
		Heartbeat: 10 * time.Second, LeaseTTL: time.Minute, RescueInterval: 10 * time.Second, ExternalTTL: time.Minute,
		Retention: map[tasks.Status]time.Duration{
			tasks.StatusFinished: 2160 * time.Hour, tasks.StatusError: 2160 * time.Hour,
			tasks.StatusCanceled: 720 * time.Hour, tasks.StatusInterrupted: 2160 * time.Hour,
		},
		APIRate: 50, MaxUnfinished: 1000,
		LogFormat: "json", LogLevel: slog.LevelInfo,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Config{})); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if onTerminal, _ := g.Serve.config(g.places, true); onTerminal.LogFormat != "text" {
		t.Errorf("on a terminal the log is %q, want text", onTerminal.LogFormat)
	}
}

func TestValuesAreUnderstood(t *testing.T) {
	t.Parallel()
	g := parsed(t, "--listen=:0", "--public-url=https://desk.example.org/", "--trusted-proxies=10.0.0.0/8, 192.0.2.1",
		"--lanes=import=4,export=0", "--max-upload=500MB", "--log-level=debug", "--log-format=json", "--data-dir=/srv/desk",
		"--retention=error=24h, finished=-1", "--api-rate=-1", "--webhook-allow-private=true", "--external-ttl=5m", "--max-unfinished=7")
	got, err := g.Serve.config(g.places, true)
	if err != nil {
		t.Fatal(err)
	}
	if got.PublicURL != "https://desk.example.org" || got.Limits.MaxUpload != 500_000_000 || got.LogLevel != slog.LevelDebug ||
		got.LogFormat != "json" || got.DataDir != "/srv/desk" || got.Lanes["import"] != 4 || got.Lanes["export"] != 0 {
		t.Errorf("got %+v", got)
	}
	if got.Lanes["bulk"] != 1 || got.Lanes["webhook"] != 2 {
		t.Errorf("lanes that the value does not name are missing: %v", got.Lanes)
	}
	if s := fmt.Sprint(got.Retention); s != "map[error:24h0m0s finished:-1ns]" {
		t.Errorf("retention is %s", s)
	}
	if got.APIRate != -1 || !got.WebhookAllowPrivate || got.ExternalTTL != 5*time.Minute || got.MaxUnfinished != 7 {
		t.Errorf("got %+v", got)
	}
	if s := fmt.Sprint(got.TrustedProxies); s != "[10.0.0.0/8 192.0.2.1/32]" {
		t.Errorf("trusted proxies are %s", s)
	}
}

// wrong has one mistake in each option.
var wrong = map[string]string{
	"LISTEN":                "localhost",
	"PUBLIC_URL":            "desk.example.org",
	"TRUSTED_PROXIES":       "10.0.0.0/99",
	"METRICS_LISTEN":        ":http",
	"BLOB_URL":              "s3://bucket",
	"ADMIN_EMAIL":           "ada@example.org",
	"LANES":                 "import=two",
	"MAX_UPLOAD":            "a lot",
	"MIN_FREE":              "0",
	"IMPORT_MAX_ENTRIES":    "-1",
	"IMPORT_MAX_UNPACKED":   "10 parsec",
	"IMPORT_MAX_RATIO":      "1.5",
	"RESULT_TTL":            "168",
	"PROGRESS_INTERVAL":     "0s",
	"HEARTBEAT":             "often",
	"LEASE_TTL":             "-60s",
	"RESCUE_INTERVAL":       "x",
	"SESSION_TTL":           "a week",
	"SHUTDOWN_GRACE":        "",
	"EXTERNAL_TTL":          "60",
	"RETENTION":             "finished=2160h,queued=24h",
	"API_RATE":              "fast",
	"MAX_UNFINISHED":        "few",
	"WEBHOOK_ALLOW_PRIVATE": "perhaps",
	"LOG_FORMAT":            "xml",
	"LOG_LEVEL":             "loud",
	"DATA_DIR":              "",
}

func TestEveryMistakeIsReportedWithItsOptionAndValue(t *testing.T) {
	t.Parallel()
	var args []string
	for option, value := range wrong {
		args = append(args, "--"+strings.ReplaceAll(strings.ToLower(option), "_", "-")+"="+value)
	}
	g := parsed(t, args...)
	_, err := g.Serve.config(g.places, false)
	if err == nil {
		t.Fatal("nothing is wrong with it")
	}
	wantAllReported(t, err.Error())
}

func wantAllReported(t *testing.T, report string) {
	t.Helper()
	for option, value := range wrong {
		flag := strings.ReplaceAll(strings.ToLower(option), "_", "-")
		if line := fmt.Sprintf("FILMROOM_%s (--%s) is %q: it ", option, flag, value); !strings.Contains(report, line) {
			t.Errorf("%s is not reported in\n%s", line, report)
		}
	}
	if got := strings.Count(strings.TrimSpace(report), "\n") + 1; got != len(wrong) {
		t.Errorf("%d mistakes are reported, want %d:\n%s", got, len(wrong), report)
	}
}

func TestMistakesBetweenOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ arg, option string }{
		"a lease shorter than two heartbeats": {"--heartbeat=40s", "LEASE_TTL"},
		"an administrator without a password": {"--admin-email=ada@example.org", "ADMIN_EMAIL"},
		"a password without an administrator": {"--admin-password=correct horse", "ADMIN_PASSWORD"},
		"tasks that are kept for an hour":     {"--retention=finished=1h", "RETENTION"},
		"no requests at all":                  {"--api-rate=0", "API_RATE"},
		"requests that are not a number":      {"--api-rate=NaN", "API_RATE"},
		"a lane that kinds need is missing":   {"--lanes=import=2", "LANES"},
		"a database address of another kind":  {"--mongodb-uri=postgres://me:secret@db/x", "MONGODB_URI"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := parsed(t, c.arg)
			_, err := g.Serve.config(g.places, false)
			if err == nil || !strings.HasPrefix(err.Error(), "FILMROOM_"+c.option+" ") {
				t.Fatalf("got %v, want a mistake in %s", err, c.option)
			}
			if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "correct horse") {
				t.Errorf("the mistake tells a secret: %v", err)
			}
		})
	}
}

func TestTheEnvironmentMeansTheSame(t *testing.T) {
	for option, value := range wrong {
		t.Setenv("FILMROOM_"+option, value)
	}
	var out, errs bytes.Buffer
	if code := program(nil, strings.NewReader(""), &out, &errs); code != 2 {
		t.Fatalf("exit code %d, want 2:\n%s", code, errs.String())
	}
	wantAllReported(t, errs.String())
}
