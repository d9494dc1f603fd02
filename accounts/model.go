package accounts

import "time"

// A User is a person with an account. The id never changes; the e-mail is an attribute.
type User struct {
	ID           string    `json:"userId"` // ULID
	Email        string    `json:"email"`  // unique without regard to case; kept as typed
	Name         string    `json:"name"`
	Admin        bool      `json:"admin"`
	PasswordHash string    `json:"-"` // argon2id, PHC string
	DisabledAt   time.Time `json:"disabledAt,omitzero"`
	CreatedAt    time.Time `json:"createdAt"`

	WebhookURL    string `json:"-"` // told of the ends of the user's tasks; "" for nobody. It may hold a key
	WebhookSecret string `json:"-"` // what those requests are signed with
}

// Disabled reports whether the account may no longer be used.
func (u *User) Disabled() bool { return !u.DisabledAt.IsZero() }

// A Token lets a program act as its user. Only its hash is kept.
type Token struct {
	ID         string    `json:"id"` // ULID
	UserID     string    `json:"-"`
	Name       string    `json:"name"`
	Hash       string    `json:"-"` // SHA-256 of the token, hex
	CreatedAt  time.Time `json:"createdAt"`
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"` // to the minute
}

// A Session is one signed-in browser. Only the hash of its cookie is kept.
type Session struct {
	Hash      string // SHA-256 of the cookie's value, hex
	UserID    string // "" until somebody signs in
	Data      []byte // what the session manager keeps in it
	ExpiresAt time.Time
}
