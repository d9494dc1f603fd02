package views

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"filmroom/accounts"
)

// Audit is the administrators' page of what people did.
type Audit struct {
	Frame
	Query   AuditQuery
	People  []Option
	Actions []Option
	Rows    []AuditRow
	Empty   EmptyCause
	CSV     string // address of all that matches, as CSV
	Clear   string // address without any filter
	Newest  string // address of the first page, "" when this is it
	Older   string // address of the next page, "" when this is the last
	Filters int
}

// An AuditRow is one thing somebody did. It names our ids alone.
type AuditRow struct {
	When    When
	Who     string // e-mail as it was then, "nobody known" when it was none of ours
	WhoURL  string // the log of this person, "" when unknown
	Action  string // in people's words
	Bad     bool   // a failed sign-in
	Target  string // our id or a lane's name
	GoTo    string // its page, "" when it has none
	Note    string
	Address string
}

// An AuditQuery is the state of the audit page that stands in its address.
type AuditQuery struct {
	UserID   string
	Action   string
	Target   string
	From, To time.Time // days in UTC, both inclusive; zero: unbounded
	Cursor   string
}

// URL is the page in this state.
func (q AuditQuery) URL() string { return withQuery(AuditURL, q.values()) }

// CSVURL is everything that matches, as CSV.
func (q AuditQuery) CSVURL() string {
	q.Cursor = ""
	v := q.values()
	v.Set("format", "csv")
	return withQuery(AuditFileURL, v)
}

func (q AuditQuery) values() url.Values {
	v := url.Values{}
	set(v, "userId", q.UserID)
	set(v, "action", q.Action)
	set(v, "target", q.Target)
	set(v, "from", day(q.From))
	set(v, "to", day(q.To))
	set(v, "cursor", q.Cursor)
	return v
}

func (q AuditQuery) first() AuditQuery {
	q.Cursor = ""
	return q
}

func (q AuditQuery) filters() int { return len(q.first().values()) }

// NewAudit makes a page of the log; people are all who have an account, to choose from.
func NewAudit(f Frame, q AuditQuery, page accounts.AuditPage, people []accounts.User) Audit {
	f.title, f.section = "Audit", SectionAudit
	a := Audit{Frame: f, Query: q, People: peopleOptions(q, people), Actions: actionOptions(q),
		CSV: q.CSVURL(), Clear: AuditURL, Filters: q.filters()}
	for _, e := range page.Items {
		a.Rows = append(a.Rows, newAuditRow(e, f.Now))
	}
	if q.Cursor != "" {
		a.Newest = q.first().URL()
	}
	if page.NextCursor != "" {
		next := q
		next.Cursor = page.NextCursor
		a.Older = next.URL()
	}
	switch {
	case len(a.Rows) > 0:
	case q.Cursor != "":
		a.Empty = NothingOnPage
	case a.Filters > 0:
		a.Empty = NothingMatch
	default:
		a.Empty = NothingYet
	}
	return a
}

func newAuditRow(e accounts.AuditEntry, now time.Time) AuditRow {
	row := AuditRow{When: NewWhen(e.At, now), Who: orElse(e.Email, "nobody known"), Action: ActionWord(e.Action), Bad: e.Action == accounts.ActSignInFailed,
		Target: e.Target, GoTo: targetURL(e), Note: e.Note, Address: orElse(e.Address, "command line")}
	if e.UserID != "" {
		row.WhoURL = AuditQuery{UserID: e.UserID}.URL()
	}
	return row
}

var targetURLs = map[string]func(string) string{
	accounts.ActUserAdded: UserURL, accounts.ActUserDisabled: UserURL, accounts.ActUserEnabled: UserURL, accounts.ActUserChanged: UserURL, accounts.ActPasswordReset: UserURL,
	accounts.ActTaskCanceled: TaskURL, accounts.ActTaskRetried: TaskURL, accounts.ActTaskPrioritized: TaskURL,
	accounts.ActReceiptRead: TaskURL, accounts.ActExported: TaskURL, accounts.ActDownloaded: TaskURL, accounts.ActUploaded: TaskURL,
	accounts.ActSeriesViewed: SeriesURL,
	accounts.ActLaneChanged:  func(string) string { return LanesURL },
}

func targetURL(e accounts.AuditEntry) string {
	if to, ok := targetURLs[e.Action]; ok && e.Target != "" {
		return to(e.Target)
	}
	return ""
}

// ActionWord is an action of the audit log as people read it: "Signed in", "Lane changed".
func ActionWord(action string) string {
	if w, ok := actionWords[action]; ok {
		return w
	}
	return action
}

var actionWords = map[string]string{
	accounts.ActSignIn: "Signed in", accounts.ActSignInFailed: "Sign-in failed", accounts.ActSignOut: "Signed out",
	accounts.ActSignOutEverywhere: "Signed out everywhere", accounts.ActPasswordChanged: "Changed the password",
	accounts.ActPasswordReset: "Reset a password", accounts.ActUserAdded: "Added a user", accounts.ActUserDisabled: "Disabled a user",
	accounts.ActUserEnabled: "Enabled a user", accounts.ActUserChanged: "Changed a user", accounts.ActTokenCreated: "Made a token", accounts.ActTokenRevoked: "Revoked a token",
	accounts.ActWebhookSet: "Set a webhook", accounts.ActLaneChanged: "Changed a lane", accounts.ActTaskCanceled: "Canceled a task",
	accounts.ActTaskRetried: "Retried a task", accounts.ActTaskPrioritized: "Moved a task", accounts.ActTaskPaused: "Paused a task",
	accounts.ActTaskResumed: "Resumed a task", accounts.ActTaskDismissed: "Dismissed a task", accounts.ActSeriesViewed: "Looked at a series",
	accounts.ActSeriesDeleted: "Deleted a series", accounts.ActReceiptRead: "Read a receipt", accounts.ActExported: "Took out",
	accounts.ActDownloaded: "Downloaded", accounts.ActUploaded: "Brought in", accounts.ActAuditRead: "Read the audit log",
}

func actionOptions(q AuditQuery) []Option {
	actions := slices.Clone(accounts.Actions)
	if q.Action != "" && !slices.Contains(actions, q.Action) {
		actions = append(actions, q.Action)
	}
	options := []Option{{Word: "Every action", Selected: q.Action == ""}}
	for _, a := range actions {
		options = append(options, Option{Value: a, Word: ActionWord(a), Selected: a == q.Action})
	}
	return options
}

func peopleOptions(q AuditQuery, people []accounts.User) []Option {
	people = slices.SortedFunc(slices.Values(people), func(a, b accounts.User) int {
		return cmp.Compare(strings.ToLower(a.Email), strings.ToLower(b.Email))
	})
	options, found := []Option{{Word: "Everybody", Selected: q.UserID == ""}}, q.UserID == ""
	for _, u := range people {
		options = append(options, Option{Value: u.ID, Word: u.Email, Selected: u.ID == q.UserID})
		found = found || u.ID == q.UserID
	}
	if !found {
		options = append(options, Option{Value: q.UserID, Word: q.UserID, Selected: true})
	}
	return options
}
