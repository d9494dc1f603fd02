package imagingtest

import (
	"errors"
	"sync"
	"testing"

	"filmroom/imaging"
)

// atOnce runs f(0) to f(n-1) together and returns what they returned, in order; none may fail.
func atOnce[T any](t *testing.T, n int, f func(int) (T, error)) []T {
	t.Helper()
	results, errs := make([]T, n), make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			results[i], errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	must(t, errors.Join(errs...))
	return results
}

// instancesOrNone counts the instances of a series that may be gone.
func instancesOrNone(t *testing.T, s imaging.Store, libraryID, seriesID string) int {
	t.Helper()
	held, err := s.Instances(t.Context(), libraryID, seriesID, nil, 1000)
	if err != nil && !errors.Is(err, imaging.ErrNotFound) {
		t.Fatal(err)
	}
	return len(held)
}
