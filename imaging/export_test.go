package imaging

// SetFree makes the desk believe what free says of its disk, and ask often.
func (d *Desk) SetFree(free func() int64) {
	d.files.room.free = func(string) (int64, error) { return free(), nil }
	d.files.room.every = 4 << 10
}

// Sweep tidies up once, as is done each hour.
var Sweep = (*Desk).sweep

// Displayable shows a name that somebody sent.
var Displayable = displayable

// UnreferredFor is how long a file stays that nothing refers to.
const UnreferredFor = unreferredFor

// BatchRows is how many rows an import commits together.
const BatchRows = batchRows

// SetCheckpointEvery makes imports save how far they are after so many rows.
func (d *Desk) SetCheckpointEvery(rows int64) { d.checkpointEvery = rows }
