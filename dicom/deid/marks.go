package deid

import (
	"filmroom/dicom"
	"filmroom/dicom/tag"
)

// mostMarks is how many elements mark adds at most.
const mostMarks = 7

// mark writes into a data set that and how it was de-identified (PS3.15 section E.1.1 and E.3.6).
func (p *pass) mark(src, out *dicom.Dataset) {
	p.path = append(p.path[:0], dicom.Step{})
	for _, t := range []tag.Tag{tag.PatientName, tag.PatientID} {
		if !out.Has(t) {
			v := dictionaryVR(t)
			p.add(src, out, p.newElement(t, v, padded([]byte(p.subject.Pseudonym), v)))
		}
	}
	p.add(src, out, identityRemoved)
	p.add(src, out, p.plan.method)
	p.add(src, out, dicom.Sequence(tag.DeidentificationMethodCodeSequence, p.codes(src)...))
	p.add(src, out, p.temporal(src))
	if len(p.subject.Blackout) > 0 {
		p.add(src, out, nothingBurnedIn)
	}
	p.path = p.path[:0]
}

// Marks that are the same in every file. Elements may stand in many data sets as long as nobody changes
// them.
var (
	identityRemoved = dicom.Text(tag.PatientIdentityRemoved, "YES")
	nothingBurnedIn = dicom.Text(tag.BurnedInAnnotation, "NO")
	datesRemoved    = dicom.Text(tag.LongitudinalTemporalInformationModified, "REMOVED")
	datesModified   = dicom.Text(tag.LongitudinalTemporalInformationModified, "MODIFIED")
	datesUnmodified = dicom.Text(tag.LongitudinalTemporalInformationModified, "UNMODIFIED")
)

// codeElements are the elements of an item for each of methodCodes.
var codeElements = func() (elements [len(methodCodes)][3]*dicom.Element) {
	for i, c := range methodCodes {
		elements[i] = [3]*dicom.Element{
			dicom.Text(tag.CodeValue, c.value), dicom.Text(tag.CodingSchemeDesignator, c.scheme), dicom.Text(tag.CodeMeaning, c.meaning),
		}
	}
	return elements
}()

// add sets an element of the outermost data set and notes it where the file did not have it already.
func (p *pass) add(src, out *dicom.Dataset, e *dicom.Element) {
	out.Set(e)
	before, ok := src.Get(e.Tag)
	if ok && !e.IsSequence() && string(trim(before.Value)) == string(trim(e.Value)) {
		return
	}
	p.path[0] = dicom.Step{Tag: e.Tag}
	p.note(src, before, Added, out, e)
}

// methodOf is De-identification Method (0012,0063): for people, by the options' names.
func methodOf(o *Options) *dicom.Element {
	values := []string{"DICOM PS3.15 " + tag.Edition + " Table E.1-1 Basic Profile"}
	for i := range options {
		if options[i].on(o) {
			values = append(values, options[i].name)
		}
	}
	if o.EmptyTimes {
		values = append(values, emptyTimes)
	}
	return dicom.Text(tag.DeidentificationMethod, values...)
}

// codes are the items of De-identification Method Code Sequence: what this plan does, and what earlier
// de-identifications did, if the codes are those of CID 7050.
func (p *pass) codes(src *dicom.Dataset) []*dicom.Dataset {
	var items []*dicom.Dataset
	earlier := src.Items(tag.DeidentificationMethodCodeSequence)
	for i, c := range methodCodes {
		if p.plan.does(c.value) || c.value == cleanPixels && len(p.subject.Blackout) > 0 || claims(earlier, c) {
			items = append(items, dicom.NewDataset(codeElements[i][:]...))
		}
	}
	return items
}

// cleanPixels is the code of the Clean Pixel Data Option.
const cleanPixels = "113101"

func (p *Plan) does(code string) bool {
	for _, c := range p.codes {
		if c == code {
			return true
		}
	}
	return false
}

// claims reports whether the items of a code sequence name a code.
func claims(items []*dicom.Dataset, c methodCode) bool {
	for _, item := range items {
		value, _ := item.String(tag.CodeValue)
		scheme, _ := item.String(tag.CodingSchemeDesignator)
		if value == c.value && scheme == c.scheme {
			return true
		}
	}
	return false
}

// temporal is Longitudinal Temporal Information Modified (0028,0303). What was modified before is not
// made whole by leaving it alone now.
func (p *pass) temporal(src *dicom.Dataset) *dicom.Element {
	before, _ := src.String(tag.LongitudinalTemporalInformationModified)
	switch {
	case !p.plan.options.RetainFullDates && !p.plan.options.ShiftDates || before == "REMOVED":
		return datesRemoved
	case p.plan.options.ShiftDates || p.plan.options.EmptyTimes || before == "MODIFIED":
		return datesModified
	}
	return datesUnmodified
}

// meta gives the new file's header what its data set lacks and notes what of the old one is gone:
// dicom.Write makes it anew.
func (p *pass) meta(f, out *dicom.File) {
	p.path = append(p.path[:0], dicom.Step{})
	for t, e := range f.Meta.All() {
		p.path[0] = dicom.Step{Tag: t}
		switch {
		case t == tag.MediaStorageSOPClassUID:
			p.classUID(f.Meta, out.Meta, e)
		case t == tag.MediaStorageSOPInstanceUID:
			p.metaInstance(f.Meta, out, e)
		case t == tag.ImplementationClassUID || t == tag.ImplementationVersionName:
			p.note(f.Meta, e, Replaced, out.Meta, nil) // by those of who writes
		case t >= tag.SourceApplicationEntityTitle:
			p.note(f.Meta, e, Removed, out.Meta, nil)
		}
	}
	p.path = p.path[:0]
}

// metaInstance maps the header's instance UID, which Write takes where the data set has none.
func (p *pass) metaInstance(meta *dicom.Dataset, out *dicom.File, e *dicom.Element) {
	if p.plan.options.RetainUIDs {
		p.classUID(meta, out.Meta, e)
		return
	}
	p.uids(meta, out.Meta, e)
}
