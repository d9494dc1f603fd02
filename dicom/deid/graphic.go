package deid

import (
	"filmroom/dicom"
	"filmroom/dicom/vr"
)

// keepsOverlays reports whether overlays stay: a bitmap may spell a name, so a person must have looked.
func (p *pass) keepsOverlays() bool {
	return p.plan.options.CleanGraphics && p.subject.PixelsReviewed
}

// graphic keeps annotations without what identifies (PS3.15 section E.3.3): the shapes stay, their text
// is treated by its own row of the table.
func (p *pass) graphic(src, out *dicom.Dataset, e *dicom.Element) error {
	switch {
	case !isOverlay(e.Tag) && e.VR == vr.SQ:
		return p.sequence(out, e, p.dataset)
	case p.keepsOverlays() && e.VR != vr.SQ && e.VR != vr.UN:
		return p.keep(src, out, e, clean)
	}
	p.note(src, e, Removed, out, nil)
	return nil
}
