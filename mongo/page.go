package mongo

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// A listing is one page that is asked for.
type listing struct {
	filter   bson.D
	order    order
	cursor   string
	limit    int
	leaveOut bson.D // fields
}

// pageOf returns up to limit documents behind a cursor, and whether there are more; badCursor is the error for
// a cursor that is none of this order.
func pageOf[T any](ctx context.Context, db *DB, c *driver.Collection, l listing, badCursor error) (rows []T, more bool, err error) {
	filter := l.filter
	if l.cursor != "" {
		p, ok := db.seal.place(l.order.sort, l.cursor)
		if !ok {
			return nil, false, badCursor
		}
		behind, ok := l.order.after(p)
		if !ok {
			return nil, false, badCursor
		}
		filter = bson.D{is("$and", bson.A{filter, behind})}
	}
	find := options.Find().SetSort(l.order.by()).SetLimit(int64(l.limit) + 1)
	if l.leaveOut != nil {
		find.SetProjection(l.leaveOut)
	}
	rows, err = all[T](ctx, c, filter, find)
	if len(rows) > l.limit {
		return rows[:l.limit], true, err
	}
	return rows, false, err
}

// count counts documents, but no further than one beyond limit.
func count(ctx context.Context, c *driver.Collection, filter bson.D, limit int) (int, error) {
	n, err := c.CountDocuments(ctx, filter, options.Count().SetLimit(int64(limit)+1))
	return int(n), err
}

// prefixes is the filter for documents that have a word beginning with each of the given ones.
func prefixes(words []string) bson.D {
	if len(words) == 0 {
		return nil
	}
	var each bson.A
	for _, w := range slices.Compact(slices.Sorted(slices.Values(words))) {
		each = append(each, with("words", begins(w)))
	}
	return bson.D{is("$and", each)}
}

// begins matches strings that begin with text, letter for letter; an index can bound it.
func begins(text string) bson.Regex {
	return bson.Regex{Pattern: "^" + literal(text)}
}

// literal is the pattern of a text. A pattern travels as a string that ends at its first zero byte.
func literal(text string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(text), "\x00", `\x00`)
}
