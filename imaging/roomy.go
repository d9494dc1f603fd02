package imaging

import "io"

// Roomy reads r for somebody who writes it to the desk's disk: what would leave less free than the limit ends it
// with [ErrNoRoom].
func (d *Desk) Roomy(r io.Reader) io.Reader { return &roomyReader{from: r, room: d.staging.room} }

type roomyReader struct {
	from  io.Reader
	room  *room
	begun bool
}

func (r *roomyReader) Read(p []byte) (int, error) {
	if !r.begun { // take looks once in a while; a file that is small still must not take the last of the disk
		if err := r.room.check(0); err != nil {
			return 0, err
		}
		r.begun = true
	}
	n, err := r.from.Read(p)
	if full := r.room.take(int64(n)); full != nil {
		return 0, full
	}
	return n, err
}
