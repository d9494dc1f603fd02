package views

import (
	"net/url"
	"strconv"
	"time"

	"filmroom/imaging"
	"filmroom/tasks"
)

// Every address of the desk is spelt here, once, for templates, handlers and tests. Addresses hold our own
// ids and harmless filters alone: what may name a patient or a file is posted.

const (
	LoginURL    = "/login"
	LogoutURL   = "/logout"
	SetupURL    = "/setup"
	AccountURL  = "/account"
	TokensURL   = "/account/tokens"
	PasswordURL = "/account/password"
	SignOutURL  = "/account/sign-out-everywhere"

	AccountWebhookURL      = "/account/webhook"       // POST url: sets it
	AccountWebhookClearURL = "/account/webhook/clear" // POST

	BulkURL = "/bulk" // POST action and the board's query: acts on everything that matches

	LanesURL       = "/lanes"
	LanesEventsURL = "/lanes/events"
	LanesRetryURL  = "/lanes/retry" // POST key, until: retries a group of failures; see [FailureGroup]
	UsersURL       = "/users"       // POST email, name, admin: adds a person
	AuditURL       = "/audit"
	AuditFileURL   = "/api/audit"

	LibraryURL       = "/library"
	LibrarySearchURL = "/library/search"
	TakeOutURL       = "/library/take-out" // POST seriesIds: the dialog
	DryRunURL        = "/library/dry-run"  // POST the dialog's form: what would leave
	DeleteURL        = "/library/delete"   // POST seriesIds: asks; with confirmed: deletes
	ExportsURL       = "/exports"          // POST: takes out
	SampleURL        = "/sample"           // POST: brings in a synthetic study
	UploadURL        = "/api/series"       // POST: brings in files
)

// SetupLink is the one-time link that makes the first account. Its secret is the fragment, which browsers
// send to nobody: it stands in no request, log or Referer, and the page takes it out of the history.
func SetupLink(base, secret string) string { return base + SetupURL + "#" + secret }

func TaskURL(id string) string        { return "/tasks/" + url.PathEscape(id) }
func TaskEventsURL(id string) string  { return TaskURL(id) + "/events" }
func TaskCancelURL(id string) string  { return TaskURL(id) + "/cancel" }
func TaskRetryURL(id string) string   { return TaskURL(id) + "/retry" }
func TaskDismissURL(id string) string { return TaskURL(id) + "/dismiss" } // POST dismissed=true|false

func TaskPauseURL(id string) string      { return TaskURL(id) + "/pause" }
func TaskResumeURL(id string) string     { return TaskURL(id) + "/resume" }
func TaskPrioritizeURL(id string) string { return TaskURL(id) + "/prioritize" } // POST priority

func LaneSetURL(name string) string    { return laneURL(name) + "/set" }    // POST capacity, rate, burst, reason
func LanePauseURL(name string) string  { return laneURL(name) + "/pause" }  // POST reason
func LaneResumeURL(name string) string { return laneURL(name) + "/resume" } // POST reason

// laneURL has something after it always: a lane's name alone could be that of a page beside it.
func laneURL(name string) string { return LanesURL + "/" + url.PathEscape(name) }

func UserURL(id string) string         { return UsersURL + "/" + url.PathEscape(id) }
func UserDisableURL(id string) string  { return UserURL(id) + "/disable" }
func UserEnableURL(id string) string   { return UserURL(id) + "/enable" }
func UserPasswordURL(id string) string { return UserURL(id) + "/password" } // POST: resets it, the answer shows it once
func UserSignOutURL(id string) string  { return UserURL(id) + "/sign-out-everywhere" }
func UserTokenDeleteURL(id, tokenID string) string {
	return UserURL(id) + "/tokens/" + url.PathEscape(tokenID) + "/delete"
}

func DownloadURL(id string) string    { return "/api" + TaskURL(id) + "/download" }
func ReceiptFileURL(id string) string { return "/api" + TaskURL(id) + "/receipt" } // JSON lines
func ReceiptCSVURL(id string) string  { return ReceiptFileURL(id) + "?format=csv" }
func MappingURL(id string) string     { return "/api" + TaskURL(id) + "/mapping" } // of an export
func SeriesURL(id string) string      { return LibraryURL + "/series/" + url.PathEscape(id) }
func PreviewURL(id string) string     { return "/api/series/" + url.PathEscape(id) + "/preview.png" }
func PreviewAtURL(id string, index int) string {
	return PreviewURL(id) + "?" + url.Values{"index": {strconv.Itoa(index)}, "size": {"1024"}}.Encode()
}
func TokenDeleteURL(id string) string   { return TokensURL + "/" + url.PathEscape(id) + "/delete" }
func LibraryOfTaskURL(id string) string { return LibraryQuery{TaskID: id}.URL() }
func LoginReturnURL(after string) string {
	return LoginURL + "?" + url.Values{"after": {after}}.Encode()
}

// A BoardQuery is the state of the board that stands in its address.
type BoardQuery struct {
	Statuses  []tasks.Status
	Kind      string
	Words     string    // as typed
	From, To  time.Time // days in UTC, both inclusive; zero: unbounded
	Dismissed bool      // those put out of sight, instead of the others
	Sort      tasks.Sort
	Cursor    string
}

// URL is the board in this state.
func (q BoardQuery) URL() string { return withQuery("/", q.values()) }

// EventsURL is the event stream of the board in this state.
func (q BoardQuery) EventsURL() string { return withQuery("/events", q.values()) }

func (q BoardQuery) values() url.Values {
	v := url.Values{}
	for _, s := range q.Statuses {
		v.Add("status", string(s))
	}
	set(v, "kind", q.Kind)
	set(v, "q", q.Words)
	set(v, "from", day(q.From))
	set(v, "to", day(q.To))
	if q.Dismissed {
		v.Set("dismissed", "true")
	}
	set(v, "sort", string(q.Sort))
	set(v, "cursor", q.Cursor)
	return v
}

// ReceiptURL is a task's receipt on its page. GET shows all of it; outcome, q and after are posted, because q
// may name a file.
func ReceiptURL(id string) string { return TaskURL(id) + "/receipt" }

// A LibraryQuery is the state of the library. Search may name a patient, so it is posted and never part of
// an address.
type LibraryQuery struct {
	Modality string
	From, To string // study date, YYYY-MM-DD, both inclusive
	TaskID   string
	Sort     imaging.SeriesSort
	Cursor   string
	Search   string
}

// URL is the library in this state, without the search.
func (q LibraryQuery) URL() string {
	v := url.Values{}
	set(v, "modality", q.Modality)
	set(v, "from", q.From)
	set(v, "to", q.To)
	set(v, "taskId", q.TaskID)
	set(v, "sort", string(q.Sort))
	set(v, "cursor", q.Cursor)
	return withQuery(LibraryURL, v)
}

func set(v url.Values, key, value string) {
	if value != "" {
		v.Set(key, value)
	}
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

func withQuery(path string, v url.Values) string {
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}
