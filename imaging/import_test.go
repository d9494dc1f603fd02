package imaging_test

import (
	"testing"

	"filmroom/dicom/phantom"
	"filmroom/imaging"
)

func TestAZIPOfAStudyComesInAsOneSeries(t *testing.T) {
	t.Parallel()
	d := setup(t)
	task := d.bring(zipOf("study.zip", study(phantom.Study{Slices: 5})...))
	same(t, "receipt", d.outcomes(task.ID), []string{
		"study/IM0000 imported", "study/IM0001 imported", "study/IM0002 imported", "study/IM0003 imported", "study/IM0004 imported",
	})
	if task.Name != "Import, 5 files" || task.Progress.Message != "5 images imported" {
		t.Errorf("task says %q, %q", task.Name, task.Progress.Message)
	}
	all := d.series(ada)
	if len(all) != 1 || all[0].Instances != 5 || all[0].Modality != "CT" || all[0].PatientName != "Phantom^Sample" || all[0].StudyDate != "20240305" {
		t.Errorf("library has %+v", all)
	}
	if left := d.paths("staging"); len(left) > 0 {
		t.Errorf("staged input is left: %v", left)
	}
	if others := d.series(bob); len(others) > 0 {
		t.Errorf("somebody else sees %v", others)
	}
	_ = imaging.Imported
}
