package imaging

import (
	"context"
	"encoding/json"

	"filmroom/dicom/deid"
)

// changes are the rows of an archive's changes.jsonl: one line of JSON for each change to each image, in the
// order of the archive. They are compressed while they come, and wait on the disk when they are many.
type changes struct {
	rows packed
	w    *packer // nil when there is nothing more to come
	line []byte
}

func newChanges(ctx context.Context, f *files) *changes {
	return &changes{rows: packed{item: item{path: changesName}}, w: newPacker(ctx, f)}
}

// add writes what was changed in an image.
func (c *changes) add(name string, report deid.Report) (err error) {
	if c.line, err = AppendChanges(c.line[:0], name, report); err != nil {
		return err
	}
	_, err = c.w.Write(c.line)
	return err
}

// end gives all rows, as an image is packed.
func (c *changes) end() (packed, error) {
	err := c.w.deflate.Close()
	if err == nil {
		c.rows.seal(c.w)
	}
	c.rows.take(c.w)
	c.w = nil
	return c.rows, err
}

// drop gives up what is held.
func (c *changes) drop() {
	if c.w != nil {
		c.rows.take(c.w)
		c.w = nil
	}
	c.rows.drop()
}

// AppendChanges adds a line of JSON for each change to one file: its new name, the tag with the sequences it
// stands in and the numbers of their items, and the action as a past participle ("removed"). It holds no value
// of the file, before or after.
func AppendChanges(b []byte, name string, report deid.Report) ([]byte, error) {
	file, err := json.Marshal(name)
	if err != nil {
		return b, err
	}
	for _, row := range report.Rows {
		b = append(append(append(b, `{"file":`...), file...), `,"tag":"`...)
		b = append(append(append(b, row.Path.String()...), `","action":"`...), row.Action.String()...) // all of it ASCII without quotes
		b = append(b, "\"}\n"...)
	}
	return b, nil
}
