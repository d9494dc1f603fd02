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

// changeUser changes what is given of an account: its name, whether it is an administrator's, whether it may be used.
func (s *Server) changeUser(c echo.Context) error {
	var given struct {
		Name     *string `json:"name"`
		Admin    *bool   `json:"admin"`
		Disabled *bool   `json:"disabled"`
	}
	userID, err := id(c, "userId")
	if err != nil {
		return err
	}
	if err := decodeJSON(c, &given); err != nil {
		return err
	}
	if given.Name == nil && given.Admin == nil && given.Disabled == nil {
		return invalid("disabled", "or name or admin must be given: there is nothing to change")
	}
	if err := s.setUser(c, userID, accounts.UserChange(given)); err != nil {
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

func (s *Server) setDisabled(c echo.Context, userID string, disabled bool) error {
	return s.setUser(c, userID, accounts.UserChange{Disabled: &disabled})
}

// setUser changes an account and notes what was changed. Administrators can take neither the right nor the account from
// themselves: a slip would lock them out.
func (s *Server) setUser(c echo.Context, userID string, change accounts.UserChange) error {
	own := userID == who(c).ID
	if own && change.Disabled != nil && *change.Disabled {
		return invalid("userId", "must not be your own account")
	}
	if own && change.Admin != nil && !*change.Admin {
		return invalid("admin", "must not be taken from your own account: let another administrator do it")
	}
	if err := s.cfg.Accounts.ChangeUser(c.Request().Context(), userID, change); err != nil {
		return err
	}
	if change.Disabled != nil {
		s.audit(c, map[bool]string{true: accounts.ActUserDisabled, false: accounts.ActUserEnabled}[*change.Disabled], userID, "")
	}
	if change.Name != nil {
		s.audit(c, accounts.ActUserChanged, userID, "name")
	}
	if change.Admin != nil {
		s.audit(c, accounts.ActUserChanged, userID, map[bool]string{true: "administrator", false: "no administrator"}[*change.Admin])
	}
	return nil
}

func (s *Server) sendUser(c echo.Context, userID string) error {
	u, err := s.userOf(c, userID)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, newUserJSON(u))
}
