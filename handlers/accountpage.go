package handlers

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
	"filmroom/views"
)

func (s *Server) loginPage(c echo.Context) error {
	p := query(c)
	after := localPath(p.text("after"))
	if err := p.done(); err != nil {
		return err
	}
	if who(c).ID != "" {
		return seeOther(c, after)
	}
	return s.render(c, http.StatusOK, views.LoginPage(views.NewLogin(s.frame(c), views.Login{After: after})))
}

// login signs a browser in that posts the form. A refusal leaves what was typed, but for the password.
func (s *Server) login(c echo.Context) error {
	posted, err := form(c)
	if err != nil {
		return err
	}
	email, password, after := posted.text("email"), posted.text("password"), localPath(posted.text("after"))
	if err := posted.done(); err != nil {
		return err
	}
	u, err := s.cfg.Accounts.SignIn(c.Request().Context(), email, password, c.RealIP())
	if err != nil {
		s.auditRefused(c, email)
		f, known := faultOf(err)
		if !known {
			return err
		}
		return s.render(c, f.status, views.LoginPage(views.NewLogin(s.frame(c), views.Login{Email: email, After: after, Error: f.text()})))
	}
	if err := s.signIn(c, u); err != nil {
		return err
	}
	s.audit(c, accounts.ActSignIn, u.ID, "")
	return seeOther(c, after)
}

func (s *Server) logout(c echo.Context) error {
	s.auditSignOut(c)
	if err := s.signOut(c); err != nil {
		return err
	}
	return seeOther(c, views.LoginURL)
}

// setupPage is for the one-time link, whose secret stays in the browser; it is nowhere once the desk has an account.
func (s *Server) setupPage(c echo.Context) error {
	if err := query(c).done(); err != nil {
		return err
	}
	_, needed, err := s.cfg.Accounts.SetupToken(c.Request().Context())
	if err != nil {
		return err
	}
	if !needed {
		return seeOther(c, "/")
	}
	return s.render(c, http.StatusOK, views.SetupPage(views.NewSetup(s.frame(c), views.Setup{})))
}

func (s *Server) setup(c echo.Context) error {
	posted, err := form(c)
	if err != nil {
		return err
	}
	typed := views.Setup{Email: posted.text("email"), Name: posted.text("name"), Secret: posted.text("token")}
	password := posted.text("password")
	if err := posted.done(); err != nil {
		return err
	}
	u, err := s.cfg.Accounts.AddFirstUser(c.Request().Context(), typed.Secret, typed.Email, typed.Name, password)
	if err != nil {
		f, known := faultOf(err)
		if !known {
			return err
		}
		typed.Error = f.text()
		return s.render(c, f.status, views.SetupPage(views.NewSetup(s.frame(c), typed)))
	}
	if err := s.signIn(c, u); err != nil {
		return err
	}
	s.audit(c, accounts.ActUserAdded, u.ID, "")
	return seeOther(c, "/")
}

func (s *Server) accountPage(c echo.Context) error {
	if err := query(c).done(); err != nil {
		return err
	}
	return s.showAccount(c, http.StatusOK, views.Notice{}, views.Account{})
}

// showAccount sends the account page with what the last action left.
func (s *Server) showAccount(c echo.Context, status int, said views.Notice, left views.Account) error {
	tokens, err := s.cfg.Accounts.Tokens(c.Request().Context(), who(c).ID)
	if err != nil {
		return err
	}
	frame := s.frame(c)
	frame.Notice = said
	if left.Webhook == "" {
		left.Webhook = who(c).WebhookURL
	}
	return s.render(c, status, views.AccountPage(views.NewAccount(frame, tokens, left)))
}

func (s *Server) createTokenFromPage(c echo.Context) error {
	posted, err := form(c)
	if err != nil {
		return err
	}
	name := posted.text("name")
	if err := posted.done(); err != nil {
		return err
	}
	t, text, err := s.cfg.Accounts.CreateToken(c.Request().Context(), who(c).ID, name)
	if wrong, ok := errors.AsType[*accounts.InvalidError](err); ok {
		return s.showAccount(c, http.StatusUnprocessableEntity, views.Notice{}, views.Account{TokenName: name, TokenError: capital(wrong.Error()) + "."})
	}
	if err != nil {
		return err
	}
	s.audit(c, accounts.ActTokenCreated, t.ID, "")
	return s.showAccount(c, http.StatusOK, views.Notice{}, views.Account{NewToken: text, NewTokenName: t.Name})
}

func (s *Server) deleteTokenFromPage(c echo.Context) error {
	if err := s.revoke(c, who(c).ID); err != nil {
		return err
	}
	return seeOther(c, views.AccountURL)
}

func (s *Server) changePassword(c echo.Context) error {
	posted, err := form(c)
	if err != nil {
		return err
	}
	current, next := posted.text("current"), posted.text("password")
	posted.text("username") // for password managers alone
	if err := posted.done(); err != nil {
		return err
	}
	v := who(c)
	err = s.cfg.Accounts.ChangePassword(c.Request().Context(), v.ID, current, next, v.credential.SessionHash)
	if err == nil {
		s.audit(c, accounts.ActPasswordChanged, v.ID, "")
		return s.showAccount(c, http.StatusOK, views.Notice{Text: "The password is changed. You are signed out everywhere else."}, views.Account{})
	}
	f, known := faultOf(err)
	switch {
	case !known:
		return err
	case errors.Is(err, accounts.ErrBadCredentials):
		f.status, f.detail = http.StatusUnprocessableEntity, "The present password is wrong." // 401 would say that nobody is signed in
	}
	return s.showAccount(c, f.status, views.Notice{}, views.Account{PasswordError: f.text()})
}

func (s *Server) signOutEverywhere(c echo.Context) error {
	if err := s.endSessionsOf(c, who(c).ID); err != nil {
		return err
	}
	if err := s.signOut(c); err != nil {
		return err
	}
	return seeOther(c, views.LoginURL)
}
