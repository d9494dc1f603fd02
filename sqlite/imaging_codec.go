package sqlite

import (
	"strings"
	"time"

	"filmroom/imaging"
	"filmroom/sqlite/internal/lite"
)

var seriesColumns = codec[imaging.Series]{
	textColumn("seriesId", func(s *imaging.Series) *string { return &s.ID }),
	textColumn("libraryId", func(s *imaging.Series) *string { return &s.LibraryID }),
	textColumn("seriesUid", func(s *imaging.Series) *string { return &s.SeriesUID }),
	textColumn("studyUid", func(s *imaging.Series) *string { return &s.StudyUID }),
	textColumn("patientId", func(s *imaging.Series) *string { return &s.PatientID }),
	textColumn("patientName", func(s *imaging.Series) *string { return &s.PatientName }),
	textColumn("patientBirthDate", func(s *imaging.Series) *string { return &s.PatientBirth }),
	textColumn("studyDate", func(s *imaging.Series) *string { return &s.StudyDate }),
	textColumn("studyDescription", func(s *imaging.Series) *string { return &s.StudyDesc }),
	textColumn("accessionNumber", func(s *imaging.Series) *string { return &s.Accession }),
	textColumn("modality", func(s *imaging.Series) *string { return &s.Modality }),
	textColumn("description", func(s *imaging.Series) *string { return &s.Description }),
	textColumn("bodyPart", func(s *imaging.Series) *string { return &s.BodyPart }),
	intColumn("seriesNumber", func(s *imaging.Series) *int { return &s.SeriesNumber }),
	textColumn("burnedInAnnotation", func(s *imaging.Series) *string { return &s.BurnedIn }),
	intColumn("instances", func(s *imaging.Series) *int { return &s.Instances }),
	intColumn("bytes", func(s *imaging.Series) *int64 { return &s.Bytes }),
	timeColumn("importedAt", func(s *imaging.Series) *time.Time { return &s.ImportedAt }),
	textColumn("taskId", func(s *imaging.Series) *string { return &s.TaskID }),
	{
		name: "patientNameFold",
		bind: func(stmt *lite.Stmt, s *imaging.Series) { stmt.Text(strings.ToLower(s.PatientName)) },
		read: func(stmt *lite.Stmt, _ *imaging.Series) { stmt.Skip() },
	},
}

var instanceColumns = codec[imaging.Instance]{
	textColumn("libraryId", func(i *imaging.Instance) *string { return &i.LibraryID }),
	textColumn("seriesId", func(i *imaging.Instance) *string { return &i.SeriesID }),
	textColumn("sopInstanceUid", func(i *imaging.Instance) *string { return &i.SOPInstanceUID }),
	textColumn("sopClassUid", func(i *imaging.Instance) *string { return &i.SOPClassUID }),
	textColumn("transferSyntax", func(i *imaging.Instance) *string { return &i.TransferSyntax }),
	intColumn("instanceNumber", func(i *imaging.Instance) *int { return &i.InstanceNumber }),
	intColumn("frames", func(i *imaging.Instance) *int { return &i.Frames }),
	intColumn(`"rows"`, func(i *imaging.Instance) *int { return &i.Rows }),
	intColumn(`"columns"`, func(i *imaging.Instance) *int { return &i.Columns }),
	intColumn("size", func(i *imaging.Instance) *int64 { return &i.Size }),
	textColumn("sha256", func(i *imaging.Instance) *string { return &i.SHA256 }),
	textColumn("taskId", func(i *imaging.Instance) *string { return &i.TaskID }),
	intColumn("entry", func(i *imaging.Instance) *int64 { return &i.Entry }),
	timeColumn("addedAt", func(i *imaging.Instance) *time.Time { return &i.AddedAt }),
}

var receiptColumns = codec[imaging.Receipt]{
	textColumn("taskId", func(r *imaging.Receipt) *string { return &r.TaskID }),
	intColumn(`"index"`, func(r *imaging.Receipt) *int64 { return &r.Index }),
	textColumn("outcome", func(r *imaging.Receipt) *imaging.Outcome { return &r.Outcome }),
	textColumn("name", func(r *imaging.Receipt) *string { return &r.Name }),
	intColumn("size", func(r *imaging.Receipt) *int64 { return &r.Size }),
	textColumn("reason", func(r *imaging.Receipt) *string { return &r.Reason }),
	textColumn("sopInstanceUid", func(r *imaging.Receipt) *string { return &r.SOPInstanceUID }),
	textColumn("seriesUid", func(r *imaging.Receipt) *string { return &r.SeriesUID }),
	textColumn("studyUid", func(r *imaging.Receipt) *string { return &r.StudyUID }),
}
