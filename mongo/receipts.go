package mongo

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"filmroom/imaging"
)

// PutReceipts implements [imaging.Store].
func (s *Imaging) PutReceipts(ctx context.Context, libraryID, taskID string, rows []imaging.Receipt) error {
	write, done, err := s.db.begun(ctx)
	if err != nil {
		return err
	}
	defer done()
	return s.put(write, libraryID, taskID, rows)
}

func (s *Imaging) put(ctx context.Context, libraryID, taskID string, rows []imaging.Receipt) error {
	if len(rows) == 0 {
		return nil
	}
	if err := s.db.ownReceipts(ctx, libraryID, []string{taskID}); err != nil {
		return wrap(err, "keep whose the receipt of task %s is", taskID)
	}
	puts := make([]driver.WriteModel, len(rows))
	for i, r := range rows {
		doc := docOfReceipt(taskID, r)
		puts[i] = driver.NewReplaceOneModel().SetFilter(with("_id", doc.ID)).SetReplacement(doc).SetUpsert(true)
	}
	// In order, so that of two rows with one index the later stands.
	_, err := s.db.receipt.BulkWrite(ctx, puts)
	return wrap(err, "keep %d receipt rows of task %s", len(rows), taskID)
}

// ownReceipts notes that receipts are a library's. What was noted before stays.
func (db *DB) ownReceipts(ctx context.Context, libraryID string, taskIDs []string) error {
	if len(taskIDs) == 0 {
		return nil
	}
	puts := make([]driver.WriteModel, len(taskIDs))
	for i, id := range taskIDs {
		first := with("$setOnInsert", with("libraryId", libraryID))
		puts[i] = driver.NewUpdateOneModel().SetFilter(with("_id", id)).SetUpdate(first).SetUpsert(true)
	}
	_, err := db.receiptOf.BulkWrite(ctx, puts)
	return err
}

// ReceiptLibrary implements [imaging.Store].
func (s *Imaging) ReceiptLibrary(ctx context.Context, taskID string) (string, error) {
	doc, err := one[receiptLibraryDoc](ctx, s.db.receiptOf, with("_id", taskID), imaging.ErrNotFound)
	return doc.LibraryID, wrap(err, "find the receipt of task %s", taskID)
}

func docOfReceipt(taskID string, r imaging.Receipt) receiptDoc {
	doc := receiptDoc{ID: receiptID(taskID, r.Index), TaskID: taskID, Receipt: r}
	if !utf8.ValidString(r.Name) { // a server's strings are UTF-8
		doc.NameBytes = []byte(r.Name)
		doc.Name = strings.ToValidUTF8(r.Name, "\ufffd")
	}
	return doc
}

func (d receiptDoc) row() imaging.Receipt {
	r := d.Receipt
	r.TaskID = d.TaskID
	if d.NameBytes != nil {
		r.Name = string(d.NameBytes)
	}
	return r
}

// receiptID orders the rows of one task by their index.
func receiptID(taskID string, index int64) string { return fmt.Sprintf("%s/%019d", taskID, index) }

// Receipts implements [imaging.Store].
func (s *Imaging) Receipts(ctx context.Context, q imaging.ReceiptQuery) ([]imaging.Receipt, error) {
	filter := bson.D{is("_id", bson.D{is("$gte", receiptID(q.TaskID, max(q.After+1, 0))), is("$lt", q.TaskID+"0")})}
	sort := with("_id", 1)
	// By outcome there is an index of its own, so that a few conflicts in a million rows are found at once.
	if len(q.Outcomes) > 0 {
		filter = bson.D{is("taskId", q.TaskID), is("outcome", with("$in", q.Outcomes)), is("index", with("$gt", q.After))}
		sort = with("index", 1)
	}
	if q.Search != "" {
		filter = append(filter, is("name", bson.Regex{Pattern: anyCase(q.Search)}))
	}
	docs, err := all[receiptDoc](ctx, s.db.receipt, filter, options.Find().SetSort(sort).SetLimit(int64(q.Limit)))
	rows := make([]imaging.Receipt, len(docs))
	for i, d := range docs {
		rows[i] = d.row()
	}
	return rows, wrap(err, "read the receipt of task %s", q.TaskID)
}

// anyCase is the pattern of a text with its ASCII letters in either case. The server's own way of ignoring
// case would go beyond ASCII, and not everywhere in the same way.
func anyCase(text string) string {
	var b strings.Builder
	for _, r := range text {
		lower, upper := r|0x20, r&^0x20
		if lower >= 'a' && lower <= 'z' {
			fmt.Fprintf(&b, "[%c%c]", lower, upper)
			continue
		}
		b.WriteString(literal(string(r)))
	}
	return b.String()
}

// Outcomes implements [imaging.Store].
func (s *Imaging) Outcomes(ctx context.Context, taskID string) (map[imaging.Outcome]int, error) {
	cursor, err := s.db.receipt.Aggregate(ctx, driver.Pipeline{
		with("$match", with("taskId", taskID)),
		with("$group", bson.D{is("_id", "$outcome"), is("n", with("$sum", 1))}),
	})
	if err != nil {
		return nil, wrap(err, "count the receipt of task %s", taskID)
	}
	var groups []struct {
		Outcome imaging.Outcome `bson:"_id"`
		N       int             `bson:"n"`
	}
	if err := cursor.All(ctx, &groups); err != nil {
		return nil, wrap(err, "count the receipt of task %s", taskID)
	}
	counts := make(map[imaging.Outcome]int, len(groups))
	for _, g := range groups {
		counts[g.Outcome] = g.N
	}
	return counts, nil
}
