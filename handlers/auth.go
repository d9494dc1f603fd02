package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"

	"filmroom/accounts"
	"filmroom/tasks"
)

// An access says who may call a route.
type access int

const (
	open   access = iota // anybody; nobody is looked up, so the store is not touched
	anyone               // anybody; who it is, is known
	person               // whoever is signed in
	admin
)

// A viewer is who asks. The zero viewer is nobody. It is handed on by reference: thousands of streams wait with
// whatever is on their stacks.
type viewer struct {
	accounts.User
	credential accounts.Credential // what proved it
}

func (v *viewer) person() tasks.Person {
	return tasks.Person{UserID: v.ID, Email: v.Email, Admin: v.Admin}
}

func who(c echo.Context) *viewer {
	if v, ok := c.Get(keyViewer).(*viewer); ok {
		return v
	}
	return &viewer{}
}

// newSessions makes the keeper of browser sessions. Its middleware is not used: a session changes only
// where somebody signs in or out, and there it is committed by hand.
func (s *Server) newSessions() *scs.SessionManager {
	// Not scs.New, which begins with a store in memory and a goroutine that would outlive us.
	m := &scs.SessionManager{Store: s.cfg.Accounts.SessionStore(), Lifetime: s.cfg.SessionTTL, Codec: scs.GobCodec{}}
	m.Cookie = scs.SessionCookie{Name: "filmroom", Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.secure, Persist: true}
	if s.secure {
		m.Cookie.Name = "__Host-filmroom" // bound to this host and path, whatever another site of the domain sets
	}
	return m
}

// authenticate finds out who asks, and refuses those the route is not for. A token speaks for programs and
// opens no page; where one is sent, the cookie does not count.
func (s *Server) authenticate(c echo.Context, r route) error {
	if r.access == open {
		return nil
	}
	v, err := s.identify(c, r)
	if err != nil {
		return err
	}
	c.Set(keyViewer, v)
	switch {
	case r.access >= person && v.ID == "":
		return errSignedOut
	case r.access == admin && !v.Admin:
		return errNotAdmin
	}
	return nil
}

func (s *Server) identify(c echo.Context, r route) (*viewer, error) {
	if header := c.Request().Header.Get("Authorization"); header != "" && !r.page {
		return s.byToken(c, header)
	}
	return s.bySession(c)
}

func (s *Server) byToken(c echo.Context, header string) (*viewer, error) {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil, errSignedOut
	}
	u, t, err := s.cfg.Accounts.Authenticate(c.Request().Context(), strings.TrimSpace(token))
	if errors.Is(err, accounts.ErrBadCredentials) {
		return nil, errSignedOut
	}
	if err != nil {
		return nil, err
	}
	return &viewer{u, accounts.Credential{UserID: u.ID, TokenID: t.ID}}, nil
}

// bySession looks the cookie up. Who has none, or one that has ended, is nobody.
func (s *Server) bySession(c echo.Context) (*viewer, error) {
	cookie, err := c.Cookie(s.sessions.Cookie.Name)
	if err != nil || cookie.Value == "" {
		return &viewer{}, nil
	}
	ctx, err := s.sessions.Load(c.Request().Context(), cookie.Value)
	if err != nil {
		return nil, err
	}
	userID := s.sessions.GetString(ctx, accounts.SessionUserKey)
	if userID == "" {
		return &viewer{}, nil
	}
	u, err := s.cfg.Accounts.User(ctx, userID)
	if errors.Is(err, accounts.ErrNotFound) {
		return &viewer{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &viewer{u, accounts.Credential{UserID: u.ID, SessionHash: accounts.SessionHash(cookie.Value)}}, nil
}

// signIn opens a session for u under a new cookie, so that a cookie planted beforehand is worth nothing.
func (s *Server) signIn(c echo.Context, u accounts.User) error {
	s.forgetCookie(c)
	ctx, err := s.sessions.Load(c.Request().Context(), "")
	if err != nil {
		return err
	}
	s.sessions.Put(ctx, accounts.SessionUserKey, u.ID)
	value, expiry, err := s.sessions.Commit(ctx)
	if err != nil {
		return err
	}
	s.sessions.WriteSessionCookie(ctx, c.Response(), value, expiry)
	c.Set(keyViewer, &viewer{User: u})
	return nil
}

// signOut ends the session of the request's cookie, if it has one, on the server and in the browser.
func (s *Server) signOut(c echo.Context) error {
	cookie, err := c.Cookie(s.sessions.Cookie.Name)
	if err != nil {
		return nil
	}
	if err := s.cfg.Accounts.SessionStore().DeleteCtx(c.Request().Context(), cookie.Value); err != nil {
		return err
	}
	c.Response().Header().Add("Set-Cookie", (&http.Cookie{Name: cookie.Name, Path: "/", MaxAge: -1,
		HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode}).String())
	return nil
}

// forgetCookie ends the session a browser brings to a sign-in. That it cannot be ended stops nobody.
func (s *Server) forgetCookie(c echo.Context) {
	cookie, err := c.Cookie(s.sessions.Cookie.Name)
	if err != nil {
		return
	}
	ctx := context.WithoutCancel(c.Request().Context())
	if err := s.cfg.Accounts.SessionStore().DeleteCtx(ctx, cookie.Value); err != nil {
		s.log.WarnContext(ctx, "an old session was not ended", "requestId", requestID(c), "error", err)
	}
}
