package mongo

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"filmroom/accounts"
	"filmroom/tasks"
)

// Accounts returns the store of users, tokens and sessions.
func (db *DB) Accounts() *Accounts { return &Accounts{db} }

// Accounts is an [accounts.Store].
type Accounts struct{ db *DB }

var _ accounts.Store = (*Accounts)(nil)

// firstSeat is taken by the account that was made as the first; all others sit on their own id. As seats
// are unique, of two first accounts at once the server lets in one.
const firstSeat = "first"

// AddUser implements [accounts.Store].
func (s *Accounts) AddUser(ctx context.Context, u accounts.User) error {
	return s.add(ctx, u, u.ID)
}

// AddFirstUser implements [accounts.Store].
func (s *Accounts) AddFirstUser(ctx context.Context, u accounts.User) error {
	has, err := s.HasUsers(ctx)
	if err != nil {
		return err
	}
	if has {
		return accounts.ErrNotFirst
	}
	err = s.add(ctx, u, firstSeat)
	if errors.Is(err, accounts.ErrEmailTaken) { // whoever took it, was here first
		return accounts.ErrNotFirst
	}
	return err
}

func (s *Accounts) add(ctx context.Context, u accounts.User, seat string) error {
	write, done, err := s.db.begun(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = s.db.users.InsertOne(write, docOfUser(u, seat))
	if driver.IsDuplicateKeyError(err) {
		return accounts.ErrEmailTaken
	}
	return wrap(err, "add user %s", u.ID)
}

func docOfUser(u accounts.User, seat string) userDoc {
	return userDoc{ID: u.ID, User: u, PasswordHash: u.PasswordHash, WebhookURL: u.WebhookURL, WebhookSecret: u.WebhookSecret, EmailKey: emailKey(u.Email), Seat: seat}
}

func (d userDoc) user() accounts.User {
	u := d.User
	u.PasswordHash, u.WebhookURL, u.WebhookSecret = d.PasswordHash, d.WebhookURL, d.WebhookSecret
	return u
}

func emailKey(email string) string { return strings.ToLower(email) }

// HasUsers implements [accounts.Store].
func (s *Accounts) HasUsers(ctx context.Context) (bool, error) {
	found, err := all[bson.D](ctx, s.db.users, with("_id", with("$gt", "")),
		options.Find().SetLimit(1).SetProjection(with("_id", 1)))
	return len(found) > 0, wrap(err, "look for users")
}

// User implements [accounts.Store].
func (s *Accounts) User(ctx context.Context, id string) (accounts.User, error) {
	doc, err := one[userDoc](ctx, s.db.users, with("_id", id), accounts.ErrNotFound)
	return doc.user(), wrap(err, "get user %s", id)
}

// UserByEmail implements [accounts.Store].
func (s *Accounts) UserByEmail(ctx context.Context, email string) (accounts.User, error) {
	doc, err := one[userDoc](ctx, s.db.users, with("emailKey", emailKey(email)), accounts.ErrNotFound)
	return doc.user(), wrap(err, "get a user by e-mail")
}

// Users implements [accounts.Store].
func (s *Accounts) Users(ctx context.Context) ([]accounts.User, error) {
	docs, err := all[userDoc](ctx, s.db.users, with("emailKey", with("$gte", "")), options.Find().SetSort(with("emailKey", 1)))
	users := make([]accounts.User, len(docs))
	for i, d := range docs {
		users[i] = d.user()
	}
	return users, wrap(err, "list users")
}

// UpdateUser implements [accounts.Store].
func (s *Accounts) UpdateUser(ctx context.Context, u accounts.User) error {
	return s.ending(ctx, "update user "+u.ID, func(ctx context.Context) error {
		result, err := s.db.users.UpdateOne(ctx, with("_id", u.ID), with("$set", bson.D{
			is("name", u.Name), is("admin", u.Admin), is("passwordHash", u.PasswordHash),
			is("email", u.Email), is("emailKey", emailKey(u.Email)), is("disabledAt", tasks.Millis(u.DisabledAt)),
			is("webhookUrl", u.WebhookURL), is("webhookSecret", u.WebhookSecret),
		}))
		if err != nil && s.taken(ctx, u) { // asked, because FerretDB 1 has no code for it in an update
			return accounts.ErrEmailTaken
		}
		if err == nil && result.MatchedCount == 0 {
			return accounts.ErrNotFound
		}
		return err
	})
}

// taken reports whether another account has the address of u.
func (s *Accounts) taken(ctx context.Context, u accounts.User) bool {
	holder, err := s.UserByEmail(ctx, u.Email)
	return err == nil && holder.ID != u.ID
}

// AddToken implements [accounts.Store].
func (s *Accounts) AddToken(ctx context.Context, t accounts.Token) error {
	write, done, err := s.db.begun(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = s.db.tokens.InsertOne(write, tokenDoc{ID: t.ID, Token: t, UserID: t.UserID, Hash: t.Hash})
	return wrap(err, "add token %s", t.ID)
}

func (d tokenDoc) token() accounts.Token {
	t := d.Token
	t.UserID, t.Hash = d.UserID, d.Hash
	return t
}

// Tokens implements [accounts.Store].
func (s *Accounts) Tokens(ctx context.Context, userID string) ([]accounts.Token, error) {
	docs, err := all[tokenDoc](ctx, s.db.tokens, with("userId", userID), options.Find().SetSort(with("_id", 1)))
	list := make([]accounts.Token, len(docs))
	for i, d := range docs {
		list[i] = d.token()
	}
	return list, wrap(err, "list the tokens of user %s", userID)
}

// TokenByHash implements [accounts.Store].
func (s *Accounts) TokenByHash(ctx context.Context, hash string) (accounts.Token, error) {
	doc, err := one[tokenDoc](ctx, s.db.tokens, with("hash", hash), accounts.ErrNotFound)
	return doc.token(), wrap(err, "get a token")
}

// DeleteToken implements [accounts.Store].
func (s *Accounts) DeleteToken(ctx context.Context, userID, tokenID string) error {
	return s.ending(ctx, "delete token "+tokenID, func(ctx context.Context) error {
		result, err := s.db.tokens.DeleteOne(ctx, bson.D{is("_id", tokenID), is("userId", userID)})
		if err == nil && result.DeletedCount == 0 {
			return accounts.ErrNotFound
		}
		return err
	})
}

// TokenUsed implements [accounts.Store].
func (s *Accounts) TokenUsed(ctx context.Context, tokenID string, at time.Time) error {
	write, done, err := s.db.begun(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = s.db.tokens.UpdateOne(write, with("_id", tokenID), with("$set", with("lastUsedAt", at.Truncate(time.Minute))))
	return wrap(err, "note the use of token %s", tokenID)
}
