package mongo

import (
	"errors"
	"fmt"

	"filmroom/accounts"
	"filmroom/imaging"
	"filmroom/tasks"
)

// sentinels are the errors by which the interfaces' callers decide.
var sentinels = []error{
	tasks.ErrNotFound, tasks.ErrConflict, tasks.ErrCursor, imaging.ErrNotFound, imaging.ErrCursor,
	accounts.ErrNotFound, accounts.ErrCursor, accounts.ErrEmailTaken, accounts.ErrNotFirst,
}

// wrap adds to an error what was under way. It leaves nil and the sentinels as they are.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	for _, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			return err
		}
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
