package deid

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

var (
	// ErrHeld: the pixels, or a document, may show who the patient is; a person must look at them first.
	ErrHeld = errors.New("held back")
	// ErrRefused: the file holds what no plan can clean, such as a voice.
	ErrRefused = errors.New("cannot be de-identified")
)

// hold refuses what must not leave.
func (p *Plan) hold(f *dicom.File, s *Subject) error {
	if f.Partial {
		return fmt.Errorf("%w: read only up to its pixels", dicom.ErrIncomplete)
	}
	if err := p.refuse(f); err != nil {
		return err
	}
	if reason := unseen(f); reason != "" && !s.PixelsReviewed && len(s.Blackout) == 0 {
		return fmt.Errorf("%w: %s; a person must look at the series first", ErrHeld, reason)
	}
	return nil
}

// refuse says which kinds of files no plan can clean.
func (p *Plan) refuse(f *dicom.File) error {
	class := f.SOPClass()
	if class == uid.MediaStorageDirectory {
		return fmt.Errorf("%w: a DICOMDIR, which is no image", ErrRefused)
	}
	if slices.Contains(spoken, class) {
		return fmt.Errorf("%w: a recording of sound, in which somebody may speak", ErrRefused)
	}
	return nil
}

// refuseElement says which element, at whatever depth, must not leave as it is.
func (p *pass) refuseElement(e *dicom.Element) error {
	switch {
	case e.Tag == tag.EncapsulatedDocument && !e.IsEmpty() && !p.subject.PixelsReviewed:
		return fmt.Errorf("%w: an encapsulated document, whose text cannot be searched; a person must read it first", ErrHeld)
	case e.Tag == tag.WaveformAnnotationSequence && !e.IsEmpty() && !p.plan.options.CleanStructuredContent:
		return fmt.Errorf("%w: annotated waveforms; the option to clean structured content takes them", ErrRefused)
	}
	return nil
}

// spoken are the classes of sound.
var spoken = []string{uid.BasicVoiceAudioWaveformStorage, uid.GeneralAudioWaveformStorage}

// unseen says why the pixels may show who the patient is, "" if there is no reason to think so.
func unseen(f *dicom.File) string {
	d := f.Dataset
	if !d.Has(tag.PixelData) {
		return ""
	}
	burned := burnedIn(d)
	modality, _ := d.String(tag.Modality)
	_, converted := d.String(tag.ConversionType)
	switch {
	case burned != "" && burned != "NO":
		return "Burned In Annotation does not say NO"
	case slices.ContainsFunc(imageType(d), isScreen):
		return "a screen was saved, with all the text on it"
	case burned == "NO":
		return ""
	case !acquired[f.SOPClass()]:
		return "an image of this kind often shows names, and Burned In Annotation does not say NO"
	case slices.Contains(drawn, modality):
		return "an image of this modality often shows names, and Burned In Annotation does not say NO"
	case converted:
		return "it was captured from a film, a screen or paper, and Burned In Annotation does not say NO"
	}
	return ""
}

// burnedIn is what Burned In Annotation says, in capitals; "" where it says nothing.
func burnedIn(d *dicom.Dataset) string {
	e, ok := d.Get(tag.BurnedInAnnotation)
	if !ok || e.IsEmpty() {
		return ""
	}
	if e.VR != vr.CS {
		return "?" // not to be read
	}
	return strings.ToUpper(string(trim(e.Value)))
}

func imageType(d *dicom.Dataset) []string {
	values, _ := d.Strings(tag.ImageType)
	return values
}

// isScreen tells by a value of Image Type what scanners write for a picture of their own screen, or for
// the label of a slide.
func isScreen(value string) bool {
	switch strings.ReplaceAll(strings.ToUpper(value), "_", " ") {
	case "SCREEN SAVE", "SCREEN SHOT", "SCREENSHOT", "SCREENSAVE", "DOSE INFO", "LABEL":
		return true
	}
	return false
}

// drawn are modalities whose images carry text that a machine or a person put there.
var drawn = []string{"US", "IVUS", "EPS", "OT", "SC", "ES", "XC", "GM", "SM", "DG", "DOC", "HC", "BDUS", "BMD", "ECG", "VID"}

// acquired are the classes of images that come from a detector rather than from a screen or a camera,
// so that nothing is burned in unless the file says so. A class that is not here is not trusted.
var acquired = map[string]bool{
	uid.ComputedRadiographyImageStorage:        true,
	"1.2.840.10008.5.1.4.1.1.1.1":              true, // Digital X-Ray, for presentation
	"1.2.840.10008.5.1.4.1.1.1.1.1":            true, // Digital X-Ray, for processing
	"1.2.840.10008.5.1.4.1.1.1.2":              true, // Digital Mammography, for presentation
	"1.2.840.10008.5.1.4.1.1.1.2.1":            true, // Digital Mammography, for processing
	"1.2.840.10008.5.1.4.1.1.1.3":              true, // Digital Intra-Oral X-Ray, for presentation
	"1.2.840.10008.5.1.4.1.1.1.3.1":            true, // Digital Intra-Oral X-Ray, for processing
	"1.2.840.10008.5.1.4.1.1.13.1.1":           true, // X-Ray 3D Angiographic
	"1.2.840.10008.5.1.4.1.1.13.1.2":           true, // X-Ray 3D Craniofacial
	uid.BreastTomosynthesisImageStorage:        true,
	uid.XRayAngiographicImageStorage:           true,
	uid.EnhancedXAImageStorage:                 true,
	uid.XRayRadiofluoroscopicImageStorage:      true,
	uid.EnhancedXRFImageStorage:                true,
	uid.CTImageStorage:                         true,
	uid.EnhancedCTImageStorage:                 true,
	uid.LegacyConvertedEnhancedCTImageStorage:  true,
	uid.MRImageStorage:                         true,
	uid.EnhancedMRImageStorage:                 true,
	uid.EnhancedMRColorImageStorage:            true,
	uid.LegacyConvertedEnhancedMRImageStorage:  true,
	uid.NuclearMedicineImageStorage:            true,
	uid.PositronEmissionTomographyImageStorage: true,
	uid.EnhancedPETImageStorage:                true,
	uid.LegacyConvertedEnhancedPETImageStorage: true,
	uid.RTImageStorage:                         true,
	uid.RTDoseStorage:                          true,
	uid.EnhancedRTImageStorage:                 true,
	uid.EnhancedContinuousRTImageStorage:       true,
	uid.SegmentationStorage:                    true,
	uid.LabelMapSegmentationStorage:            true,
	uid.HeightMapSegmentationStorage:           true,
	uid.ParametricMapStorage:                   true,
	uid.OphthalmicTomographyImageStorage:       true,
}
