// Package deid de-identifies DICOM files by the book: the Basic Application Level Confidentiality
// Profile of PS3.15 Annex E and its options, at every nesting level, and what identifies a person
// beyond the profile's table.
//
// # A file's way
//
//	Compile   profile and options become a Plan: one treatment for each attribute of Table E.1-1
//	hold      what must not leave unseen is refused: burned-in names, documents, voices
//	gather    the values that will go are collected: names, numbers, dates, descriptions
//	rewrite   a new data set is built; what stays is searched for what was gathered
//	mark      Patient Identity Removed and how, file meta information, a blank preamble
//	write     pixel data is streamed from its source, never held
//
// A Plan is compiled once and used by many goroutines. A Subject says who the file is about: the
// pseudonym, the keys, the offset of dates. The same plan, file and subject give the same bytes.
//
// # Compound actions
//
// X/Z, X/D, Z/D, X/Z/D and X/Z/U* in Table E.1-1 depend on the attribute's Type in its IOD. The plan
// takes the last letter: the element stays, emptied or with a dummy. That conforms to every IOD and
// keeps no value.
//
// # Beyond the table
//
// The table lists attributes; identity also hides elsewhere. The preamble is zeroed, the file meta
// information rewritten; bytes after the data set and padding after the pixels are dropped; overlays in
// unused bits of the pixels and comments within compressed ones are blanked. Private elements and
// standard elements unknown to the dictionary go. Elements outside the table go too where their value
// representation says that they name a person or a date, and their UIDs are mapped unless they name a
// class. Text that stays is searched for the patient's names, numbers and birth date and for every value
// that was removed from the file; bytes that stay are searched for the patient's names and numbers too.
//
// # What is not found
//
// An image must stay an image, so some places are searched for less. A number (IS, DS, a binary one of four
// bytes or more) and a UID's component are held against whole numbers of the patient's of six digits or more
// (eight in binary), and against removed dates. Coded values (CS, AE) are searched for the patient, other people
// and institutions, not for removed descriptions, and common defined terms stay. Manufacturer, Software Versions and
// code tables are searched for the patient alone; Manufacturer's Model Name for people and institutions too.
// Descriptions that an option keeps are not searched for what private text said, unless that was a name:
// makers copy descriptions there. UIDs that an option keeps are kept whatever they say. Parts of names under
// three characters are found in text that people write, as words; removed values under three characters nowhere.
// Within compressed pixels, all that JPEG, JPEG-LS, JPEG 2000 and RLE do not need for the image is blanked; video and
// JPEG XL are not looked into.
//
// Pixels that may show a name, and documents, are held back until somebody looked: the subject then says so, or brings
// rectangles to black out. Those are painted into native pixels; RLE and JPEG Baseline are decompressed for it, one frame
// of at most 64 MiB at a time, and leave as native ones. In pixels compressed otherwise nothing can be blacked out.
// Around a rectangle in a picture that was JPEG a few pixels may keep a shimmer of what JPEG smeared out of it.
//
// # Failing closed
//
// What cannot be read to its end cannot be written: Apply returns an error and what it has written so
// far must be discarded. Errors and reports hold no value of the file.
package deid
