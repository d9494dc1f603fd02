package sqlite

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"

	"filmroom/sqlite/internal/lite"
)

// A seal encrypts the cursors of a library under a key of the file's own. A cursor holds what the last
// row had under the sort, so that it stays good when that row is deleted; that may be a patient's name,
// and cursors stand in URLs.
type seal struct{ aead cipher.AEAD }

const selectSecret = "SELECT secret FROM secrets WHERE name = 'cursor'"

func newSeal(c *lite.Conn) (*seal, error) {
	s := c.Stmt(selectSecret)
	var key []byte
	if s.Next() {
		key = s.ReadBytes()
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, errors.New("its key for cursors is damaged")
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &seal{aead}, err
}

func (s *seal) cursor(sort string, at spot) string {
	text, _ := json.Marshal(at) // a string and a number always are JSON
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(sort)))
}

// open reads what cursor wrote for the same sort.
func (s *seal) open(cursor, sort string) (at spot, ok bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return at, false
	}
	text, err := s.aead.Open(nil, nil, sealed, []byte(sort))
	return at, err == nil && json.Unmarshal(text, &at) == nil
}
