package accounts

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"strings"
	"unicode"
)

// maxWebhookURL is the longest address that a webhook is sent to, in bytes.
const maxWebhookURL = 2048

// ResetPassword gives an account a new random password, for an administrator to hand over, and ends all
// its sessions. API tokens stay: they are revoked one by one.
func (s *Service) ResetPassword(ctx context.Context, userID string) (newPassword string, err error) {
	newPassword = newPasswordText()
	hash, err := s.hasher.hash(ctx, newPassword)
	if err != nil {
		return "", err
	}
	if err := s.update(ctx, userID, func(u *User) { u.PasswordHash = hash }); err != nil {
		return "", err
	}
	return newPassword, s.EndSessions(ctx, userID, "")
}

// newPasswordText is easy to read out: 100 random bits in groups of small letters and digits.
func newPasswordText() string {
	text := strings.ToLower(rand.Text()[:20])
	return strings.Join([]string{text[:5], text[5:10], text[10:15], text[15:]}, "-")
}

// SignOutEverywhere ends all sessions of an account and their streams. API tokens stay.
func (s *Service) SignOutEverywhere(ctx context.Context, userID string) error {
	return s.EndSessions(ctx, userID, "")
}

// SetWebhook says where to tell of the ends of a user's tasks, and returns a new secret to check the
// signatures with. It is shown this once. An empty address ends the telling.
func (s *Service) SetWebhook(ctx context.Context, userID, address string) (secret string, err error) {
	address = strings.TrimSpace(address)
	if address != "" {
		if err := checkWebhook(address); err != nil {
			return "", err
		}
		secret = WebhookSecretPrefix + rand.Text()
	}
	if _, err := s.User(ctx, userID); err != nil {
		return "", err
	}
	err = s.update(ctx, userID, func(u *User) { u.WebhookURL, u.WebhookSecret = address, secret })
	if err != nil {
		return "", err
	}
	return secret, nil
}

// Webhook returns where to tell of the ends of a user's tasks and what to sign with; empty for users without
// one and for accounts that may not be used.
func (s *Service) Webhook(ctx context.Context, userID string) (address, secret string, err error) {
	u, err := s.User(ctx, userID)
	if errors.Is(err, ErrNotFound) {
		return "", "", nil
	}
	return u.WebhookURL, u.WebhookSecret, err
}

// WebhookSecretPrefix begins every secret of a webhook, so that people and secret scanners recognise one.
const WebhookSecretPrefix = "frs_"

// checkWebhook looks at the address alone. Where it leads is checked when it is dialled.
func checkWebhook(address string) error {
	u, err := url.Parse(address)
	switch {
	case len(address) > maxWebhookURL || strings.ContainsFunc(address, unicode.IsControl):
		return &InvalidError{"url", "must be at most 2048 bytes without line breaks"}
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return &InvalidError{"url", "must be an address like https://example.org/filmroom"}
	case u.User != nil:
		return &InvalidError{"url", "must hold no name or password: requests are signed instead"}
	case u.Fragment != "":
		return &InvalidError{"url", "must not have a part after #"}
	}
	return nil
}
