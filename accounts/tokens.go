package accounts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"
)

// TokenPrefix begins every API token, so that people and secret scanners recognise one.
const TokenPrefix = "frm_"

const (
	maxTokens    = 100 // of one user
	maxTokenName = 100 // characters
	usedEvery    = time.Minute
)

// CreateToken makes an API token and returns its text, which is shown this once and kept nowhere.
func (s *Service) CreateToken(ctx context.Context, userID, name string) (Token, string, error) {
	if _, err := s.User(ctx, userID); err != nil {
		return Token{}, "", err
	}
	name = strings.TrimSpace(name)
	if err := checkTokenName(name); err != nil {
		return Token{}, "", err
	}
	has, err := s.store.Tokens(ctx, userID)
	if err != nil {
		return Token{}, "", err
	}
	if len(has) >= maxTokens {
		return Token{}, "", &InvalidError{"name", fmt.Sprintf("cannot be given: you have %d tokens already, delete one first", maxTokens)}
	}
	now := millis(s.now())
	text := TokenPrefix + rand.Text()
	t := Token{
		ID:     ulid.MustNew(ulid.Timestamp(now), ulid.DefaultEntropy()).String(),
		UserID: userID, Name: name, Hash: hashed(text), CreatedAt: now,
	}
	return t, text, s.store.AddToken(ctx, t)
}

// DeleteToken ends one of a user's tokens and the streams opened with it; [ErrNotFound] when they have
// no such token.
func (s *Service) DeleteToken(ctx context.Context, userID, tokenID string) error {
	defer s.watch.look()
	return s.store.DeleteToken(ctx, userID, tokenID)
}

// Authenticate returns whom an API token acts for, or [ErrBadCredentials]. bearer is the token alone.
func (s *Service) Authenticate(ctx context.Context, bearer string) (User, Token, error) {
	if !strings.HasPrefix(bearer, TokenPrefix) {
		return User{}, Token{}, ErrBadCredentials
	}
	t, err := s.store.TokenByHash(ctx, hashed(bearer))
	if err != nil {
		return User{}, Token{}, refuse(err)
	}
	u, err := s.User(ctx, t.UserID)
	if err != nil {
		return User{}, Token{}, refuse(err)
	}
	if now := s.now(); now.Sub(t.LastUsedAt) >= usedEvery {
		t.LastUsedAt = millis(now)
		if err := s.store.TokenUsed(ctx, t.ID, t.LastUsedAt); err != nil {
			s.log.WarnContext(ctx, "the use of a token was not noted", "tokenId", t.ID, "error", err)
		}
	}
	return u, t, nil
}

// refuse makes whatever is missing look the same from outside.
func refuse(err error) error {
	if errors.Is(err, ErrNotFound) {
		return ErrBadCredentials
	}
	return err
}

func checkTokenName(name string) error {
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxTokenName || strings.ContainsFunc(name, unicode.IsControl) {
		return &InvalidError{"name", fmt.Sprintf("must be one line of 1 to %d characters", maxTokenName)}
	}
	return nil
}

// hashed is how secrets of full entropy are kept; unlike a password they need no slow hash.
func hashed(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
