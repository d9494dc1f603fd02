package deid

import (
	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// dummyUID is the nil UUID as a UID (PS3.5 annex B.2): it refers to nothing.
const dummyUID = "2.25.0"

// dummyItem is what a sequence that Table E.1-1 replaces by a dummy holds instead of its own items.
func dummyItem(t tag.Tag) *dicom.Dataset {
	if make, ok := dummyItems[t]; ok {
		return make()
	}
	return dicom.NewDataset()
}

// dummyItems are items with what PS3.3 demands of them (Type 1).
var dummyItems = map[tag.Tag]func() *dicom.Dataset{
	tag.ConceptCodeSequence:              dummyCode,
	tag.InstitutionCodeSequence:          dummyCode,
	tag.PersonIdentificationCodeSequence: dummyCode,
	tag.OperatorIdentificationSequence: func() *dicom.Dataset {
		return dicom.NewDataset(dicom.Sequence(tag.PersonIdentificationCodeSequence, dummyCode()))
	},
	tag.ReferencedPerformedProcedureStepSequence: func() *dicom.Dataset {
		return dicom.NewDataset(
			dicom.Text(tag.ReferencedSOPClassUID, modalityPerformedProcedureStep),
			dicom.Text(tag.ReferencedSOPInstanceUID, dummyUID))
	},
	tag.FlowIdentifierSequence: func() *dicom.Dataset {
		return dicom.NewDataset(dummyOf(tag.FlowIdentifier), dummyOf(tag.FlowTransferSyntaxUID))
	},
	tag.VerifyingObserverSequence: func() *dicom.Dataset {
		return dicom.NewDataset(
			dummyOf(tag.VerifyingOrganization), dummyOf(tag.VerificationDateTime), dummyOf(tag.VerifyingObserverName),
			dicom.Sequence(tag.VerifyingObserverIdentificationCodeSequence))
	},
	tag.ContentSequence: func() *dicom.Dataset {
		return dicom.NewDataset(
			dicom.Text(tag.RelationshipType, "CONTAINS"),
			dicom.Text(tag.ValueType, "TEXT"),
			dicom.Sequence(tag.ConceptNameCodeSequence, code("121106", "DCM", "Comment")),
			dummyOf(tag.TextValue))
	},
	tag.WaveformAnnotationSequence: func() *dicom.Dataset {
		return dicom.NewDataset(dicom.Ints(tag.ReferencedWaveformChannels, 1, 0), dummyOf(tag.UnformattedTextValue))
	},
	tag.GraphicAnnotationSequence: func() *dicom.Dataset {
		return dicom.NewDataset(dummyOf(tag.GraphicLayer), dicom.Sequence(tag.TextObjectSequence, dicom.NewDataset(
			dicom.Text(tag.AnchorPointAnnotationUnits, "DISPLAY"), dummyOf(tag.UnformattedTextValue),
			dummyOf(tag.AnchorPoint), dicom.Text(tag.AnchorPointVisibility, "N"))))
	},
}

// modalityPerformedProcedureStep is the SOP class that Referenced Performed Procedure Step Sequence
// refers to.
const modalityPerformedProcedureStep = "1.2.840.10008.3.1.2.3.3"

func dummyCode() *dicom.Dataset { return code(dummyText, dummyText, dummyText) }

func code(value, scheme, meaning string) *dicom.Dataset {
	return dicom.NewDataset(
		dicom.Text(tag.CodeValue, value),
		dicom.Text(tag.CodingSchemeDesignator, scheme),
		dicom.Text(tag.CodeMeaning, meaning))
}

// dummyOf is an element of the dictionary's VR with a dummy.
func dummyOf(t tag.Tag) *dicom.Element {
	v := dictionaryVR(t)
	if v == vr.UI {
		return dicom.Text(t, dummyUID)
	}
	return dicom.New(t, v, dummyValue(v, vmOf(t)))
}
