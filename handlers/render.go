package handlers

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/dustin/go-humanize"
	"github.com/labstack/echo/v4"

	"filmroom/views"
)

// render sends components one after the other. They go to a buffer first, so that one that fails becomes an
// error and not half a page.
func (s *Server) render(c echo.Context, status int, parts ...templ.Component) error {
	var page bytes.Buffer
	for _, part := range parts {
		if err := part.Render(c.Request().Context(), &page); err != nil {
			return err
		}
	}
	return c.HTMLBlob(status, page.Bytes())
}

// frame is what is around a page.
func (s *Server) frame(c echo.Context) views.Frame {
	v := who(c)
	return views.Frame{User: views.Viewer{Email: v.Email, Name: v.Name, Admin: v.Admin}, Now: s.now()}
}

// sendJSON answers with a value. The body is made before the status is sent.
func sendJSON(c echo.Context, status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return c.JSONBlob(status, body)
}

// list is how the API answers with more than one thing.
type list[T any] struct {
	Items []T `json:"items"`
}

// accepted says which task was made for a request, and where it is.
func accepted(c echo.Context, status int, taskID string) error {
	c.Response().Header().Set("Location", "/api"+views.TaskURL(taskID))
	return sendJSON(c, status, map[string]string{"taskId": taskID})
}

// stamp is a time as the API writes it: RFC 3339 in UTC with milliseconds; the zero time is null.
type stamp time.Time

// MarshalJSON writes the time.
func (s stamp) MarshalJSON() ([]byte, error) {
	t := time.Time(s)
	if t.IsZero() {
		return []byte("null"), nil
	}
	return t.UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000Z"`), nil
}

// orNull is a text, null when it is empty.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func sizeText(bytes int64) string { return humanize.Bytes(uint64(max(bytes, 0))) }

// seeOther sends the browser on after a form was posted.
func seeOther(c echo.Context, to string) error { return c.Redirect(http.StatusSeeOther, to) }

// localPath is an address on this desk, as path and query; anything else is the board. A link to the sign-in
// page must not be able to send people elsewhere afterwards.
func localPath(address string) string {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") || strings.ContainsAny(address, "\\\r\n\t") ||
		u.Opaque != "" {
		return "/"
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).RequestURI()
}
