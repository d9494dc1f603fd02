package e2e_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// crashImages is how many images the import has that is killed: enough to be killed in the middle of.
const crashImages = 2000

// A story is what an import leaves, however often it was killed.
type story struct {
	receipt []byte
	library []string
}

func tell(p *program, id string) story {
	s := story{receipt: p.receipt(id)}
	for _, one := range p.library() {
		s.library = append(s.library, fmt.Sprintf("%s %d images, %d bytes", one.SeriesUID, one.Instances, one.Bytes))
	}
	slices.Sort(s.library)
	return s
}

// undisturbed imports an archive on a desk that nobody kills.
func undisturbed(t *testing.T, archive []byte) story {
	t.Helper()
	d := startDesk(t, nil)
	p := d.newPerson("ada@example.org")
	want := tell(p, p.finished(p.bringIn(archive)).TaskID)
	d.stop()
	return want
}

// killed imports the same archive on a desk that is killed when the import has come to a part of its
// way, and compares what both tell.
func killed(t *testing.T, archive []byte, want story, parts ...float64) {
	t.Helper()
	d := startDesk(t, settings{"PROGRESS_INTERVAL": "5ms"}) // so that every moment can be chosen
	p := d.newPerson("ada@example.org")
	id := p.bringIn(archive)
	for _, part := range parts {
		reached := p.follow(id, func(e event) bool {
			return e.Name != "progress" || part == 0 || (e.Max > 0 && float64(e.Value) >= part*float64(e.Max))
		})
		d.kill()
		t.Logf("killed at %d/%d %s, attempt %d", reached.Value, reached.Max, reached.Status, reached.Attempt)
		d.start()
	}
	p.finished(id)
	got := tell(p, id)
	if !bytes.Equal(got.receipt, want.receipt) {
		t.Errorf("the receipt differs:\n%s", firstDifference(got.receipt, want.receipt))
	}
	if !slices.Equal(got.library, want.library) {
		t.Errorf("the library holds %q, want %q", got.library, want.library)
	}
	eventually(t, "the staged files to go", func() bool { return d.files("staging") == 0 })
	d.stop()
}

func firstDifference(got, want []byte) string {
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || !bytes.Equal(g[i], w[i]) {
			return fmt.Sprintf("%d and %d rows; first different is row %d\n%s\n%s", len(g), len(w), i,
				bytes.Join(g[min(i, len(g)):min(i+1, len(g))], nil), bytes.Join(w[min(i, len(w)):min(i+1, len(w))], nil))
		}
	}
	return "nowhere"
}

func TestKilledAnywhereAnImportTellsTheSameStory(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	archive := study(t, 1, crashImages, 48)
	want := undisturbed(t, archive)
	for _, part := range []float64{0, 0.02, 0.3, 0.7, 0.95} {
		t.Run(fmt.Sprintf("killed at %v", part), func(t *testing.T) { killed(t, archive, want, part) })
	}
	t.Run("killed twice", func(t *testing.T) { killed(t, archive, want, 0.2, 0.6) })
}

// A hundred kills, two for each import, at moments nobody chose.
func TestSoak(t *testing.T) {
	needs(t, "SOAK")
	archive := study(t, 1, crashImages, 48)
	want := undisturbed(t, archive)
	for i := range 50 {
		t.Run(fmt.Sprint(i), func(t *testing.T) { killed(t, archive, want, rand.Float64(), rand.Float64()) })
	}
}

func TestAnUploadThatBreaksOffLeavesNothing(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	p := d.newPerson("ada@example.org")
	p.breakOff(study(t, 1, 200, 64), func() {})
	eventually(t, "the staged bytes to go", func() bool { return d.files("staging") == 0 })
	p.breakOff(study(t, 1, 200, 64), d.kill)
	d.start()
	if n := d.files("staging"); n != 0 {
		t.Errorf("%d staged files are left after a crash", n)
	}
	var page struct{ Items []task }
	p.want(200, &page, "GET", "/api/tasks", nil)
	if len(page.Items) != 0 {
		t.Errorf("an upload that broke off became %+v", page.Items)
	}
}

func TestAnExportGoesOnAfterAKill(t *testing.T) {
	needs(t, "E2E")
	t.Parallel()
	d := startDesk(t, nil)
	p := d.newPerson("ada@example.org")
	p.finished(p.bringIn(study(t, 1, 1500, 64)))
	var ids []string
	for _, s := range p.library() {
		ids = append(ids, s.SeriesID)
	}
	id := p.takeOut(ids...)
	p.follow(id, func(e event) bool { return e.Name != "progress" || e.Value > 0 })
	d.kill()
	d.start()
	p.finished(id)
	if n := unpack(t, p.download(id)); n != 1500 {
		t.Errorf("%d images went out, want 1500", n)
	}
}
