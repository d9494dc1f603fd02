package imaging_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"filmroom/imaging"
)

// allowed are the outcomes that the samples' index leaves open for what it expects of a file.
var allowed = map[string][]imaging.Outcome{
	"import":           {imaging.Imported, imaging.Duplicate, imaging.Conflict},
	"parse-only":       {imaging.Incomplete},
	"skip-dicomdir":    {imaging.DICOMDIR},
	"import-or-refuse": {imaging.Imported, imaging.Duplicate, imaging.Conflict, imaging.Unreadable, imaging.Incomplete, imaging.NotDICOM},
	"refuse":           {imaging.Unreadable, imaging.NotDICOM, imaging.Incomplete},
	"no-crash":         {imaging.Imported, imaging.Duplicate, imaging.Conflict, imaging.Unreadable, imaging.Incomplete, imaging.NotDICOM},
}

func TestRealFilesEndAsTheirIndexExpects(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("FILMROOM_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "shared")
	}
	dir := filepath.Join(shared, "dicom-samples")
	index, err := os.Open(filepath.Join(dir, "index.tsv"))
	if err != nil {
		t.Skip("the DICOM samples are not on this machine: ", err)
	}
	defer index.Close()
	r := csv.NewReader(index)
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = '\t', true, -1
	rows, err := r.ReadAll()
	check(t, err)
	path, expect := slices.Index(rows[0], "path"), slices.Index(rows[0], "expect")
	var files []file
	for _, row := range rows[1:] {
		files = append(files, file{row[path], read(t, filepath.Join(dir, row[path]))})
	}
	d := setup(t)
	task := d.bring(zipOf("samples.zip", files...))
	receipt := d.receipt(task.ID)
	if len(receipt) != len(files) {
		t.Fatalf("%d files were sent, the receipt has %d rows", len(files), len(receipt))
	}
	for i, row := range receipt {
		want := rows[i+1][expect]
		if !slices.Contains(allowed[want], row.Outcome) {
			t.Errorf("%s is %s (%s), want %s", row.Name, row.Outcome, row.Reason, want)
		}
	}
	for _, s := range d.series(ada) {
		if _, err := d.Preview(t.Context(), ada, s.ID, imaging.PreviewOptions{Index: -1}); err != nil && !noPreview(err) {
			t.Errorf("preview of a series of %s: %v", s.Modality, err)
		}
	}
	exported, _ := d.takeOut(imaging.ExportRequest{})
	t.Log(task.Progress.Message, "; ", exported.Progress.Message)
}
