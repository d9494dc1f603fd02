package deid

import (
	"fmt"
	"hash"
	"io"
	"slices"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// Apply writes f without what identifies its subject, in its own transfer syntax if it is compressed and nothing is
// blacked out, else in explicit VR little endian. Pixel data is streamed from f's source, what must be decompressed
// frame by frame. f is not changed.
//
// Where err is not nil, what was written must be discarded. It wraps ErrHeld, ErrRefused, ErrSubject, one
// of dicom's sentinels, or comes from w; it holds no value of the file.
func (p *Plan) Apply(w io.Writer, f *dicom.File, s Subject) (Report, error) {
	pass, err := p.begin(f, &s)
	if err != nil {
		return Report{}, err
	}
	defer pass.search.release()
	out, err := pass.file(f)
	if err != nil {
		return Report{}, err
	}
	return pass.report, dicom.Write(w, out)
}

// DryRun says what Apply would change, with the values before and after. They are patient data: they
// are for the eyes of the file's owner and belong in no log and no store.
func (p *Plan) DryRun(f *dicom.File, s Subject) ([]Change, error) {
	pass, err := p.begin(f, &s)
	if err != nil {
		return nil, err
	}
	defer pass.search.release()
	pass.dry = true
	_, err = pass.file(f)
	slices.SortStableFunc(pass.changes, func(a, b Change) int { return comparePaths(a.Path, b.Path) })
	return pass.changes, err
}

// pass is one file on its way through a plan.
type pass struct {
	plan    *Plan
	subject *Subject
	search  *search
	syntax  string // the transfer syntax of the pixels
	mac     hash.Hash
	dry     bool

	declared declarations // what the file says is safe

	path    dicom.Path // to the element under way
	steps   []dicom.Step
	report  Report
	changes []Change

	room     []dicom.Element
	buf      []byte
	overlaid bool      // there is an overlay somewhere
	embedded bool      // one lies in unused bits of the pixels, and must go
	decoded  *decoding // what native pixels are made of, nil where compressed ones stay
}

// usualRows is how many changes most files need at most.
const usualRows = 64

// begin checks what can be checked before anything is written.
func (p *Plan) begin(f *dicom.File, s *Subject) (*pass, error) {
	if err := s.check(&p.options); err != nil {
		return nil, err
	}
	if err := p.hold(f, s); err != nil {
		return nil, err
	}
	pass := &pass{plan: p, subject: s, syntax: f.TransferSyntax, search: searches.Get().(*search)}
	pass.report.Rows, pass.steps = make([]Row, 0, usualRows), make([]dicom.Step, 0, 2*usualRows)
	pass.mac = pass.search.macUnder(s.UIDKey)
	return pass, nil
}

// file builds the file that leaves.
func (p *pass) file(f *dicom.File) (*dicom.File, error) {
	p.search.addIdentity(&p.subject.Identity)
	if p.plan.options.RetainSafePrivate {
		p.declared = declarationsOf(f.Dataset)
	}
	if err := p.gather(f.Dataset, false); err != nil {
		return nil, err
	}
	p.embedded = p.overlaid && !p.keepsOverlays() && hasEmbeddedOverlay(f.Dataset)
	if e, ok := f.Dataset.Get(tag.PixelData); ok && e.Fragments != nil && p.embedded {
		return nil, fmt.Errorf("%w: an overlay lies within its compressed pixels", ErrRefused)
	}
	out := dicom.NewFile(dicom.NewDataset(), f.TransferSyntax)
	out.Dataset.Grow(f.Dataset.Len() + mostMarks)
	if err := p.dataset(f.Dataset, out.Dataset); err != nil {
		return nil, err
	}
	if p.decoded != nil {
		p.asNative(f.Dataset, out)
	}
	p.mark(f.Dataset, out.Dataset)
	p.meta(f, out)
	p.report.sort()
	return out, nil
}

// newElement makes an element without an allocation of its own.
func (p *pass) newElement(t tag.Tag, v vr.VR, value []byte) *dicom.Element {
	if len(p.room) == 0 {
		p.room = make([]dicom.Element, 32)
	}
	e := &p.room[0]
	p.room = p.room[1:]
	*e = dicom.Element{Tag: t, VR: v, Offset: -1, Value: value}
	return e
}

// bytes is room for one short value: appending to it allocates only when a block is used up.
func (p *pass) bytes() []byte {
	if cap(p.buf)-len(p.buf) < 80 {
		p.buf = make([]byte, 0, 1<<10)
	}
	n := len(p.buf)
	p.buf = p.buf[:n+80]
	return p.buf[n : n : n+80]
}
