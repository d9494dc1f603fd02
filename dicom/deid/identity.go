package deid

import (
	"slices"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// Identity is text that tells who a person is; it is searched for in all text that stays.
type Identity struct {
	Names      []string // values of PN, decoded: "Yamada^Tarou=山田^太郎"
	IDs        []string // patient IDs, accession numbers and the like
	BirthDates []string // DA values
}

// mostTexts is how many texts an Identity may have: each is searched for in each file, and held against all
// others when it is added.
const mostTexts = 1000

// Len is how many texts there are.
func (id *Identity) Len() int { return len(id.Names) + len(id.IDs) + len(id.BirthDates) }

// Crowded says that there are more texts than can be searched for, so that nothing can be de-identified with
// them. Collect and Merge add no more then.
func (id *Identity) Crowded() bool { return id.Len() > mostTexts }

// Merge adds what more says, and nothing twice.
func (id *Identity) Merge(more *Identity) {
	for _, lists := range [...]struct {
		to   *[]string
		from []string
	}{{&id.Names, more.Names}, {&id.IDs, more.IDs}, {&id.BirthDates, more.BirthDates}} {
		for _, text := range lists.from {
			id.add(lists.to, text)
		}
	}
}

func (id *Identity) add(list *[]string, text string) {
	if text != "" && !id.Crowded() && !slices.Contains(*list, text) {
		*list = append(*list, text)
	}
}

// Collect adds what a data set says of its patient, at every depth, and nothing twice. A study's files
// say more together than each alone, so that one of them may tell a name that another hides in a text.
func (id *Identity) Collect(d *dicom.Dataset) {
	for n := range d.Walk() {
		list := id.of(n.Element)
		if list == nil {
			continue
		}
		eachValue(identityText(n.Dataset, n.Element), func(v []byte) { id.add(list, string(v)) })
	}
}

// identityText is what an element says, whatever it calls itself: a name may be written as bytes.
func identityText(d *dicom.Dataset, e *dicom.Element) []byte {
	if e.VR.IsString() {
		text, _ := d.Text(e)
		return []byte(text)
	}
	return []byte(d.Charset().Decode(vrOf(e), e.Value))
}

// of is where the values of an element belong, nil for one that tells nothing.
func (id *Identity) of(e *dicom.Element) *[]string {
	switch e.Tag {
	case tag.PatientBirthDate:
		return &id.BirthDates
	case tag.PatientID, tag.OtherPatientIDs, tag.MedicalRecordLocator, tag.AccessionNumber, tag.AdmissionID, tag.ServiceEpisodeID,
		tag.PlacerOrderNumberImagingServiceRequest, tag.FillerOrderNumberImagingServiceRequest, tag.ClinicalTrialSubjectID:
		return &id.IDs
	}
	if e.Tag.Group() == 0x0010 && (e.VR == vr.PN || vrOf(e) == vr.PN) {
		return &id.Names
	}
	return nil
}
