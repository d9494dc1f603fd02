package handlers

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"filmroom/views"
)

// statusGone is what the log says of a request whose client did not wait for the answer.
const statusGone = 499

// A problem is an RFC 9457 problem document.
type problem struct {
	Type       string       `json:"type"`
	Title      string       `json:"title"`
	Status     int          `json:"status"`
	Detail     string       `json:"detail"`
	Instance   string       `json:"instance,omitempty"`
	Errors     []fieldFault `json:"errors,omitempty"`
	TaskStatus string       `json:"taskStatus,omitempty"`
}

// fail answers a request that ended in an error.
func (s *Server) fail(c echo.Context, err error) {
	f, known := faultOf(err)
	if how := trafficOf(c).broken.Load(); how != nil {
		f, known = *how, true // whatever came of it further up
	}
	res, ctx := c.Response(), c.Request().Context()
	if leftEarly(ctx) && !known || res.Committed && leftEarly(ctx) {
		res.Status = statusGone
		return
	}
	if !known {
		s.log.ErrorContext(ctx, "a request failed", "requestId", requestID(c), "route", routeOf(c), "error", err)
	}
	if res.Committed {
		// The status is out; breaking the connection is the only way left to say that the rest is missing.
		panic(http.ErrAbortHandler)
	}
	if f.retryAfter > 0 {
		res.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.retryAfter.Seconds()))))
	}
	if err := s.tell(c, f); err != nil {
		s.log.WarnContext(ctx, "an error was not told", "requestId", requestID(c), "error", err)
	}
}

// tell shows a fault to whoever asks: a program, a page that is open, or a person.
func (s *Server) tell(c echo.Context, f fault) error {
	switch {
	case !wantsPage(c):
		return sendProblem(c, f)
	case isStream(c):
		return c.NoContent(f.status)
	case f.status == http.StatusUnauthorized:
		return toLogin(c)
	case isPartial(c):
		return s.render(c, f.status, views.NoticePartial(views.Notice{Text: f.text(), Failed: true}))
	default:
		return s.render(c, f.status, views.ErrorPage(views.NewError(s.frame(c), f.status, f.detailForPage(), requestID(c))))
	}
}

func sendProblem(c echo.Context, f fault) error {
	p := problem{Type: "about:blank", Title: http.StatusText(f.status), Status: f.status, Detail: f.detail,
		Errors: f.fields, TaskStatus: string(f.taskStatus)}
	if f.status != http.StatusNotFound { // whose body is the same for all that is not there
		p.Instance = "urn:filmroom:request:" + requestID(c)
	}
	if f.status == http.StatusUnauthorized {
		c.Response().Header().Set("WWW-Authenticate", `Bearer realm="filmroom"`)
	}
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return c.Blob(f.status, "application/problem+json", body)
}

// text is a fault in sentences for people.
func (f fault) text() string {
	if len(f.fields) == 0 {
		return f.detail
	}
	var said []string
	for _, x := range f.fields {
		said = append(said, capital(x.Field)+" "+x.Reason+".")
	}
	return strings.Join(said, " ")
}

// detailForPage leaves out what the page says of every error of the status anyway.
func (f fault) detailForPage() string {
	if f.status == http.StatusNotFound || f.status == http.StatusInternalServerError {
		return ""
	}
	return f.text()
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// toLogin sends a person to the sign-in page, and afterwards back to where they are.
func toLogin(c echo.Context) error {
	r := c.Request()
	after := r.URL.RequestURI()
	if r.Method != http.MethodGet {
		after = "/"
	}
	if isPartial(c) {
		c.Response().Header().Set("HX-Redirect", views.LoginReturnURL(localPath(r.Header.Get("HX-Current-URL"))))
		return c.NoContent(http.StatusUnauthorized)
	}
	return c.Redirect(http.StatusSeeOther, views.LoginReturnURL(localPath(after)))
}
