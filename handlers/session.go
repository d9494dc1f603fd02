package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
)

// createSession signs a browser in that speaks JSON.
func (s *Server) createSession(c echo.Context) error {
	var given struct {
		Email    string `json:"email"`
		Password string `json:"password"`
	}
	if err := decodeJSON(c, &given); err != nil {
		return err
	}
	u, err := s.cfg.Accounts.SignIn(c.Request().Context(), given.Email, given.Password, c.RealIP())
	if err != nil {
		s.auditRefused(c, given.Email)
		return err
	}
	if err := s.signIn(c, u); err != nil {
		return err
	}
	s.audit(c, accounts.ActSignIn, u.ID, "")
	return c.NoContent(http.StatusNoContent)
}

func (s *Server) deleteSession(c echo.Context) error {
	s.auditSignOut(c)
	if err := s.signOut(c); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (s *Server) me(c echo.Context) error {
	v := who(c)
	return sendJSON(c, http.StatusOK, struct {
		UserID string `json:"userId"`
		Email  string `json:"email"`
		Name   string `json:"name"`
		Admin  bool   `json:"admin"`
	}{v.ID, v.Email, v.Name, v.Admin})
}

type tokenJSON struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Token      string `json:"token,omitempty"` // this once, when it was made
	CreatedAt  stamp  `json:"createdAt"`
	LastUsedAt stamp  `json:"lastUsedAt"`
}

func (s *Server) listTokens(c echo.Context) error {
	tokens, err := s.cfg.Accounts.Tokens(c.Request().Context(), who(c).ID)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, newTokensJSON(tokens))
}

func newTokensJSON(tokens []accounts.Token) list[tokenJSON] {
	items := make([]tokenJSON, 0, len(tokens))
	for _, t := range tokens {
		items = append(items, tokenJSON{ID: t.ID, Name: t.Name, CreatedAt: stamp(t.CreatedAt), LastUsedAt: stamp(t.LastUsedAt)})
	}
	return list[tokenJSON]{items}
}

func (s *Server) createToken(c echo.Context) error {
	var given struct {
		Name string `json:"name"`
	}
	if err := decodeJSON(c, &given); err != nil {
		return err
	}
	t, text, err := s.cfg.Accounts.CreateToken(c.Request().Context(), who(c).ID, given.Name)
	if err != nil {
		return err
	}
	s.audit(c, accounts.ActTokenCreated, t.ID, "")
	return sendJSON(c, http.StatusCreated, tokenJSON{ID: t.ID, Name: t.Name, Token: text, CreatedAt: stamp(t.CreatedAt)})
}

func (s *Server) deleteToken(c echo.Context) error {
	if err := s.revoke(c, who(c).ID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
