package handlers

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"filmroom/static"
	"filmroom/views"
)

// A route is one thing the desk answers.
type route struct {
	method, path string
	access       access
	handle       echo.HandlerFunc
	page         bool // for people: a token opens it not, and errors are pages
	upload       bool // takes a body of Config.MaxUpload
	quiet        bool // is logged for debugging only
}

// routes is the one table of what the desk answers. Its API half is what openapi.json describes.
func (s *Server) routes() []route {
	return append(append(s.apiRoutes(), s.pageRoutes()...), s.plainRoutes()...)
}

func (s *Server) apiRoutes() []route {
	return []route{
		{method: "POST", path: "/api/session", access: open, handle: s.createSession},
		{method: "DELETE", path: "/api/session", access: open, handle: s.deleteSession},
		{method: "GET", path: "/api/me", access: person, handle: s.me},
		{method: "PUT", path: "/api/me/webhook", access: person, handle: s.setWebhook},
		{method: "DELETE", path: "/api/me/webhook", access: person, handle: s.deleteWebhook},
		{method: "GET", path: "/api/tokens", access: person, handle: s.listTokens},
		{method: "POST", path: "/api/tokens", access: person, handle: s.createToken},
		{method: "DELETE", path: "/api/tokens/:id", access: person, handle: s.deleteToken},
		{method: "GET", path: "/api/users", access: admin, handle: s.listUsers},
		{method: "POST", path: "/api/users", access: admin, handle: s.createUser},
		{method: "PATCH", path: "/api/users/:userId", access: admin, handle: s.changeUser},
		{method: "DELETE", path: "/api/users/:userId", access: admin, handle: s.disableUser},
		{method: "POST", path: "/api/users/:userId/password", access: admin, handle: s.resetPassword},
		{method: "POST", path: "/api/users/:userId/sign-out", access: admin, handle: s.signOutUser},
		{method: "GET", path: "/api/users/:userId/tokens", access: admin, handle: s.listUserTokens},
		{method: "DELETE", path: "/api/users/:userId/tokens/:id", access: admin, handle: s.revokeUserToken},

		{method: "POST", path: "/api/series", access: person, handle: s.upload, upload: true},
		{method: "GET", path: "/api/series", access: person, handle: s.listSeries},
		{method: "POST", path: "/api/series/search", access: person, handle: s.searchSeries},
		{method: "GET", path: "/api/series/:seriesId", access: person, handle: s.getSeries},
		{method: "DELETE", path: "/api/series/:seriesId", access: person, handle: s.deleteSeries},
		{method: "GET", path: "/api/series/:seriesId/instances", access: person, handle: s.listInstances},
		{method: "GET", path: "/api/series/:seriesId/preview.png", access: person, handle: s.preview, quiet: true},
		{method: "POST", path: "/api/exports", access: person, handle: s.createExport},

		{method: "GET", path: "/api/tasks", access: person, handle: s.listTasks},
		{method: "GET", path: "/api/tasks/:taskId", access: person, handle: s.getTask},
		{method: "PATCH", path: "/api/tasks/:taskId", access: person, handle: s.changeTask},
		{method: "POST", path: "/api/tasks/:taskId/cancel", access: person, handle: s.cancelTask},
		{method: "POST", path: "/api/tasks/:taskId/retry", access: person, handle: s.retryTask},
		{method: "GET", path: "/api/tasks/:taskId/download", access: person, handle: s.download},
		{method: "HEAD", path: "/api/tasks/:taskId/download", access: person, handle: s.download},
		{method: "GET", path: "/api/tasks/:taskId/receipt", access: person, handle: s.receipt},
		{method: "GET", path: "/api/tasks/:taskId/mapping", access: person, handle: s.mapping},
		{method: "GET", path: "/api/tasks/:taskId/log", access: person, handle: s.taskLog},
		{method: "GET", path: "/api/events", access: person, handle: s.events},

		{method: "POST", path: "/api/tasks", access: person, handle: s.submitTask},
		{method: "GET", path: "/api/tasks/ready", access: person, handle: s.readyTasks},
		{method: "POST", path: "/api/tasks/bulk", access: person, handle: s.submitBulk},
		{method: "POST", path: "/api/tasks/:taskId/pause", access: person, handle: s.pauseTask},
		{method: "POST", path: "/api/tasks/:taskId/resume", access: person, handle: s.resumeTask},
		{method: "POST", path: "/api/tasks/:taskId/prioritize", access: person, handle: s.prioritizeTask},
		{method: "POST", path: "/api/tasks/:taskId/progress", access: person, handle: s.reportProgress, quiet: true},
		{method: "POST", path: "/api/tasks/:taskId/log", access: person, handle: s.reportLog, quiet: true},
		{method: "PUT", path: "/api/tasks/:taskId/file", access: person, handle: s.reportFile, upload: true},
		{method: "POST", path: "/api/tasks/:taskId/finish", access: person, handle: s.reportFinish},
		{method: "POST", path: "/api/tasks/:taskId/fail", access: person, handle: s.reportFail},

		{method: "GET", path: "/api/lanes", access: person, handle: s.listLanes},
		{method: "PATCH", path: "/api/lanes/:name", access: admin, handle: s.changeLane},
		{method: "POST", path: "/api/lanes/pause", access: admin, handle: s.pauseLanes},
		{method: "POST", path: "/api/lanes/resume", access: admin, handle: s.resumeLanes},
		{method: "GET", path: "/api/audit", access: admin, handle: s.auditLog},

		{method: "GET", path: "/healthz", access: open, handle: s.healthz, quiet: true},
		{method: "GET", path: "/readyz", access: anyone, handle: s.readyz, quiet: true},
		{method: "GET", path: "/status", access: person, handle: s.status},
		{method: "GET", path: "/openapi.json", access: open, handle: s.openAPI},
	}
}

func (s *Server) pageRoutes() []route {
	pages := []route{
		{method: "GET", path: "/", access: person, handle: s.boardPage},
		{method: "GET", path: "/events", access: person, handle: s.boardEvents},
		{method: "GET", path: "/tasks/:taskId", access: person, handle: s.taskPage},
		{method: "GET", path: "/tasks/:taskId/events", access: person, handle: s.taskPageEvents},
		{method: "POST", path: "/tasks/:taskId/receipt", access: person, handle: s.receiptPart},
		{method: "POST", path: "/tasks/:taskId/cancel", access: person, handle: s.cancelFromPage},
		{method: "POST", path: "/tasks/:taskId/retry", access: person, handle: s.retryFromPage},
		{method: "POST", path: "/tasks/:taskId/dismiss", access: person, handle: s.dismissFromPage},

		{method: "POST", path: "/tasks/:taskId/pause", access: person, handle: s.pauseFromPage},
		{method: "POST", path: "/tasks/:taskId/resume", access: person, handle: s.resumeFromPage},
		{method: "POST", path: "/tasks/:taskId/prioritize", access: person, handle: s.prioritizeFromPage},
		{method: "POST", path: views.BulkURL, access: person, handle: s.bulkFromPage},

		{method: "GET", path: views.LanesURL, access: person, handle: s.lanesPage},
		{method: "GET", path: views.LanesEventsURL, access: person, handle: s.lanesEvents},
		{method: "POST", path: views.LanesRetryURL, access: admin, handle: s.retryFailures},
		{method: "POST", path: "/lanes/:name/set", access: admin, handle: s.changeLaneFromPage},
		{method: "POST", path: "/lanes/:name/pause", access: admin, handle: s.pauseLaneFromPage},
		{method: "POST", path: "/lanes/:name/resume", access: admin, handle: s.resumeLaneFromPage},

		{method: "GET", path: views.LibraryURL, access: person, handle: s.libraryPage},
		{method: "POST", path: views.LibrarySearchURL, access: person, handle: s.searchLibrary},
		{method: "GET", path: "/library/series/:seriesId", access: person, handle: s.seriesPage},
		{method: "POST", path: views.TakeOutURL, access: person, handle: s.takeOutDialog},
		{method: "POST", path: views.DryRunURL, access: person, handle: s.dryRun},
		{method: "POST", path: views.DeleteURL, access: person, handle: s.deleteFromLibrary},
		{method: "POST", path: views.ExportsURL, access: person, handle: s.takeOut},
		{method: "POST", path: views.SampleURL, access: person, handle: s.bringInSample},

		{method: "GET", path: views.LoginURL, access: anyone, handle: s.loginPage},
		{method: "POST", path: views.LoginURL, access: open, handle: s.login},
		{method: "POST", path: views.LogoutURL, access: open, handle: s.logout},
		{method: "GET", path: views.SetupURL, access: anyone, handle: s.setupPage},
		{method: "POST", path: views.SetupURL, access: open, handle: s.setup},
		{method: "GET", path: views.AccountURL, access: person, handle: s.accountPage},
		{method: "POST", path: views.TokensURL, access: person, handle: s.createTokenFromPage},
		{method: "POST", path: "/account/tokens/:id/delete", access: person, handle: s.deleteTokenFromPage},
		{method: "POST", path: views.AccountWebhookURL, access: person, handle: s.setWebhookFromPage},
		{method: "POST", path: views.AccountWebhookClearURL, access: person, handle: s.clearWebhookFromPage},

		{method: "GET", path: views.UsersURL, access: admin, handle: s.usersPage},
		{method: "POST", path: views.UsersURL, access: admin, handle: s.addUserFromPage},
		{method: "GET", path: "/users/:userId", access: admin, handle: s.userPage},
		{method: "POST", path: "/users/:userId", access: admin, handle: s.changeUserFromPage},
		{method: "POST", path: "/users/:userId/disable", access: admin, handle: s.userAction(s.disableFromPage)},
		{method: "POST", path: "/users/:userId/enable", access: admin, handle: s.userAction(s.enableFromPage)},
		{method: "POST", path: "/users/:userId/sign-out-everywhere", access: admin, handle: s.userAction(s.endSessionsOf)},
		{method: "POST", path: "/users/:userId/password", access: admin, handle: s.resetPasswordFromPage},
		{method: "POST", path: "/users/:userId/tokens/:id/delete", access: admin, handle: s.userAction(s.revoke)},
		{method: "GET", path: views.AuditURL, access: admin, handle: s.auditPage},
		{method: "POST", path: views.PasswordURL, access: person, handle: s.changePassword},
		{method: "POST", path: views.SignOutURL, access: person, handle: s.signOutEverywhere},
	}
	for i := range pages {
		pages[i].page = true
	}
	return pages
}

func (s *Server) plainRoutes() []route {
	assets := echo.WrapHandler(static.Handler())
	return []route{
		{method: "GET", path: static.Prefix + "*", access: open, handle: assets, quiet: true},
		{method: "HEAD", path: static.Prefix + "*", access: open, handle: assets, quiet: true},
	}
}

// wrap is what happens between the middleware and a route's handler.
func (s *Server) wrap(r route) echo.HandlerFunc {
	limit := int64(maxBody)
	if r.upload {
		limit = s.cfg.MaxUpload
	}
	return func(c echo.Context) error {
		c.Set(keyRoute, r)
		if err := s.authenticate(c, r); err != nil {
			return err
		}
		if err := s.ration(c); err != nil {
			return err
		}
		if err := limitBody(c, limit); err != nil {
			return err
		}
		return r.handle(c)
	}
}

// wantsPage reports whether errors should be shown to a person: on the pages' own routes, and where a browser
// went to an API address by a link or a form, as for downloads.
func wantsPage(c echo.Context) bool {
	if r, ok := c.Get(keyRoute).(route); ok && r.page {
		return true
	}
	return acceptsFirst(c.Request(), "text/html")
}

// acceptsFirst reports whether the request names this media type before any other.
func acceptsFirst(r *http.Request, kind string) bool {
	first, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
	first, _, _ = strings.Cut(first, ";")
	return strings.EqualFold(strings.TrimSpace(first), kind)
}

// isPartial reports whether the answer goes into a page that is open.
func isPartial(c echo.Context) bool { return c.Request().Header.Get("HX-Request") == "true" }

// isStream reports whether the request opened an event stream.
func isStream(c echo.Context) bool { return acceptsFirst(c.Request(), "text/event-stream") }
