package sqlite

import (
	"encoding/base64"
	"encoding/json"
)

// A cursor says where a list goes on: behind the row with this id, which had this key under this sort.
// Cursors stand in URLs, so a key must not tell of a patient; such lists leave it empty and look it up.
type cursor struct {
	sort string
	key  int64
	id   string
}

func (c cursor) String() string {
	text, _ := json.Marshal([]any{c.sort, c.key, c.id})
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor reads what String wrote for the same sort.
func parseCursor(text, sort string) (c cursor, ok bool) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return c, false
	}
	err = json.Unmarshal(decoded, &[]any{&c.sort, &c.key, &c.id})
	return c, err == nil && c.sort == sort && c.id != ""
}
