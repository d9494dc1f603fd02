package accounts

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrBadCredentials: the e-mail address, password or token is wrong, or the account is disabled;
	// callers cannot tell which.
	ErrBadCredentials = errors.New("the e-mail address or password is wrong")
	// ErrLastAdmin: without this administrator the desk would have none.
	ErrLastAdmin = errors.New("this is the last administrator: make somebody else one first")
	// ErrSetupToken: the one-time set-up link is not, or no longer, the right one.
	ErrSetupToken = errors.New("this set-up link is not valid: use the one that the desk printed when it was last started")
)

// A RateLimitedError refuses an attempt to sign in that came too soon after others for the same account
// from the same address.
type RateLimitedError struct {
	RetryAfter time.Duration // until the next attempt is let through
}

func (e *RateLimitedError) Error() string {
	return fmt.Sprintf("too many attempts: try again in %v", e.RetryAfter.Round(time.Second))
}

// An InvalidError names what is wrong with one field that a person filled in.
type InvalidError struct {
	Field  string // "email", "name", "password" or "url"
	Reason string // a clause for people: "must have at least 10 characters"
}

func (e *InvalidError) Error() string { return e.Field + " " + e.Reason }
