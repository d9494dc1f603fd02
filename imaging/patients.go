package imaging

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"filmroom/dicom"
	"filmroom/dicom/deid"
	"filmroom/dicom/tag"
	"filmroom/tasks"
)

// A patient is whom images are about, as far as their texts tell people apart: a patient id is unique in one
// hospital only, so the birth date counts as well, and where there is none, the name. Two who differ in
// any of it never share a pseudonym; the same person written in two ways gets two, which gives nothing away.
type patient string

func patientOf(id, name, birth, studyUID string) patient {
	parts := []string{strings.TrimSpace(id), birth}
	if birth == "" {
		parts = append(parts, strings.Join(words(name), " "))
	}
	if id == "" {
		parts = append(parts, strings.Join(words(name), " "))
	}
	if strings.Join(parts, "") == "" {
		parts = append(parts, studyUID)
	}
	return patient(strings.Join(parts, "\x00"))
}

// patientOfSeries is the patient of a series' first instance.
func patientOfSeries(s Series) patient {
	return patientOf(s.PatientID, s.PatientName, s.PatientBirth, s.StudyUID)
}

// patientOfFile is the patient that a file itself names.
func patientOfFile(f *dicom.File) patient {
	d := f.Dataset
	study, _ := d.UID(tag.StudyInstanceUID)
	return patientOf(text(d, tag.PatientID), text(d, tag.PatientName), date(d, tag.PatientBirthDate), study)
}

// A secret is what an export must remember and nobody may read. It is fixed at submit, so that a rerun
// makes the same archive.
type secret struct {
	Key      []byte            `json:"key"`      // of new UIDs, and of what follows
	Patients map[string]string `json:"patients"` // fingerprint of a patient -> pseudonym
	Series   []chosen          `json:"series"`   // in the order in which they are taken out
}

// A chosen series is one as it was at submit: it may be deleted before its turn comes.
type chosen struct {
	SeriesUID string `json:"seriesUid"`
	StudyUID  string `json:"studyUid"`
	PatientID string `json:"patientId"`
	Pseudonym string `json:"pseudonym"`
	Images    int    `json:"images"`
}

// secretFor fixes what an export must remember.
func (d *Desk) secretFor(p tasks.Person, request ExportRequest, all []Series) (*secret, error) {
	hidden := &secret{Key: newKey(), Series: make([]chosen, len(all))}
	if request.Key != "" {
		var err error
		if hidden.Key, err = d.sealer.named(p.UserID, request.Key); err != nil {
			return nil, err
		}
	}
	patients, wrong := pseudonyms(request, hidden, all)
	if err := wrong.orNil(); err != nil {
		return nil, err
	}
	hidden.Patients = patients
	for i, s := range all {
		hidden.Series[i] = chosen{s.SeriesUID, s.StudyUID, s.PatientID, patients[hidden.fingerprint(patientOfSeries(s))], s.Instances}
	}
	return hidden, nil
}

// fingerprint stands for a patient in the sealed arguments, so that they hold no names.
func (s *secret) fingerprint(p patient) string {
	return hex.EncodeToString(s.derive("patient", string(p))[:16])
}

func (s *secret) derive(purpose, of string) []byte {
	mac := hmac.New(sha256.New, s.Key)
	fmt.Fprintf(mac, "%s\x00%s", purpose, of)
	return mac.Sum(nil)
}

// maxShift is by how many days dates are moved at most, either way: ten years.
const maxShift = 3652

// offset is by how many days the dates of a patient move: one offset for all their images, never 0.
func (s *secret) offset(p patient) int {
	n := int(binary.BigEndian.Uint32(s.derive("dates", string(p))) % (2 * maxShift))
	if n < maxShift {
		return n - maxShift
	}
	return n - maxShift + 1
}

// subject is the patient as the de-identifier needs them; ok is false for one that nobody asked for.
func (s *secret) subject(p patient) (subject deid.Subject, ok bool) {
	pseudonym, ok := s.Patients[s.fingerprint(p)]
	return deid.Subject{Pseudonym: pseudonym, UIDKey: s.uidKey(), DateOffset: s.offset(p)}, ok
}

// uidKey is the key of new UIDs.
func (s *secret) uidKey() []byte { return s.derive("uids", "") }
