package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
)

type userJSON struct {
	UserID     string `json:"userId"`
	Email      string `json:"email"`
	Name       string `json:"name"`
	Admin      bool   `json:"admin"`
	CreatedAt  stamp  `json:"createdAt"`
	DisabledAt stamp  `json:"disabledAt"`
}

func newUserJSON(u accounts.User) userJSON {
	return userJSON{u.ID, u.Email, u.Name, u.Admin, stamp(u.CreatedAt), stamp(u.DisabledAt)}
}

func (s *Server) listUsers(c echo.Context) error {
	users, err := s.cfg.Accounts.Users(c.Request().Context())
	if err != nil {
		return err
	}
	items := make([]userJSON, 0, len(users))
	for _, u := range users {
		items = append(items, newUserJSON(u))
	}
	return sendJSON(c, http.StatusOK, list[userJSON]{items})
}

func (s *Server) createUser(c echo.Context) error {
	var given struct {
		Email    string `json:"email"`
		Name     string `json:"name"`
		Password string `json:"password"`
		Admin    bool   `json:"admin"`
	}
	if err := decodeJSON(c, &given); err != nil {
		return err
	}
	u, err := s.cfg.Accounts.AddUser(c.Request().Context(), given.Email, given.Name, given.Password, given.Admin)
	if err != nil {
		return err
	}
	s.audit(c, accounts.ActUserAdded, u.ID, "")
	return sendJSON(c, http.StatusCreated, newUserJSON(u))
}

// changeUser disables an account or lets it be used again.
func (s *Server) changeUser(c echo.Context) error {
	var change struct {
		Disabled *bool `json:"disabled"`
	}
	userID, err := id(c, "userId")
	if err != nil {
		return err
	}
	if err := decodeJSON(c, &change); err != nil {
		return err
	}
	if change.Disabled == nil {
		return invalid("disabled", "must be true or false")
	}
	if err := s.setDisabled(c, userID, *change.Disabled); err != nil {
		return err
	}
	return s.sendUser(c, userID)
}

func (s *Server) disableUser(c echo.Context) error {
	userID, err := id(c, "userId")
	if err != nil {
		return err
	}
	if err := s.setDisabled(c, userID, true); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// setDisabled refuses administrators their own account, so that the last one cannot lock everybody out.
func (s *Server) setDisabled(c echo.Context, userID string, disabled bool) error {
	ctx := c.Request().Context()
	switch {
	case !disabled:
		return s.auditUser(c, accounts.ActUserEnabled, userID, s.cfg.Accounts.Enable(ctx, userID))
	case userID == who(c).ID:
		return invalid("userId", "must not be your own account")
	default:
		return s.auditUser(c, accounts.ActUserDisabled, userID, s.cfg.Accounts.Disable(ctx, userID))
	}
}

// auditUser notes what was done to an account, unless it failed.
func (s *Server) auditUser(c echo.Context, action, userID string, err error) error {
	if err == nil {
		s.audit(c, action, userID, "")
	}
	return err
}

func (s *Server) sendUser(c echo.Context, userID string) error {
	u, err := s.userOf(c, userID)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, newUserJSON(u))
}
