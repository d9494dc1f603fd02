package sqlite

import (
	"testing"

	"filmroom/imaging"
	"filmroom/imaging/imagingtest"
)

func TestImaging(t *testing.T) {
	t.Parallel()
	imagingtest.Test(t, imagingtest.Harness{
		New: func(t testing.TB) imaging.Store { return open(t).Imaging() },
		Reopen: func(t testing.TB, old imaging.Store) imaging.Store {
			return reopen(t, old.(*imagingStore).db).Imaging()
		},
		Contention: true,
	})
}
