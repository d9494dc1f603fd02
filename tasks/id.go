package tasks

import "github.com/oklog/ulid/v2"

// NewID returns a ULID: 26 characters that sort by the time they were made, unique over all processes.
func NewID() string { return ulid.Make().String() }
