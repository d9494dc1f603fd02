package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
)

// resetPassword gives an account a new password, which is shown this once, and signs it out everywhere.
func (s *Server) resetPassword(c echo.Context) error {
	userID, err := id(c, "userId")
	if err != nil {
		return err
	}
	if err := noBody(c); err != nil {
		return err
	}
	password, err := s.newPassword(c, userID)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, map[string]string{"password": password})
}

func (s *Server) newPassword(c echo.Context, userID string) (string, error) {
	password, err := s.cfg.Accounts.ResetPassword(c.Request().Context(), userID)
	if err == nil {
		s.audit(c, accounts.ActPasswordReset, userID, "")
	}
	return password, err
}

// signOutUser ends all sessions of an account. Its tokens stay.
func (s *Server) signOutUser(c echo.Context) error {
	userID, err := id(c, "userId")
	if err != nil {
		return err
	}
	if err := noBody(c); err != nil {
		return err
	}
	if err := s.endSessionsOf(c, userID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (s *Server) endSessionsOf(c echo.Context, userID string) error {
	if err := s.knownUser(c, userID); err != nil {
		return err
	}
	if err := s.cfg.Accounts.SignOutEverywhere(c.Request().Context(), userID); err != nil {
		return err
	}
	s.audit(c, accounts.ActSignOutEverywhere, userID, "")
	return nil
}

func (s *Server) listUserTokens(c echo.Context) error {
	userID, err := id(c, "userId")
	if err != nil {
		return err
	}
	if err := s.knownUser(c, userID); err != nil {
		return err
	}
	tokens, err := s.cfg.Accounts.Tokens(c.Request().Context(), userID)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, newTokensJSON(tokens))
}

func (s *Server) revokeUserToken(c echo.Context) error {
	userID, err := id(c, "userId")
	if err != nil {
		return err
	}
	if err := s.revoke(c, userID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// revoke ends the token that the route names.
func (s *Server) revoke(c echo.Context, userID string) error {
	tokenID, err := id(c, "id")
	if err != nil {
		return err
	}
	if err := s.cfg.Accounts.DeleteToken(c.Request().Context(), userID, tokenID); err != nil {
		return err
	}
	s.audit(c, accounts.ActTokenRevoked, tokenID, "")
	return nil
}

// knownUser finds out whether there is such an account, disabled or not.
func (s *Server) knownUser(c echo.Context, userID string) error {
	_, err := s.userOf(c, userID)
	return err
}

func (s *Server) userOf(c echo.Context, userID string) (accounts.User, error) {
	users, err := s.cfg.Accounts.Users(c.Request().Context())
	if err != nil {
		return accounts.User{}, err
	}
	for _, u := range users {
		if u.ID == userID {
			return u, nil
		}
	}
	return accounts.User{}, errNotHere
}
