// Package imaging is the desk's work: it brings medical images in, keeps them in libraries, shows them,
// and lets them out de-identified. What takes longer than a moment is a task of package tasks; what a DICOM
// file is, package dicom knows.
//
// # An import
//
//	transfer ──> staging/<taskId> ──> [walk] ──> workers: read, hash, parse, write ──> [commit, in order]
//	             data, manifest        entries    in parallel                           files, then rows
//
// A transfer streams into one file with a manifest beside it, both synced before the task exists. The import
// tells archives by their first bytes, hands their entries to workers in order, and takes them back in the
// same order: a batch of files is synced and renamed, then the rows that refer to them are stored in one
// go. What becomes of a file depends on its bytes, its place and the library alone, never on which worker was
// faster; budgets against bombs are spent by announced sizes in the order of entries. So an import that is
// killed anywhere and runs again ends with the same receipt, byte for byte. Each file that was sent has a
// row there, whatever it was; one that cannot be read stops nothing. Only the desk's own trouble, such as a
// full disk, fails an import, and keeps what was committed.
//
// # Files
//
// A file's name is the SHA-256 of its bytes. It gets that name when it is whole and on the disk, so a name
// is a promise. Deleting a series drops rows; an hourly sweep removes files that nothing has referred to for
// a day. Nothing that somebody sent is ever used as a path. Limits.MinFree of the disk stays free for the
// database.
//
// # An export
//
//	[instances, in order] ──> workers: parse, de-identify, deflate, hash ──> [archive, in order]
//
// Keys, pseudonyms and offsets of dates are fixed at submit and sealed with the task under the desk's key, so
// that a rerun makes the same archive. Names in it are numbers. It ends with manifest.sha256, which sha256sum -c
// reads, report.json, which sums up what was changed, and changes.jsonl, which says it image by image. What cannot leave safely is left out and listed; an
// option that is not carried out completely is refused at submit.
//
// # Memory
//
// An import or export holds a few megabytes for each worker, a window of small records, and the directory
// of one ZIP at a time (about 300 bytes an entry, Limits.MaxEntries at most). Files larger than that go
// through temporary ones.
package imaging
