package sqlite

import (
	"context"
	"strings"
	"time"

	"filmroom/accounts"
	"filmroom/sqlite/internal/lite"
)

// Accounts returns the store of people.
func (db *DB) Accounts() accounts.Store { return &accountStore{db} }

type accountStore struct{ db *DB }

var userColumns = codec[accounts.User]{
	textColumn("userId", func(u *accounts.User) *string { return &u.ID }),
	textColumn("email", func(u *accounts.User) *string { return &u.Email }),
	textColumn("name", func(u *accounts.User) *string { return &u.Name }),
	boolColumn("admin", func(u *accounts.User) *bool { return &u.Admin }),
	textColumn("passwordHash", func(u *accounts.User) *string { return &u.PasswordHash }),
	timeColumn("disabledAt", func(u *accounts.User) *time.Time { return &u.DisabledAt }),
	timeColumn("createdAt", func(u *accounts.User) *time.Time { return &u.CreatedAt }),
	textColumn("webhookUrl", func(u *accounts.User) *string { return &u.WebhookURL }),
	textColumn("webhookSecret", func(u *accounts.User) *string { return &u.WebhookSecret }),
	{
		name: "emailFold",
		bind: func(s *lite.Stmt, u *accounts.User) { s.Text(strings.ToLower(u.Email)) },
		read: func(s *lite.Stmt, _ *accounts.User) { s.Skip() },
	},
}

var (
	insertUser        = userColumns.insertInto("users")
	selectUser        = "SELECT " + userColumns.names() + " FROM users WHERE userId = ?"
	selectUserByEmail = "SELECT " + userColumns.names() + " FROM users WHERE emailFold = ?"
	selectUsers       = "SELECT " + userColumns.names() + " FROM users ORDER BY emailFold"
)

const (
	anyUser      = "SELECT EXISTS (SELECT 1 FROM users)"
	updateUser   = "UPDATE users SET name = ?, admin = ?, passwordHash = ?, email = ?, emailFold = ?, disabledAt = ?, webhookUrl = ?, webhookSecret = ? WHERE userId = ?"
	raiseVersion = "UPDATE accounts_version SET version = version + 1 WHERE one = 1"
	readVersion  = "SELECT version FROM accounts_version WHERE one = 1"
)

func (s *accountStore) AddUser(ctx context.Context, u accounts.User) error {
	err := s.db.write(ctx, func(tx *tx) error { return addUser(tx, &u) })
	return wrap(err, "add account", u.ID)
}

func (s *accountStore) AddFirstUser(ctx context.Context, u accounts.User) error {
	err := s.db.write(ctx, func(tx *tx) error {
		if any, err := number(tx.Stmt(anyUser)); err != nil {
			return err
		} else if any != 0 {
			return accounts.ErrNotFirst
		}
		return addUser(tx, &u)
	})
	return wrap(err, "add first account", u.ID)
}

func addUser(tx *tx, u *accounts.User) error {
	err := userColumns.bind(tx.Stmt(insertUser), u).Run()
	if lite.Unique(err) {
		return emailTaken(tx, u, err)
	}
	return err
}

// emailTaken tells a broken unique index of the address from that of the id.
func emailTaken(tx *tx, u *accounts.User, err error) error {
	holder, lookup := userColumns.one(tx.Stmt(selectUserByEmail).Text(strings.ToLower(u.Email)), accounts.ErrNotFound)
	if lookup == nil && holder.ID != u.ID {
		return accounts.ErrEmailTaken
	}
	return err
}

func (s *accountStore) HasUsers(ctx context.Context) (has bool, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		n, err := number(c.Stmt(anyUser))
		has = n != 0
		return err
	})
	return has, wrap(err, "look for accounts", "")
}

func (s *accountStore) User(ctx context.Context, id string) (u accounts.User, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		u, err = userColumns.one(c.Stmt(selectUser).Text(id), accounts.ErrNotFound)
		return err
	})
	return u, wrap(err, "get account", "")
}

func (s *accountStore) UserByEmail(ctx context.Context, email string) (u accounts.User, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		u, err = userColumns.one(c.Stmt(selectUserByEmail).Text(strings.ToLower(email)), accounts.ErrNotFound)
		return err
	})
	return u, wrap(err, "get account by e-mail", "")
}

func (s *accountStore) Users(ctx context.Context) (all []accounts.User, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		all, err = userColumns.all(c.Stmt(selectUsers))
		return err
	})
	return all, wrap(err, "list accounts", "")
}

func (s *accountStore) UpdateUser(ctx context.Context, u accounts.User) error {
	err := s.db.write(ctx, func(tx *tx) error {
		n, err := tx.Stmt(updateUser).Text(u.Name).Bool(u.Admin).Text(u.PasswordHash).Text(u.Email).
			Text(strings.ToLower(u.Email)).Time(u.DisabledAt).Text(u.WebhookURL).Text(u.WebhookSecret).Text(u.ID).Changes()
		if lite.Unique(err) {
			return accounts.ErrEmailTaken
		}
		return ended(tx, n, err)
	})
	return wrap(err, "update account", u.ID)
}

// ended raises the version when a write changed something, else says that there was nothing to change.
func ended(tx *tx, n int, err error) error {
	if err != nil {
		return err
	}
	if n == 0 {
		return accounts.ErrNotFound
	}
	return tx.Do(raiseVersion)
}

func (s *accountStore) Version(ctx context.Context) (version int64, err error) {
	err = s.db.read(ctx, func(c *lite.Conn) error {
		version, err = number(c.Stmt(readVersion))
		return err
	})
	return version, wrap(err, "read the accounts' version", "")
}

// number reads the first column of the first row; no row is 0.
func number(s *lite.Stmt) (n int64, err error) {
	if s.Next() {
		n = s.ReadInt()
	}
	return n, s.Err()
}
