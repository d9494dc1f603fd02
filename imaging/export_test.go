package imaging

// SetFree makes the desk believe what free says of its disk.
func (d *Desk) SetFree(free func() int64) {
	look := func(string) (int64, error) { return free(), nil }
	d.files.room.free = look
}

// Sweep tidies up once, as is done each hour.
var Sweep = (*Desk).sweep

// Displayable shows a name that somebody sent.
var Displayable = displayable

// UnreferredFor is how long a file stays that nothing refers to.
const UnreferredFor = unreferredFor

// BatchRows is how many rows an import commits together.
const BatchRows = batchRows
