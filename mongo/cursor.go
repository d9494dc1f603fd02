package mongo

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// A place is where a page ended: under which sort, at which value of its field, at which document.
type place struct {
	Sort  string `json:"s"`
	Value string `json:"v"`
	ID    string `json:"i"`
}

func (p place) cursor() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // three strings are always JSON
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// placeOf reads a cursor of a list under sort; ok is false when it is none.
func placeOf(cursor, sort string) (p place, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || json.Unmarshal(text, &p) != nil {
		return place{}, false
	}
	return p, p.Sort == sort && p.cursor() == cursor
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

// after is the filter for what follows a cursor; ok is false when the cursor does not belong here. The
// range on the field alone is what gives an index its bounds.
func (o order) after(cursor string) (filter bson.D, ok bool) {
	p, ok := placeOf(cursor, o.sort)
	if !ok {
		return nil, false
	}
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

// at is the cursor behind a document.
func (o order) at(value, id string) string {
	return place{Sort: o.sort, Value: value, ID: id}.cursor()
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
