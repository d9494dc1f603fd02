package imaging

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A sealer encrypts what an export must remember and nobody may read: keys, pseudonyms, offsets of dates. It
// is AES-256-GCM under the desk's key, bound to the task's id, so that it opens for no other task.
type sealer struct {
	aead cipher.AEAD
	key  []byte
}

func newSealer(key []byte) (*sealer, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("the desk's key has %d bytes: it must have 32", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &sealer{aead, key}, err
}

// named is the key that a person keeps under a name. It is derived from the desk's key, so that there is
// nothing to store or to lose: as long as the desk can open what it sealed, the same name is the same key.
func (s *sealer) named(userID, name string) ([]byte, error) {
	return hkdf.Key(sha256.New, s.key, nil, "filmroom export key\x00"+userID+"\x00"+name, 32)
}

// naming is a keyed sum of the pseudonyms that a request asks for, hex; "" for none. It stands in the task's arguments, so that
// two requests that differ in them alone are not taken for one, and says nothing to those who lack the desk's key.
func (s *sealer) naming(userID string, r ExportRequest) string {
	if len(r.Pseudonyms) == 0 && r.PseudonymPrefix == "" {
		return ""
	}
	text, _ := json.Marshal([]any{userID, r.PseudonymPrefix, r.Pseudonyms}) // sorts the map; such values never fail
	sum := hmac.New(sha256.New, s.key)
	sum.Write(append([]byte("filmroom pseudonyms\x00"), text...))
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// maxKeyName bounds the name of a key, in bytes.
const maxKeyName = 64

// checkKey says what is wrong with the name of a key, "" being none.
func checkKey(name string) (wrong FieldErrors) {
	if len(name) > maxKeyName || strings.TrimSpace(name) != name || !utf8.ValidString(name) || displayable(name) != name {
		wrong.add("key", fmt.Sprintf("a key's name has at most %d bytes, no control characters and no space around it", maxKeyName))
	}
	return wrong
}

func (s *sealer) seal(taskID string, secret any) ([]byte, error) {
	plain, err := json.Marshal(secret)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return s.aead.Seal(nil, nil, plain, []byte(taskID)), nil
}

func (s *sealer) open(taskID string, sealed []byte, secret any) error {
	plain, err := s.aead.Open(nil, nil, sealed, []byte(taskID))
	if err != nil {
		return errors.New("the sealed arguments do not open: the desk's key has changed")
	}
	return json.Unmarshal(plain, secret)
}

// newKey makes a random key of 32 bytes.
func newKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return key
}
