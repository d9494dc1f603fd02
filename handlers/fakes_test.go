package handlers_test

import (
	"context"

	"filmroom/tasks"
)

// brokenList is a store whose lists fail, or panic when there is no error.
type brokenList struct {
	tasks.Store
	err error
}

func (b brokenList) List(context.Context, tasks.Query) (tasks.Page, error) {
	if b.err == nil {
		panic("list panics")
	}
	return tasks.Page{}, b.err
}
