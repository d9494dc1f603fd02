package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
)

// download sends the file a task left: whole, in ranges, or its header alone.
func (s *Server) download(c echo.Context) error {
	taskID, err := id(c, "taskId")
	if err != nil {
		return err
	}
	t, file, err := s.cfg.Tasks.OpenFile(c.Request().Context(), who(c).person(), taskID)
	if err != nil {
		return err
	}
	defer file.Close()
	if c.Request().Method == http.MethodGet { // each part too: who asks for all but the first byte has the file
		s.audit(c, accounts.ActDownloaded, taskID, c.Request().Header.Get("Range"))
	}
	asFile(c, t.Downloadable, t.File.Name)
	c.Response().Header().Set("ETag", `"`+t.File.SHA256+`"`)
	// A result never changes, and its ETag says which one it is: a date would add nothing.
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, file)
	return nil
}

// asFile makes the answer something to keep, never something to run or show.
func asFile(c echo.Context, mediaType, name string) {
	h := c.Response().Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Disposition", attachment(name))
	h.Set("Content-Security-Policy", filePolicy)
}

// attachment is a Content-Disposition with any name (RFC 6266, RFC 8187): in full for whoever reads filename*, and in
// ASCII for the rest. Control characters, which would end the header or turn the name around, are left out.
func attachment(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '/' || r == '\\' {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '%' {
			return '_'
		}
		return r
	}, name)
	header := `attachment; filename="` + plain + `"`
	if plain != name {
		header += "; filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
	}
	return header
}
