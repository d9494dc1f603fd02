package imaging

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
)

// A sealer encrypts what an export must remember and nobody may read: keys, pseudonyms, offsets of dates. It
// is AES-256-GCM under the desk's key, bound to the task's id, so that it opens for no other task.
type sealer struct{ aead cipher.AEAD }

func newSealer(key []byte) (*sealer, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("the desk's key has %d bytes: it must have 32", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &sealer{aead}, err
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
