package deid

import (
	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// gather collects what the plan takes out of a data set, so that it can be searched for in the rest.
// gone says that the data set as a whole goes. The error is what the plan refuses.
func (p *pass) gather(d *dicom.Dataset, gone bool) error {
	for t, e := range d.All() {
		if err := p.refuseElement(e); err != nil {
			return err
		}
		p.overlaid = p.overlaid || isOverlay(t)
		what := p.plan.treat(d, e, &p.declared)
		stays := !gone && (what == keep || what == clean || what == content || what == graphic)
		for _, item := range e.Items {
			if err := p.gather(item, !stays); err != nil {
				return err
			}
		}
		if !stays && len(e.Value) > 0 {
			p.gatherValue(d, e)
		}
	}
	return nil
}

// gatherValue searches for the values of an element that goes, by what the dictionary says it is: a name
// may be written as bytes.
func (p *pass) gatherValue(d *dicom.Dataset, e *dicom.Element) {
	v := vrOf(e)
	if v != e.VR && isCommon(v) {
		v = e.VR
	}
	if isCommon(v) {
		return
	}
	text, kind := p.textAs(d, e, v), gatheredAs(e.Tag, v)
	switch {
	case v == vr.PN:
		p.search.addName(kind, text)
	case v.IsMultiline():
		p.search.add(kind, text)
	default:
		eachValue(text, func(value []byte) { p.gatherOne(kind, v, value) })
	}
}

// isCommon reports whether values of a VR would be found everywhere: numbers, times of day, UIDs; or are no
// text at all.
func isCommon(v vr.VR) bool {
	switch v {
	case vr.UI, vr.DS, vr.IS, vr.AS, vr.TM, vr.UR:
		return true
	}
	return !v.IsString()
}

// gatheredAs is what the values of an element that goes are searched for as.
func gatheredAs(t tag.Tag, v vr.VR) needle {
	switch {
	case t.IsPrivate() && v != vr.PN:
		return privateValue
	case t.IsPrivate():
		return removedValue
	case identifies(t) && v == vr.PN:
		return identity | shortName
	case identifies(t) && v != vr.CS:
		return identity
	case v == vr.PN, t == tag.InstitutionName, t == tag.InstitutionAddress, t == tag.InstitutionalDepartmentName:
		return removedValue | agent
	}
	return removedValue
}

func (p *pass) gatherOne(kind needle, v vr.VR, value []byte) {
	switch {
	case v == vr.DT && len(value) > len(dummyDate):
		p.search.add(kind, value)
		p.search.addDate(kind, string(value[:len(dummyDate)]))
	case v == vr.DA || v == vr.DT:
		p.search.addDate(kind, string(value))
	case kind == identity:
		p.search.addID(value)
	default:
		p.search.add(kind, value)
	}
}

// identifies reports whether an element holds a person's number, birth date or the like: what must not
// stand in any text, whatever its value representation.
func identifies(t tag.Tag) bool {
	switch t {
	case tag.PatientSex, tag.PatientAge, tag.PatientSize, tag.PatientWeight, tag.EthnicGroup, tag.SmokingStatus,
		tag.PregnancyStatus, tag.PatientSexNeutered, tag.Occupation, tag.MedicalAlerts, tag.Allergies,
		tag.AdditionalPatientHistory, tag.PatientComments:
		return false
	case tag.AccessionNumber, tag.PlacerOrderNumberImagingServiceRequest, tag.FillerOrderNumberImagingServiceRequest,
		tag.AdmissionID, tag.ServiceEpisodeID, tag.ClinicalTrialSubjectID:
		return true
	}
	return t.Group() == 0x0010
}

// eachValue calls do with each value of a text, without the spaces around it.
func eachValue(text []byte, do func([]byte)) {
	start := 0
	for i := 0; i <= len(text); i++ {
		if i == len(text) || text[i] == '\\' {
			do(trim(text[start:i]))
			start = i + 1
		}
	}
}

// trim takes padding away at both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == 0) {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == 0) {
		b = b[:len(b)-1]
	}
	return b
}
