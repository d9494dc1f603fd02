package deid

import (
	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// treat is what becomes of an element of d, a data set of a file that declares some private elements safe.
func (p *Plan) treat(d *dicom.Dataset, e *dicom.Element, declared *declarations) treatment {
	switch t := e.Tag; {
	case t.IsPrivate():
		return p.treatPrivate(d, e, declared)
	case t.IsGroupLength(), t.Group() < 0x0008:
		return remove // retired, or not of a data set at all
	case t.Group()&0xFF01 == 0x5000:
		return remove // curves, and the voices recorded with them
	case isOverlay(t):
		return p.treatOverlay()
	}
	what, listed := p.rules[e.Tag]
	entry, known := e.Tag.Lookup()
	switch {
	case !known:
		return remove
	case !listed:
		what = p.unlisted(e.Tag, entry)
	}
	if what >= keep && !formed(e, entry) {
		return remove
	}
	return what
}

// treatOverlay: an overlay's pixels may spell a name, so they stay only where a person looked at them.
func (p *Plan) treatOverlay() treatment {
	if p.options.CleanGraphics {
		return graphic
	}
	return remove
}

// unlisted is the treatment of a standard element outside Table E.1-1. The table leaves out a few that
// name persons, dates, instances and places on a network; their value representation tells.
func (p *Plan) unlisted(t tag.Tag, entry tag.Entry) treatment {
	if what, ok := beyond[t]; ok {
		return what
	}
	if t == tag.PrivateDataElementCharacteristicsSequence && !p.options.RetainSafePrivate {
		return remove // there is nothing left that it speaks of
	}
	switch entry.VR() {
	case vr.PN:
		return remove
	case vr.DA, vr.TM, vr.DT:
		switch {
		case p.options.RetainFullDates:
			return keep
		case p.options.ShiftDates:
			return shift
		}
		return remove
	case vr.UI:
		if p.options.RetainUIDs || classUIDs[t] {
			return keep
		}
		return mapUID
	}
	return keep
}

// formed reports whether an element that stays is what the dictionary says: a name in an element for
// numbers would escape the search in text.
func formed(e *dicom.Element, entry tag.Entry) bool {
	if e.VR == vr.UN {
		return e.IsEmpty()
	}
	if entry.Allows(e.VR) {
		return true
	}
	switch e.VR {
	case vr.DA, vr.TM, vr.DT, vr.PN:
		return false // by its own account a date or a name, which the treatment of its tag knows nothing of
	}
	wanted := entry.VR()
	if _, strict := numerals(wanted); strict || wanted == vr.UI {
		return false
	}
	return e.VR.IsString() == wanted.IsString() && (e.VR == vr.SQ) == (wanted == vr.SQ)
}

// beyond are elements outside Table E.1-1 that tell who or where somebody is.
var beyond = map[tag.Tag]treatment{
	tag.PatientBirthDateInAlternativeCalendar:          remove,
	tag.PatientDeathDateInAlternativeCalendar:          remove,
	tag.BreedRegistrationNumber:                        remove,
	tag.RecognitionCode:                                remove,
	tag.PlacerOrderNumberProcedure:                     remove,
	tag.FillerOrderNumberProcedure:                     remove,
	tag.PlacerOrderNumberImagingServiceRequestRetired:  remove,
	tag.FillerOrderNumberImagingServiceRequestRetired:  remove,
	tag.HL7InstanceIdentifier:                          remove,
	tag.StorageMediaFileSetID:                          remove,
	tag.OwnerID:                                        remove,
	tag.PrintJobID:                                     remove,
	tag.PrintQueueID:                                   remove,
	tag.PrinterName:                                    remove,
	tag.NTPSourceAddress:                               remove,
	tag.ContactDisplayName:                             remove,
	tag.ContactURI:                                     remove,
	tag.RetrieveURL:                                    remove,
	tag.RetrieveURI:                                    remove,
	tag.StorageURL:                                     remove,
	tag.StoredInstanceBaseURI:                          remove,
	tag.FolderAccessURI:                                remove,
	tag.FileAccessURI:                                  remove,
	tag.FilenameInContainer:                            remove,
	tag.PixelDataProviderURL:                           remove,
	tag.UniformResourceLocatorTrial:                    remove,
	tag.LocalNamespaceEntityID:                         remove,
	tag.UniversalEntityID:                              remove,
	tag.ComponentWelderIDs:                             remove,
	tag.HangingProtocolCreator:                         remove,
	tag.HangingProtocolUserGroupName:                   remove,
	tag.DocumentTitle:                                  dummy,
	tag.BoardingPassID:                                 remove,
	tag.ItineraryID:                                    remove,
	tag.CarrierID:                                      remove,
	tag.ReferenceToRecordedSound:                       remove,
	tag.RelativeURIReferenceWithinEncapsulatedDocument: remove,
	tag.CommentsOnTheScheduledProcedureStep:            remove,
	tag.SOPAuthorizationComment:                        remove,
	tag.EncryptedAttributesSequence:                    remove, // holds what an earlier de-identification took out
	tag.IconImageSequence:                              remove,
	tag.DataSetTrailingPadding:                         remove,
}

// classUIDs are elements whose UIDs name a class, a syntax or a table rather than an instance: they are
// the same in every hospital, and a new one would mean nothing.
var classUIDs = map[tag.Tag]bool{
	tag.SOPClassUID:                       true,
	tag.RelatedGeneralSOPClassUID:         true,
	tag.OriginalSpecializedSOPClassUID:    true,
	tag.SOPClassesInStudy:                 true,
	tag.CodingSchemeUID:                   true,
	tag.ContextUID:                        true,
	tag.MappingResourceUID:                true,
	tag.StoredInstanceTransferSyntaxUID:   true,
	tag.ReferencedSOPClassUID:             true,
	tag.SOPClassesSupported:               true,
	tag.AvailableTransferSyntaxUID:        true,
	tag.FlowTransferSyntaxUID:             true,
	tag.MACCalculationTransferSyntaxUID:   true,
	tag.EncryptedContentTransferSyntaxUID: true,
	tag.SegmentationTemplateUID:           true,
	tag.PertinentSOPClassesInStudy:        true,
	tag.PertinentSOPClassesInSeries:       true,
}

// isPixelData reports whether the element is one of those that hold an image's pixels.
func isPixelData(t tag.Tag) bool {
	return t == tag.PixelData || t == tag.FloatPixelData || t == tag.DoubleFloatPixelData
}
