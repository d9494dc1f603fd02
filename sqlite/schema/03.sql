CREATE TABLE libraries (
	libraryId TEXT NOT NULL PRIMARY KEY,
	ownerId TEXT NOT NULL,
	createdAt INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX libraries_owner ON libraries(ownerId);

CREATE TABLE series (
	row INTEGER PRIMARY KEY,
	seriesId TEXT NOT NULL,
	libraryId TEXT NOT NULL,
	seriesUid TEXT NOT NULL,
	studyUid TEXT NOT NULL,
	patientId TEXT NOT NULL,
	patientName TEXT NOT NULL,
	patientBirthDate TEXT NOT NULL,
	studyDate TEXT NOT NULL,
	studyDescription TEXT NOT NULL,
	accessionNumber TEXT NOT NULL,
	modality TEXT NOT NULL,
	description TEXT NOT NULL,
	bodyPart TEXT NOT NULL,
	seriesNumber INTEGER NOT NULL,
	burnedInAnnotation TEXT NOT NULL,
	instances INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	importedAt INTEGER,
	taskId TEXT NOT NULL,
	patientNameFold TEXT NOT NULL -- in lower case, for searches
) STRICT;

CREATE UNIQUE INDEX series_id ON series(seriesId);
CREATE UNIQUE INDEX series_uid ON series(libraryId, seriesUid);
CREATE INDEX series_study ON series(libraryId, studyUid);
CREATE INDEX series_patient ON series(libraryId, patientId);
CREATE INDEX series_task ON series(taskId);
CREATE INDEX series_modality ON series(libraryId, modality);
CREATE INDEX series_name_fold ON series(libraryId, patientNameFold);

-- The orders of a library.
CREATE INDEX series_imported ON series(libraryId, importedAt, seriesId);
CREATE INDEX series_date ON series(libraryId, studyDate, seriesId);
CREATE INDEX series_name ON series(libraryId, patientName, seriesId);

CREATE TABLE series_words (
	libraryId TEXT NOT NULL,
	word TEXT NOT NULL,
	row INTEGER NOT NULL, -- of series
	PRIMARY KEY (libraryId, word, row)
) STRICT, WITHOUT ROWID;

CREATE TABLE instances (
	row INTEGER PRIMARY KEY,
	libraryId TEXT NOT NULL,
	seriesId TEXT NOT NULL,
	sopInstanceUid TEXT NOT NULL,
	sopClassUid TEXT NOT NULL,
	transferSyntax TEXT NOT NULL,
	instanceNumber INTEGER NOT NULL,
	frames INTEGER NOT NULL,
	"rows" INTEGER NOT NULL,
	"columns" INTEGER NOT NULL,
	size INTEGER NOT NULL,
	sha256 TEXT NOT NULL,
	taskId TEXT NOT NULL,
	entry INTEGER NOT NULL,
	addedAt INTEGER
) STRICT;

CREATE UNIQUE INDEX instances_uid ON instances(libraryId, sopInstanceUid);
CREATE INDEX instances_series ON instances(seriesId, instanceNumber, sopInstanceUid);
CREATE INDEX instances_sha256 ON instances(sha256);

CREATE TABLE receipts (
	taskId TEXT NOT NULL,
	"index" INTEGER NOT NULL,
	outcome TEXT NOT NULL,
	name TEXT NOT NULL,
	size INTEGER NOT NULL,
	reason TEXT NOT NULL,
	sopInstanceUid TEXT NOT NULL,
	seriesUid TEXT NOT NULL,
	studyUid TEXT NOT NULL,
	PRIMARY KEY (taskId, "index")
) STRICT, WITHOUT ROWID;

CREATE INDEX receipts_outcome ON receipts(taskId, outcome, "index");

-- A key of this file's own, with which cursors are sealed that must not tell where they point.
CREATE TABLE secrets (
	name TEXT NOT NULL PRIMARY KEY,
	secret BLOB NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO secrets (name, secret) VALUES ('cursor', randomblob(32));
