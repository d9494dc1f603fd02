package views

import (
	"time"

	"filmroom/accounts"
)

// A Login is the sign-in page.
type Login struct {
	Frame
	Email string // as typed before
	After string // where to go afterwards
	Error string
	Said  string // why one is here, "" for no special reason
}

// NewLogin makes the sign-in page.
func NewLogin(f Frame, l Login) Login {
	f.title = "Sign in"
	l.Frame = f
	return l
}

// A Setup is the page that makes the first account. Its secret comes in the address's fragment, so the page
// itself does not know it.
type Setup struct {
	Frame
	Email, Name, Secret string // as typed before
	Error               string
}

// NewSetup makes the set-up page.
func NewSetup(f Frame, s Setup) Setup {
	f.title = "Set up"
	s.Frame = f
	return s
}

// An Account is a person's own page.
type Account struct {
	Frame
	Tokens        []TokenRow
	NewToken      string // shown this once
	NewTokenName  string
	TokenName     string // as typed before
	TokenError    string
	PasswordError string
	OtherSessions int // -1: not known

	Webhook       string // where the ends of tasks are told, "" for nowhere; as typed after a refusal
	WebhookSecret string // shown this once
	WebhookError  string
}

// A TokenRow is an API token.
type TokenRow struct {
	ID, Name string
	Created  When
	Used     When // zero: never
}

// NewAccount makes the account page; a and its errors are what the last action left, mostly zero.
func NewAccount(f Frame, tokens []accounts.Token, a Account) Account {
	f.title, f.section = "Account", SectionAccount
	a.Frame = f
	a.Tokens = nil
	for _, t := range tokens {
		a.Tokens = append(a.Tokens, newTokenRow(t, f.Now))
	}
	return a
}

func newTokenRow(t accounts.Token, now time.Time) TokenRow {
	return TokenRow{ID: t.ID, Name: t.Name, Created: NewWhen(t.CreatedAt, now), Used: NewWhen(t.LastUsedAt, now)}
}

// MinPassword is the least length of a password, in characters.
const MinPassword = 10
