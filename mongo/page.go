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

// pageOf returns up to limit documents behind a cursor, and whether there are more.
func pageOf[T any](ctx context.Context, c *driver.Collection, filter bson.D, o order, cursor string, limit int,
	badCursor error, leaveOut bson.D) (rows []T, more bool, err error) {
	if cursor != "" {
		behind, ok := o.after(cursor)
		if !ok {
			return nil, false, badCursor
		}
		filter = bson.D{is("$and", bson.A{filter, behind})}
	}
	find := options.Find().SetSort(o.by()).SetLimit(int64(limit) + 1)
	if leaveOut != nil {
		find.SetProjection(leaveOut)
	}
	rows, err = all[T](ctx, c, filter, find)
	if len(rows) > limit {
		return rows[:limit], true, err
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
