package handlers

import (
	"crypto/rand"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
	"filmroom/views"
)

func (s *Server) usersPage(c echo.Context) error {
	if err := query(c).done(); err != nil {
		return err
	}
	return s.showUsers(c, http.StatusOK, views.Users{})
}

func (s *Server) showUsers(c echo.Context, status int, left views.Users) error {
	all, err := s.cfg.Accounts.Users(c.Request().Context())
	if err != nil {
		return err
	}
	return s.render(c, status, views.UsersPage(views.NewUsers(s.frame(c), all, left)))
}

// addUserFromPage makes an account with a password that is shown this once.
func (s *Server) addUserFromPage(c echo.Context) error {
	p, err := form(c)
	if err != nil {
		return err
	}
	typed := views.UserForm{Email: p.text("email"), Name: p.text("name")}
	if admin := p.flag("admin"); admin != nil {
		typed.Admin = *admin
	}
	if err := p.done(); err != nil {
		return err
	}
	password := strings.ToLower(rand.Text()[:20])
	u, err := s.cfg.Accounts.AddUser(c.Request().Context(), typed.Email, typed.Name, password, typed.Admin)
	if err != nil {
		f, known := faultOf(err)
		if !known {
			return err
		}
		typed.Error = f.text()
		return s.showUsers(c, f.status, views.Users{Typed: typed})
	}
	s.audit(c, accounts.ActUserAdded, u.ID, "")
	return s.showUsers(c, http.StatusOK, views.Users{Secret: views.Secret{Of: u.Email, Value: password}})
}

func (s *Server) userPage(c echo.Context) error {
	if err := query(c).done(); err != nil {
		return err
	}
	return s.showUser(c, http.StatusOK, views.User{})
}

func (s *Server) showUser(c echo.Context, status int, left views.User) error {
	userID, err := id(c, "userId")
	if err != nil {
		return err
	}
	u, err := s.userOf(c, userID)
	if err != nil {
		return err
	}
	tokens, err := s.cfg.Accounts.Tokens(c.Request().Context(), userID)
	if err != nil {
		return err
	}
	return s.render(c, status, views.UserPage(views.NewUser(s.frame(c), u, tokens, left)))
}

// userAction does something to the account that the route names, and shows it.
func (s *Server) userAction(do func(c echo.Context, userID string) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		userID, err := id(c, "userId")
		if err != nil {
			return err
		}
		if err := noBody(c); err != nil {
			return err
		}
		err = do(c, userID)
		if f, known := faultOf(err); err != nil && known && (f.status == http.StatusUnprocessableEntity || f.status == http.StatusConflict) {
			return s.showUser(c, f.status, views.User{Error: f.text()})
		}
		if err != nil {
			return err
		}
		return seeOther(c, views.UserURL(userID))
	}
}

// changeUserFromPage takes the form with name and right, and shows it again with what is wrong.
func (s *Server) changeUserFromPage(c echo.Context) error {
	userID, err := id(c, "userId")
	if err != nil {
		return err
	}
	p, err := form(c)
	if err != nil {
		return err
	}
	name, admin := p.text("name"), p.flag("admin")
	if err := p.done(); err != nil {
		return err
	}
	change := accounts.UserChange{Name: &name}
	if userID != who(c).ID { // one's own has no such box
		is := admin != nil && *admin
		change.Admin = &is
	}
	err = s.setUser(c, userID, change)
	if f, known := faultOf(err); err != nil && known && (f.status == http.StatusUnprocessableEntity || f.status == http.StatusConflict) {
		return s.showUser(c, f.status, views.User{Error: f.text()})
	}
	if err != nil {
		return err
	}
	return seeOther(c, views.UserURL(userID))
}

func (s *Server) disableFromPage(c echo.Context, userID string) error {
	return s.setDisabled(c, userID, true)
}

func (s *Server) enableFromPage(c echo.Context, userID string) error {
	return s.setDisabled(c, userID, false)
}

// resetPasswordFromPage shows the new password this once.
func (s *Server) resetPasswordFromPage(c echo.Context) error {
	userID, err := id(c, "userId")
	if err != nil {
		return err
	}
	if err := noBody(c); err != nil {
		return err
	}
	u, err := s.userOf(c, userID)
	if err != nil {
		return err
	}
	password, err := s.newPassword(c, userID)
	if err != nil {
		return err
	}
	return s.showUser(c, http.StatusOK, views.User{Secret: views.Secret{Of: u.Email, Value: password}})
}

func (s *Server) auditPage(c echo.Context) error {
	p := query(c)
	shown := views.AuditQuery{UserID: p.text("userId"), Action: p.text("action"), Target: p.text("target"),
		From: p.day("from"), To: p.day("to"), Cursor: p.text("cursor")}
	q, err := s.auditQuery(c.Request().Context(), p)
	if err != nil {
		return err
	}
	page, err := s.readAudit(c, q)
	if err != nil {
		return err
	}
	people, err := s.cfg.Accounts.Users(c.Request().Context())
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, views.AuditPage(views.NewAudit(s.frame(c), shown, page, people)))
}
