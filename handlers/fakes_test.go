package handlers_test

import (
	"context"

	"filmroom/tasks"
)

// brokenList is a store whose lists of one person's tasks fail, or panic when there is no error.
type brokenList struct {
	tasks.Store
	err error
}

func (b brokenList) List(ctx context.Context, q tasks.Query) (tasks.Page, error) {
	if q.UserID == "" { // the engine's own
		return b.Store.List(ctx, q)
	}
	if b.err == nil {
		panic("list panics")
	}
	return tasks.Page{}, b.err
}
