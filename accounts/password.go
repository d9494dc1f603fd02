package accounts

import (
	"context"
	"fmt"
	"net/mail"
	"strings"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"golang.org/x/text/unicode/norm"
)

const (
	minPassword = 10   // characters; NIST SP 800-63B-4 section 3.1.1.2 asks for length, not for classes of characters
	maxPassword = 1024 // bytes
	maxEmail    = 254  // bytes, RFC 5321 section 4.5.3.1.3 less the angle brackets
	maxName     = 200  // characters
)

// DefaultHashParams are the least that OWASP's password storage cheat sheet recommends for argon2id:
// 19 MiB, two passes. More memory would let a handful of sign-ins outweigh the rest of the desk.
var DefaultHashParams = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// parallelHashes bounds the memory and the cores that sign-ins can take.
const parallelHashes = 2

// A hasher makes and checks password hashes, a few at a time.
type hasher struct {
	params *argon2id.Params
	slots  chan struct{}
	decoy  string // of no password; what an unknown account is checked against
}

func newHasher(params *argon2id.Params) *hasher {
	return &hasher{params: params, slots: make(chan struct{}, parallelHashes), decoy: decoyHash(params)}
}

// decoyHash costs as much to check as a real one, and is made without that cost: no password leads to
// a key of zeros.
func decoyHash(p *argon2id.Params) string {
	zeros := func(n uint32) string { return strings.Repeat("A", int(n*8+5)/6) } // unpadded base64
	return fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s", p.Memory, p.Iterations, p.Parallelism, zeros(p.SaltLength), zeros(p.KeyLength))
}

func (h *hasher) hash(ctx context.Context, password string) (hash string, err error) {
	err = h.inSlot(ctx, func() error {
		hash, err = argon2id.CreateHash(norm.NFKC.String(password), h.params)
		return err
	})
	return hash, err
}

// check reports whether the password is the one of the hash; stale means that the hash was made with
// other parameters than new ones are.
func (h *hasher) check(ctx context.Context, password, hash string) (ok, stale bool, err error) {
	if len(password) > maxPassword {
		password = "" // no account has this one, and hashing what a stranger sends is bounded
	}
	if hash == "" {
		hash = h.decoy
	}
	err = h.inSlot(ctx, func() error {
		var params *argon2id.Params
		ok, params, err = argon2id.CheckHash(norm.NFKC.String(password), hash)
		stale = err == nil && *params != *h.params
		return err
	})
	return ok, stale, err
}

func (h *hasher) inSlot(ctx context.Context, do func() error) error {
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-h.slots }()
	return do()
}

func checkUser(email, name, password string) error {
	if err := checkEmail(email); err != nil {
		return err
	}
	if err := checkName(name); err != nil {
		return err
	}
	return checkPassword(email, password)
}

func checkName(name string) error {
	if !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxName {
		return &InvalidError{"name", fmt.Sprintf("must be text of at most %d characters", maxName)}
	}
	return nil
}

func checkEmail(email string) error {
	addr, err := mail.ParseAddress(email)
	if err != nil || addr.Name != "" || addr.Address != email || len(email) > maxEmail {
		return &InvalidError{"email", "must be an address like name@example.org"}
	}
	return nil
}

// checkPassword asks for length alone, and that the password is not the first thing that anybody would try.
func checkPassword(email, password string) error {
	switch {
	case !utf8.ValidString(password):
		return &InvalidError{"password", "must be text"}
	case utf8.RuneCountInString(password) < minPassword:
		return &InvalidError{"password", fmt.Sprintf("must have at least %d characters", minPassword)}
	case len(password) > maxPassword:
		return &InvalidError{"password", fmt.Sprintf("must have at most %d bytes", maxPassword)}
	case strings.EqualFold(password, email):
		return &InvalidError{"password", "must not be the e-mail address"}
	case distinct(password) < 4:
		return &InvalidError{"password", "must not repeat so few characters"}
	}
	return nil
}

func distinct(s string) int {
	seen := map[rune]bool{}
	for _, r := range s {
		seen[r] = true
	}
	return len(seen)
}
