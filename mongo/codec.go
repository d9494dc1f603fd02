package mongo

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"filmroom/accounts"
	"filmroom/imaging"
	"filmroom/tasks"
)

// The documents are the records themselves, under their JSON names, and what a store adds for finding
// them. _id repeats a record's id, or is made of what the record is unique by.

type taskDoc struct {
	ID         string `bson:"_id"`
	tasks.Task `bson:",inline"`
	Words      []string  `bson:"words"`      // of [tasks.Task.SearchWords]
	ChangedAt  time.Time `bson:"changedAt"`  // of the last write, heartbeats included; what other processes follow
	Unfollowed bool      `bson:"unfollowed"` // [tasks.Task.Next] is set
}

func docOfTask(t tasks.Task) taskDoc {
	changed := t.UpdatedAt
	if t.HeartbeatAt.After(changed) {
		changed = t.HeartbeatAt
	}
	return taskDoc{ID: t.ID, Task: t, Words: t.SearchWords(), ChangedAt: changed, Unfollowed: t.Next != nil}
}

type laneDoc struct {
	ID         string `bson:"_id"`
	tasks.Lane `bson:",inline"`
}

type libraryDoc struct {
	ID              string `bson:"_id"`
	imaging.Library `bson:",inline"`
}

type seriesDoc struct {
	ID             string `bson:"_id"`
	imaging.Series `bson:",inline"`
	Words          []string `bson:"words"`    // of [imaging.Series.SearchWords]
	NameKey        string   `bson:"nameKey"`  // the patient's name in lower case
	Revision       int64    `bson:"revision"` // counts the writes of Instances and Bytes
}

type instanceDoc struct {
	ID               string `bson:"_id"` // library and SOP Instance UID: what decides a race
	imaging.Instance `bson:",inline"`
}

type receiptDoc struct {
	ID              string `bson:"_id"` // task and index, in the order of the index
	TaskID          string `bson:"taskId"`
	imaging.Receipt `bson:",inline"`
	NameBytes       []byte `bson:"nameBytes,omitempty"` // the name itself where it is no UTF-8
}

type receiptLibraryDoc struct {
	ID        string `bson:"_id"` // the task's
	LibraryID string `bson:"libraryId"`
}

type userDoc struct {
	ID            string `bson:"_id"`
	accounts.User `bson:",inline"`
	PasswordHash  string `bson:"passwordHash"`
	WebhookURL    string `bson:"webhookUrl"`
	WebhookSecret string `bson:"webhookSecret"`
	EmailKey      string `bson:"emailKey"` // the address in lower case; unique
	Seat          string `bson:"seat"`     // firstSeat or the user's own id; unique
}

type tokenDoc struct {
	ID             string `bson:"_id"`
	accounts.Token `bson:",inline"`
	UserID         string `bson:"userId"`
	Hash           string `bson:"hash"`
}

type sessionDoc struct {
	Hash      string    `bson:"_id"`
	UserID    string    `bson:"userId"`
	Data      []byte    `bson:"data"`
	ExpiresAt time.Time `bson:"expiresAt"`
}

type auditDoc struct {
	ID                  string `bson:"_id"`
	accounts.AuditEntry `bson:",inline"`
}

// registry returns the driver's codecs with ours for times and JSON: a time that is unset is null, which
// no range of times contains, and JSON is kept as readable text.
func registry() *bson.Registry {
	r := bson.NewRegistry()
	r.RegisterTypeEncoder(reflect.TypeFor[time.Time](), bson.ValueEncoderFunc(encodeTime))
	r.RegisterTypeDecoder(reflect.TypeFor[time.Time](), bson.ValueDecoderFunc(decodeTime))
	r.RegisterTypeEncoder(reflect.TypeFor[json.RawMessage](), bson.ValueEncoderFunc(encodeJSON))
	r.RegisterTypeDecoder(reflect.TypeFor[json.RawMessage](), bson.ValueDecoderFunc(decodeJSON))
	return r
}

func encodeTime(_ bson.EncodeContext, w bson.ValueWriter, v reflect.Value) error {
	t := v.Interface().(time.Time)
	if t.IsZero() {
		return w.WriteNull()
	}
	return w.WriteDateTime(t.UnixMilli())
}

func decodeTime(_ bson.DecodeContext, r bson.ValueReader, v reflect.Value) error {
	var t time.Time
	switch r.Type() {
	case bson.TypeNull:
		if err := r.ReadNull(); err != nil {
			return err
		}
	case bson.TypeDateTime:
		ms, err := r.ReadDateTime()
		if err != nil {
			return err
		}
		t = time.UnixMilli(ms).UTC()
	default:
		return fmt.Errorf("a time is kept as %s, want a date or null", r.Type())
	}
	v.Set(reflect.ValueOf(t))
	return nil
}

func encodeJSON(_ bson.EncodeContext, w bson.ValueWriter, v reflect.Value) error {
	return w.WriteString(string(v.Bytes()))
}

func decodeJSON(_ bson.DecodeContext, r bson.ValueReader, v reflect.Value) error {
	text, err := r.ReadString()
	if err != nil {
		return err
	}
	v.SetBytes([]byte(text))
	return nil
}
