// Package phantom writes synthetic CT studies: a body with lungs, heart, spine and table in a realistic
// amount of noise, so that files and archives of them have the size of real ones. The same study is
// the same bytes on every machine. No person was ever scanned for it.
package phantom

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"time"

	"filmroom/dicom"
	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// Study describes a synthetic CT study. The zero Study is one series of one slice.
type Study struct {
	Seed      uint64 // all UIDs and all noise follow from it
	Series    int    // number of series; 0 counts as 1
	Slices    int    // slices in each series; 0 counts as 1
	Size      int    // rows and columns; 0 counts as 512
	Patient   string // PN value; "" counts as "Phantom^Sample"
	PatientID string // "" counts as "PHANTOM"
}

// Files is the number of files: the slices of all series.
func (s Study) Files() int { return max(s.Series, 1) * max(s.Slices, 1) }

// UID is the study instance UID.
func (s Study) UID() string { return s.derive("study", 0) }

// SeriesUID is the instance UID of series n, from 0.
func (s Study) SeriesUID(n int) string { return s.derive("series", n) }

// InstanceUID is the SOP instance UID of file i, from 0.
func (s Study) InstanceUID(i int) string { return s.derive("instance", i) }

// derive makes a UID from a 128-bit number (PS3.5 section B.2).
func (s Study) derive(what string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "filmroom phantom %d %s %d", s.Seed, what, n))
	return "2.25." + new(big.Int).SetBytes(sum[:16]).String()
}

// Write writes file i, from 0 to Files()-1, in explicit VR little endian: half a megabyte at the
// default size.
func (s Study) Write(i int, w io.Writer) error {
	return dicom.Write(w, dicom.NewFile(s.Dataset(i), uid.ExplicitLE))
}

// Dataset is the data set of file i.
func (s Study) Dataset(i int) *dicom.Dataset {
	slices := max(s.Slices, 1)
	series, slice := i/slices, i%slices
	d := dicom.NewDataset()
	s.patient(d)
	s.equipment(d)
	s.series(d, series)
	s.image(d, i, slice)
	return d
}

// start is when every phantom study was made.
var start = time.Date(2024, time.March, 5, 9, 30, 0, 0, time.UTC)

func (s Study) patient(d *dicom.Dataset) {
	for _, e := range []*dicom.Element{
		dicom.Text(tag.PatientName, or(s.Patient, "Phantom^Sample")),
		dicom.Text(tag.PatientID, or(s.PatientID, "PHANTOM")),
		dicom.Text(tag.PatientBirthDate, "19700101"),
		dicom.Text(tag.PatientSex, "O"),
		dicom.Text(tag.PatientAge, "054Y"),
		dicom.Floats(tag.PatientWeight, 75),
		dicom.Text(tag.StudyInstanceUID, s.UID()),
		dicom.Text(tag.StudyDate, dicom.FormatDate(start)),
		dicom.Text(tag.StudyTime, start.Format("150405")),
		dicom.Text(tag.StudyID, "1"),
		dicom.Text(tag.AccessionNumber, fmt.Sprintf("%d", s.Seed%1e10)),
		dicom.Text(tag.StudyDescription, "Synthetic chest"),
		dicom.Text(tag.ReferringPhysicianName, "Nobody^Referring"),
	} {
		d.Set(e)
	}
}

func (s Study) equipment(d *dicom.Dataset) {
	for _, e := range []*dicom.Element{
		dicom.Text(tag.SpecificCharacterSet, "ISO_IR 100"),
		dicom.Text(tag.Modality, "CT"),
		dicom.Text(tag.Manufacturer, "Filmroom"),
		dicom.Text(tag.ManufacturerModelName, "Phantom"),
		dicom.Text(tag.InstitutionName, "Filmroom"),
		dicom.Text(tag.StationName, "PHANTOM1"),
		dicom.Text(tag.DeviceSerialNumber, "0"),
		dicom.Text(tag.SoftwareVersions, "1"),
		dicom.Floats(tag.KVP, 120),
		dicom.Ints(tag.XRayTubeCurrent, 200),
		dicom.Ints(tag.ExposureTime, 500),
		dicom.Ints(tag.Exposure, 100),
		dicom.Text(tag.ConvolutionKernel, "STANDARD"),
		dicom.Floats(tag.DataCollectionDiameter, 500),
		dicom.Floats(tag.ReconstructionDiameter, 360),
		dicom.Text(tag.PatientPosition, "HFS"),
		dicom.Floats(tag.GantryDetectorTilt, 0),
		dicom.Floats(tag.TableHeight, 150),
		dicom.Text(tag.RotationDirection, "CW"),
	} {
		d.Set(e)
	}
}

func (s Study) series(d *dicom.Dataset, series int) {
	at := start.Add(time.Duration(series) * 5 * time.Minute)
	for _, e := range []*dicom.Element{
		dicom.Text(tag.SeriesInstanceUID, s.SeriesUID(series)),
		dicom.Ints(tag.SeriesNumber, int64(series)+1),
		dicom.Text(tag.SeriesDescription, fmt.Sprintf("Axial %d", series+1)),
		dicom.Text(tag.SeriesDate, dicom.FormatDate(at)),
		dicom.Text(tag.SeriesTime, at.Format("150405")),
		dicom.Text(tag.BodyPartExamined, "CHEST"),
		dicom.Text(tag.ProtocolName, "Phantom"),
		dicom.Text(tag.FrameOfReferenceUID, s.derive("frame of reference", 0)),
		dicom.Text(tag.PositionReferenceIndicator, ""),
	} {
		d.Set(e)
	}
}

// image is the image modules: geometry, and pixels as stored values 1024 above Hounsfield units.
func (s Study) image(d *dicom.Dataset, i, slice int) {
	size := or(s.Size, 512)
	spacing := 360 / float64(size)
	z := float64(slice) * -1.25
	for _, e := range []*dicom.Element{
		dicom.Text(tag.SOPClassUID, uid.CTImageStorage),
		dicom.Text(tag.SOPInstanceUID, s.InstanceUID(i)),
		dicom.Text(tag.ImageType, "ORIGINAL", "PRIMARY", "AXIAL"),
		dicom.Text(tag.AcquisitionDate, dicom.FormatDate(start)),
		dicom.Text(tag.AcquisitionTime, start.Add(time.Duration(slice)*time.Millisecond).Format("150405.000")),
		dicom.Ints(tag.AcquisitionNumber, 1),
		dicom.Ints(tag.InstanceNumber, int64(slice)+1),
		dicom.Floats(tag.ImagePositionPatient, -180, -180, z),
		dicom.Floats(tag.ImageOrientationPatient, 1, 0, 0, 0, 1, 0),
		dicom.Floats(tag.SliceLocation, z),
		dicom.Floats(tag.SliceThickness, 1.25),
		dicom.Floats(tag.PixelSpacing, spacing, spacing),
		dicom.Ints(tag.SamplesPerPixel, 1),
		dicom.Text(tag.PhotometricInterpretation, "MONOCHROME2"),
		dicom.Ints(tag.Rows, int64(size)),
		dicom.Ints(tag.Columns, int64(size)),
		dicom.Ints(tag.BitsAllocated, 16),
		dicom.Ints(tag.BitsStored, 12),
		dicom.Ints(tag.HighBit, 11),
		dicom.Ints(tag.PixelRepresentation, 0),
		dicom.Floats(tag.WindowCenter, 40),
		dicom.Floats(tag.WindowWidth, 400),
		dicom.Floats(tag.RescaleIntercept, -1024),
		dicom.Floats(tag.RescaleSlope, 1),
		dicom.Text(tag.RescaleType, "HU"),
		dicom.New(tag.PixelData, vr.OW, s.pixels(size, i, slice)),
	} {
		d.Set(e)
	}
}

// pixels paints a slice and puts noise on it.
func (s Study) pixels(size, i, slice int) []byte {
	b := make([]byte, 2*size*size)
	grain := newNoise(s.Seed, uint64(i))
	organs := anatomy(float64(slice) / float64(max(s.Slices, 1)))
	for row := range size {
		y := 2*float64(row)/float64(size) - 1
		spans := scan(organs, y, size)
		for col := range size {
			hu := paint(spans, col)
			value := hu + grain.next(hu)
			binary.LittleEndian.PutUint16(b[2*(row*size+col):], uint16(min(max(value+1024, 0), 4095)))
		}
	}
	return b
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
