package handlers

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
)

// setWebhook says where the ends of the person's tasks are told to. The secret that signs what is sent is shown
// this once.
func (s *Server) setWebhook(c echo.Context) error {
	var given struct {
		URL string `json:"url"`
	}
	if err := decodeJSON(c, &given); err != nil {
		return err
	}
	address := strings.TrimSpace(given.URL)
	if address == "" {
		return invalid("url", "must be an address like https://example.org/filmroom; DELETE ends the webhook")
	}
	secret, err := s.changeWebhook(c, address)
	if err != nil {
		return err
	}
	return sendJSON(c, http.StatusOK, map[string]string{"url": address, "secret": secret})
}

func (s *Server) deleteWebhook(c echo.Context) error {
	if _, err := s.changeWebhook(c, ""); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// changeWebhook does not tell the audit log the address: it may hold a key.
func (s *Server) changeWebhook(c echo.Context, address string) (secret string, err error) {
	userID := who(c).ID
	if secret, err = s.cfg.Accounts.SetWebhook(c.Request().Context(), userID, address); err != nil {
		return "", err
	}
	note := "set"
	if address == "" {
		note = "removed"
	}
	s.audit(c, accounts.ActWebhookSet, userID, note)
	return secret, nil
}
