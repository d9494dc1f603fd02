package mongo

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"filmroom/imaging"
	"filmroom/tasks"
)

// Imaging returns the store of libraries, series, instances and receipts.
func (db *DB) Imaging() *Imaging { return &Imaging{db} }

// Imaging is an [imaging.Store].
type Imaging struct{ db *DB }

var _ imaging.Store = (*Imaging)(nil)

// LibraryOf implements [imaging.Store]. The unique owner decides between two first uses.
func (s *Imaging) LibraryOf(ctx context.Context, userID, newID string, now time.Time) (imaging.Library, error) {
	owned := with("ownerId", userID)
	doc, err := one[libraryDoc](ctx, s.db.libraries, owned, imaging.ErrNotFound)
	if !errors.Is(err, imaging.ErrNotFound) {
		return doc.Library, wrap(err, "find a user's library")
	}
	write, done, err := s.db.begun(ctx)
	if err != nil {
		return imaging.Library{}, err
	}
	defer done()
	doc = libraryDoc{newID, imaging.Library{ID: newID, OwnerID: userID, CreatedAt: tasks.Millis(now)}}
	if _, err = s.db.libraries.InsertOne(write, doc); driver.IsDuplicateKeyError(err) {
		doc, err = one[libraryDoc](write, s.db.libraries, owned, err)
	}
	return doc.Library, wrap(err, "make a user's library")
}

// errMoved says that what the library holds changed while a batch was on its way in: another import brought
// one of its UIDs, or one of its series was deleted.
var errMoved = errors.New("the library changed while instances came in")

// Arrive implements [imaging.Store]. Without transactions each step leaves a state that a rerun completes: new
// series are not seen before they are counted, an instance's id decides who brought it, counts are always
// computed afresh, and the receipt comes last.
func (s *Imaging) Arrive(ctx context.Context, libraryID, taskID string, batch []imaging.Arrival, others []imaging.Receipt,
	newID func() string, now time.Time) ([]imaging.Receipt, error) {
	write, done, err := s.db.begun(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	b := arriving{store: s, library: libraryID, task: taskID, batch: batch, newID: newID, now: now}
	err = b.takeIn(write)
	for errors.Is(err, errMoved) {
		err = b.takeIn(write)
	}
	if err != nil {
		return nil, wrap(err, "take in %d instances", len(batch))
	}
	rows := make([]imaging.Receipt, len(batch))
	for i := range batch {
		rows[i] = batch[i].Met(taskID, b.holder(&batch[i]))
	}
	return rows, s.put(write, libraryID, taskID, slices.Concat(rows, others))
}

// An arriving is a batch on its way into a library.
type arriving struct {
	store   *Imaging
	library string
	task    string
	batch   []imaging.Arrival
	newID   func() string
	now     time.Time

	held map[string]imaging.Instance // what the library holds, by SOP Instance UID
}

func (b *arriving) holder(a *imaging.Arrival) *imaging.Instance {
	if i, ok := b.held[a.Instance.SOPInstanceUID]; ok {
		return &i
	}
	return nil
}

func (b *arriving) takeIn(ctx context.Context) error {
	if err := b.look(ctx); err != nil {
		return err
	}
	fresh, err := b.fresh(ctx)
	if err != nil {
		return err
	}
	if err := b.insert(ctx, fresh); err != nil {
		return err
	}
	return b.recount(ctx)
}

// look reads what the library holds under the batch's UIDs. An instance whose series is gone was left behind by
// a deletion that did not finish; it counts for nothing and goes.
func (b *arriving) look(ctx context.Context) error {
	var ids []string
	for i := range b.batch {
		ids = append(ids, instanceID(b.library, b.batch[i].Instance.SOPInstanceUID))
	}
	b.held = map[string]imaging.Instance{}
	if len(ids) == 0 {
		return nil
	}
	held, err := all[instanceDoc](ctx, b.store.db.instances, with("_id", with("$in", ids)))
	if err != nil {
		return err
	}
	in := map[string]bool{}
	for _, i := range held {
		in[i.SeriesID] = false
	}
	if err := b.mark(ctx, in); err != nil {
		return err
	}
	for _, i := range held {
		if in[i.SeriesID] {
			b.held[i.SOPInstanceUID] = i.Instance
		} else if err := b.store.dropInstances(ctx, b.library, i.SeriesID); err != nil {
			return err
		}
	}
	return nil
}

// mark sets which of the series are in the library.
func (b *arriving) mark(ctx context.Context, in map[string]bool) error {
	var ids []string
	for id := range in {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil
	}
	there, err := all[seriesDoc](ctx, b.store.db.series, bson.D{is("_id", with("$in", ids)), is("libraryId", b.library)},
		options.Find().SetProjection(with("_id", 1)))
	for _, doc := range there {
		in[doc.ID] = true
	}
	return err
}

// fresh returns the instances that the library does not hold, the first of each UID, in series that exist.
func (b *arriving) fresh(ctx context.Context) ([]instanceDoc, error) {
	var fresh []instanceDoc
	seriesIDs, taken := map[string]string{}, map[string]bool{}
	for i := range b.batch {
		a := &b.batch[i]
		uid := a.Instance.SOPInstanceUID
		if b.holder(a) != nil || taken[uid] {
			continue
		}
		id, known := seriesIDs[a.Series.SeriesUID]
		if !known {
			var err error
			if id, err = b.series(ctx, a); err != nil {
				return nil, err
			}
			seriesIDs[a.Series.SeriesUID] = id
		}
		taken[uid] = true
		fresh = append(fresh, instanceDoc{instanceID(b.library, uid), a.Took(b.library, id, b.task, b.now)})
	}
	return fresh, nil
}

// series returns the id of an arrival's series, which is made when the library has none of its UID.
func (b *arriving) series(ctx context.Context, a *imaging.Arrival) (string, error) {
	series := b.store.db.series
	same := bson.D{is("libraryId", b.library), is("seriesUid", a.Series.SeriesUID)}
	found, err := one[seriesDoc](ctx, series, same, imaging.ErrNotFound)
	if !errors.Is(err, imaging.ErrNotFound) {
		return found.ID, err
	}
	made := docOfSeries(a.Began(b.library, b.newID(), b.task, b.now))
	if _, err = series.InsertOne(ctx, made); driver.IsDuplicateKeyError(err) {
		made, err = one[seriesDoc](ctx, series, same, errMoved)
	}
	return made.ID, err
}

// insert writes the fresh instances. Of two imports at once, the instance's id lets in one.
func (b *arriving) insert(ctx context.Context, fresh []instanceDoc) error {
	if len(fresh) == 0 {
		return nil
	}
	_, err := b.store.db.instances.InsertMany(ctx, fresh, options.InsertMany().SetOrdered(false))
	if driver.IsDuplicateKeyError(err) {
		return errMoved
	}
	for _, i := range fresh {
		b.held[i.SOPInstanceUID] = i.Instance
	}
	return err
}

// recount makes the counts right of every series that the batch met, also where it brought nothing: a run
// that crashed, this import's or another's, may have come no further than the instances.
func (b *arriving) recount(ctx context.Context) error {
	counted := map[string]bool{}
	for _, i := range b.held {
		if counted[i.SeriesID] {
			continue
		}
		counted[i.SeriesID] = true
		if err := b.store.recount(ctx, b.library, i.SeriesID); err != nil {
			return err
		}
	}
	return nil
}

func instanceID(libraryID, sopInstanceUID string) string { return libraryID + "/" + sopInstanceUID }
