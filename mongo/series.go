package mongo

import (
	"context"
	"math"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"filmroom/imaging"
	"filmroom/tasks"
)

// nowhere is the library of series that are being deleted: in no library, so that no query finds them.
const nowhere = ""

func docOfSeries(s imaging.Series) seriesDoc {
	return seriesDoc{ID: s.ID, Series: s, Words: s.SearchWords(), NameKey: strings.ToLower(s.PatientName)}
}

// seen is the filter for a library's series that have an instance: one that is being made has none yet.
func seen(libraryID string) bson.D {
	return bson.D{is("libraryId", inLibrary(libraryID)), is("instances", with("$gt", 0))}
}

// inLibrary is a library's id in a filter, where none finds nothing.
func inLibrary(id string) any {
	if id == nowhere {
		return with("$in", bson.A{})
	}
	return id
}

// Series implements [imaging.Store].
func (s *Imaging) Series(ctx context.Context, libraryID, seriesID string) (imaging.Series, error) {
	doc, err := one[seriesDoc](ctx, s.db.series, append(seen(libraryID), is("_id", seriesID)), imaging.ErrNotFound)
	return doc.Series, wrap(err, "get series %s", seriesID)
}

// ListSeries implements [imaging.Store]. Its total is counted up to [tasks.CountLimit].
func (s *Imaging) ListSeries(ctx context.Context, q imaging.SeriesQuery) (imaging.SeriesPage, error) {
	o := seriesOrder(q.Sort)
	filter := seriesFilter(q)
	n, err := count(ctx, s.db.series, filter, tasks.CountLimit)
	if err != nil {
		return imaging.SeriesPage{}, wrap(err, "count series")
	}
	page := imaging.SeriesPage{Total: min(n, tasks.CountLimit), TotalExact: n <= tasks.CountLimit}
	if q.Limit == 0 {
		return page, nil
	}
	l := listing{filter: filter, order: o, cursor: q.Cursor, limit: q.Limit}
	rows, more, err := pageOf[seriesDoc](ctx, s.db, s.db.series, l, imaging.ErrCursor)
	if err != nil {
		return imaging.SeriesPage{}, wrap(err, "list series")
	}
	for _, r := range rows {
		page.Items = append(page.Items, r.Series)
	}
	if more {
		last := page.Items[len(rows)-1]
		page.NextCursor = s.db.seal.cursor(o.sort, place{o.valueOf(last), last.ID})
	}
	return page, nil
}

func seriesOrder(sort imaging.SeriesSort) order {
	switch sort {
	case imaging.NewestStudied, imaging.OldestStudied:
		return order{sort: string(sort), field: "studyDate"}
	case imaging.ByPatientName, imaging.ByPatientNameUp:
		return order{sort: string(sort), field: "patientName"}
	case imaging.OldestImported:
		return order{string(sort), "importedAt", true}
	default:
		return order{string(imaging.NewestImported), "importedAt", true}
	}
}

func (o order) valueOf(s imaging.Series) string {
	switch o.field {
	case "studyDate":
		return s.StudyDate
	case "patientName":
		return s.PatientName
	default:
		return millis(s.ImportedAt)
	}
}

func seriesFilter(q imaging.SeriesQuery) bson.D {
	f := seen(q.LibraryID)
	if len(q.IDs) > 0 {
		f = append(f, is("_id", with("$in", q.IDs)))
	}
	for _, exact := range []struct{ field, value string }{
		{"modality", q.Modality}, {"taskId", q.TaskID}, {"patientId", q.PatientID},
		{"studyUid", q.StudyUID}, {"seriesUid", q.SeriesUID},
	} {
		if exact.value != "" {
			f = append(f, is(exact.field, exact.value))
		}
	}
	if q.PatientName != "" {
		f = append(f, is("nameKey", begins(strings.ToLower(q.PatientName))))
	}
	if q.From != "" || q.To != "" {
		f = append(f, is("studyDate", studied(q.From, q.To)))
	}
	return append(f, prefixes(q.Words)...)
}

// studied is the range of study dates; a series without one is in none.
func studied(from, to string) bson.D {
	dates := bson.D{is("$gt", "")}
	if from != "" {
		dates = bson.D{is("$gte", from)}
	}
	if to != "" {
		dates = append(dates, is("$lte", to))
	}
	return dates
}

// Instances implements [imaging.Store].
func (s *Imaging) Instances(ctx context.Context, libraryID, seriesID string, after *imaging.Instance, limit int) ([]imaging.Instance, error) {
	filter := bson.D{is("libraryId", libraryID), is("seriesId", seriesID)}
	if after != nil {
		filter = append(filter, is("instanceNumber", with("$gte", after.InstanceNumber)), is("$or", bson.A{
			with("instanceNumber", with("$gt", after.InstanceNumber)),
			with("sopInstanceUid", with("$gt", after.SOPInstanceUID)),
		}))
	}
	found, err := all[imaging.Instance](ctx, s.db.instances, filter, options.Find().
		SetSort(bson.D{is("instanceNumber", 1), is("sopInstanceUid", 1)}).SetLimit(int64(limit)))
	return found, wrap(err, "list the instances of series %s", seriesID)
}

// recount writes the counts of a series from its instances, unless somebody else does so meanwhile, who may
// have seen fewer: then it counts again.
func (s *Imaging) recount(ctx context.Context, libraryID, seriesID string) error {
	for {
		this := bson.D{is("_id", seriesID), is("libraryId", libraryID)}
		was, err := one[seriesDoc](ctx, s.db.series, this, errMoved)
		if err != nil {
			return err
		}
		n, bytes, err := s.sum(ctx, libraryID, seriesID)
		if err != nil {
			return err
		}
		if n == was.Instances && bytes == was.Bytes {
			return nil
		}
		result, err := s.db.series.UpdateOne(ctx, append(this, is("revision", was.Revision)),
			with("$set", bson.D{is("instances", n), is("bytes", bytes), is("revision", was.Revision+1)}))
		if err != nil || result.MatchedCount == 1 {
			return err
		}
	}
}

// sum counts the instances of a series and their bytes. These are two questions, because FerretDB 1 answers
// only the first of two sums over one group. An instance that comes in between them is counted again by
// whoever brings it.
func (s *Imaging) sum(ctx context.Context, libraryID, seriesID string) (n int, bytes int64, err error) {
	in := bson.D{is("libraryId", libraryID), is("seriesId", seriesID)}
	if n, err = count(ctx, s.db.instances, in, math.MaxInt32); err != nil {
		return 0, 0, err
	}
	cursor, err := s.db.instances.Aggregate(ctx, driver.Pipeline{
		with("$match", in),
		with("$group", bson.D{is("_id", "$seriesId"), is("bytes", with("$sum", "$size"))}),
	})
	if err != nil {
		return 0, 0, err
	}
	var sums []struct {
		Bytes int64 `bson:"bytes"`
	}
	if err := cursor.All(ctx, &sums); err != nil || len(sums) == 0 {
		return 0, 0, err
	}
	return n, sums[0].Bytes, nil
}

// DeleteSeries implements [imaging.Store]. One write takes the series out of its library and frees its UID;
// what follows is clearing up.
func (s *Imaging) DeleteSeries(ctx context.Context, libraryID, seriesID string) error {
	write, done, err := s.db.begun(ctx)
	if err != nil {
		return err
	}
	defer done()
	result, err := s.db.series.UpdateOne(write, append(seen(libraryID), is("_id", seriesID)),
		with("$set", bson.D{is("libraryId", nowhere), is("seriesUid", seriesID), is("formerLibraryId", libraryID)}))
	if err == nil && result.MatchedCount == 0 {
		err = s.halfDeleted(write, libraryID, seriesID)
	}
	if err == nil {
		err = s.clear(write, libraryID, seriesID)
	}
	return wrap(err, "delete series %s", seriesID)
}

// halfDeleted finds a series that a deletion took out of its library and did not clear up.
func (s *Imaging) halfDeleted(ctx context.Context, libraryID, seriesID string) error {
	this := bson.D{is("_id", seriesID), is("libraryId", nowhere), is("formerLibraryId", libraryID)}
	_, err := one[seriesDoc](ctx, s.db.series, this, imaging.ErrNotFound)
	return err
}

func (s *Imaging) clear(ctx context.Context, libraryID, seriesID string) error {
	if err := s.dropInstances(ctx, libraryID, seriesID); err != nil {
		return err
	}
	_, err := s.db.series.DeleteOne(ctx, with("_id", seriesID))
	return err
}

func (s *Imaging) dropInstances(ctx context.Context, libraryID, seriesID string) error {
	_, err := s.db.instances.DeleteMany(ctx, bson.D{is("libraryId", libraryID), is("seriesId", seriesID)})
	return err
}

// finishDeleting completes what a crash left of deletions.
func (db *DB) finishDeleting(ctx context.Context) error {
	type deleted struct {
		ID     string `bson:"_id"`
		Former string `bson:"formerLibraryId"`
	}
	left, err := all[deleted](ctx, db.series, with("libraryId", nowhere))
	for _, d := range left {
		if err := db.Imaging().clear(ctx, d.Former, d.ID); err != nil {
			return wrap(err, "finish deleting series %s", d.ID)
		}
	}
	return wrap(err, "find series that are half deleted")
}

// Referred implements [imaging.Store].
func (s *Imaging) Referred(ctx context.Context, sha256 []string) (map[string]bool, error) {
	referred := make(map[string]bool, len(sha256))
	if len(sha256) == 0 {
		return referred, nil
	}
	found := s.db.instances.Distinct(ctx, "sha256", with("sha256", with("$in", sha256)))
	var hashes []string
	if err := found.Decode(&hashes); err != nil {
		return nil, wrap(err, "find which of %d files are referred to", len(sha256))
	}
	for _, h := range hashes {
		referred[h] = true
	}
	return referred, nil
}
