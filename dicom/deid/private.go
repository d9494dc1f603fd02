package deid

import "filmroom/dicom"

// treatPrivate is what becomes of a private element.
func (p *Plan) treatPrivate(*dicom.Dataset, *dicom.Element) treatment { return remove }
