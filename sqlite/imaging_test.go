package sqlite

import (
	"path/filepath"
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

func TestImagingOfLargeLibraries(t *testing.T) {
	t.Parallel()
	imagingtest.Test(t, imagingtest.Harness{New: func(t testing.TB) imaging.Store {
		return openAt(t, filepath.Join(t.TempDir(), "test.db"), Options{tuning: large[0]}).Imaging()
	}})
}
