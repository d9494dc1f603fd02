// Package dicom reads and writes the DICOM file format (PS3.5 and PS3.10) and distrusts every byte of it.
//
// It is built in four layers. Each knows only the one below it:
//
//	bytes     input: a window onto an io.ReaderAt; no length from the file is believed before it is
//	          held against the bytes that are left
//	element   tag, value representation, length, value; values up to 64 KiB are held, larger ones and
//	          pixel data stay where they are and are reached through an io.SectionReader
//	data set  elements in ascending order, sequences of further data sets, the character set that
//	          applies to them, values as Go types
//	file      preamble, file meta information, transfer syntax, and a guess where these are missing
//
// # Reading
//
// Parse reads a file's header at the price of its header, whatever the file's size:
//
//	f, err := dicom.Parse(r, size)
//	name, ok := f.Dataset.PersonName(tag.PatientName)
//	rows, err := f.Dataset.Int(tag.Rows)
//
// Values are normalised while reading: bytes are little endian in memory whatever the file's order
// was, and text is decoded on demand by the data set's effective character set, which a nested data
// set inherits (PS3.5 section 6.1.2.5). Elements keep their padding and their defined or undefined
// lengths, so that what is read and written again is the same file.
//
// Scanners and archives write files that break the standard in well-known ways. By default such a
// file is read, and what was wrong with it stands in File.Warnings; with Strict it is refused. A file
// that ends too soon is refused always: nobody may take half an image for a whole one.
//
// Errors are of type *Error: a sentinel such as ErrTruncated with the path to the element and the
// byte offset, "(0008,1140)[2] > (0008,1155) at 1,204: value runs past its sequence". They never hold a
// value from the file, so that a log or a report cannot leak a patient's name.
//
// # Memory
//
// A file cannot make Parse allocate more than MaxMemory (64 MiB unless told otherwise), nest deeper
// than MaxDepth, or inflate to more than MaxInflated. Time is linear in the bytes read.
//
// # Writing
//
// Write streams a file: large values are copied from their source, never held. NewDataset and the
// constructors beside it (Text, Ints, Floats, Sequence...) build data sets from nothing.
//
// Tags, value representations and well-known UIDs have packages of their own beside this one:
// dicom/tag, dicom/vr, dicom/uid; dicom/phantom writes synthetic CT images, dicom/deid de-identifies.
package dicom

//go:generate go run ./internal/gen .

import (
	"filmroom/dicom/tag"
	"filmroom/dicom/vr"
)

// Tag is a data element tag; the constants stand in dicom/tag.
type Tag = tag.Tag

// VR is a value representation; the constants stand in dicom/vr.
type VR = vr.VR
