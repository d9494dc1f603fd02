package mongo

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// A place is where a page ended: at which value of the field that it is sorted by, at which document.
type place struct {
	Value string `json:"v"`
	ID    string `json:"i"`
}

// A seal encrypts cursors under a key that the database keeps, so that all processes read each other's. A
// cursor holds the last row's value, so that it stays good when that row goes; that may be a patient's
// name, and cursors stand in URLs.
type seal struct{ aead cipher.AEAD }

const keyID = "cursors"

type keyDoc struct {
	ID  string `bson:"_id"`
	Key []byte `bson:"key"`
}

func (db *DB) readSeal(ctx context.Context) error {
	doc, err := one[keyDoc](ctx, db.meta, with("_id", keyID), nil)
	if err != nil {
		return wrap(err, "read the key of cursors")
	}
	block, err := aes.NewCipher(doc.Key)
	if err != nil {
		return fmt.Errorf("the key of cursors in the collection meta is damaged: delete the document %q and the "+
			"schema's version beside it, and start again", keyID)
	}
	db.seal.aead, err = cipher.NewGCMWithRandomNonce(block)
	return err
}

func (s seal) cursor(sort string, p place) string {
	text, _ := json.Marshal(p) // two strings are always JSON
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(sort)))
}

// place reads a cursor of a list under sort; ok is false when it is none.
func (s seal) place(sort, cursor string) (p place, ok bool) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return place{}, false
	}
	text, err := s.aead.Open(nil, nil, sealed, []byte(sort))
	if err != nil {
		return place{}, false
	}
	err = json.Unmarshal(text, &p)
	return p, err == nil
}

// An order is a sort as the server is asked for it.
type order struct {
	sort  string // as the caller names it
	field string
	times bool // the field holds a time
}

// step is 1 for ascending and -1 for descending.
func (o order) step() int {
	if strings.HasPrefix(o.sort, "-") {
		return -1
	}
	return 1
}

// by is the server's sort; ids break ties in the same direction.
func (o order) by() bson.D { return bson.D{is(o.field, o.step()), is("_id", o.step())} }

// after is the filter for what follows a place; ok is false when the place cannot be one of this order. The
// range on the field alone is what gives an index its bounds.
func (o order) after(p place) (filter bson.D, ok bool) {
	var value any = p.Value
	if o.times {
		ms, err := strconv.ParseInt(p.Value, 10, 64)
		if err != nil {
			return nil, false
		}
		value = time.UnixMilli(ms)
	}
	beyond, reached := "$gt", "$gte"
	if o.step() < 0 {
		beyond, reached = "$lt", "$lte"
	}
	return bson.D{
		is(o.field, with(reached, value)),
		is("$or", bson.A{with(o.field, with(beyond, value)), with("_id", with(beyond, p.ID))}),
	}, true
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
