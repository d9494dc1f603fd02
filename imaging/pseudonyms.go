package imaging

import (
	"encoding/base32"
	"fmt"
	"strings"
)

// maxPseudonym is what DICOM's LO takes (PS3.5 section 6.2).
const maxPseudonym = 64

// pseudonyms gives each patient of the series one, by fingerprint: the text that was asked for their id, or
// the prefix and a number. Under a named key the number comes from the key and the patient, so that every
// export under it has the same. No two patients share one.
func pseudonyms(request ExportRequest, hidden *secret, all []Series) (given map[string]string, wrong FieldErrors) {
	prefix := request.PseudonymPrefix
	if prefix == "" {
		prefix = "P"
	}
	if reason := badPseudonym(prefix + strings.Repeat("0", derivedDigits)); reason != "" {
		wrong.add("pseudonymPrefix", reason)
	}
	wrong = append(wrong, checkPseudonyms(request, all)...)
	if len(wrong) > 0 {
		return nil, wrong
	}
	given = map[string]string{}
	taken := map[string]bool{}
	for _, text := range request.Pseudonyms {
		taken[fold(text)] = true
	}
	number := 0
	for _, s := range all {
		who := patientOfSeries(s)
		print := hidden.fingerprint(who)
		if given[print] != "" {
			continue
		}
		text := request.Pseudonyms[s.PatientID]
		for try := 0; text == ""; try++ {
			number++
			next := fmt.Sprintf("%s%04d", prefix, number)
			if request.Key != "" {
				next = prefix + hidden.code(who, try)
			}
			if !taken[fold(next)] {
				text = next
			}
		}
		given[print], taken[fold(text)] = text, true
	}
	return given, nil
}

// derivedDigits is how many characters of a pseudonym come from a key: 60 bits, so that two patients do not
// get the same ones by chance.
const derivedDigits = 12

// code stands for a patient under the key; try is 0 unless the code is taken.
func (s *secret) code(p patient, try int) string {
	return base32.StdEncoding.EncodeToString(s.derive("pseudonym", fmt.Sprintf("%d\x00%s", try, p)))[:derivedDigits]
}

// checkPseudonyms says what is wrong with the texts that were asked for. Patient ids are not repeated.
func checkPseudonyms(request ExportRequest, all []Series) (wrong FieldErrors) {
	users := map[string]string{}
	for id, text := range request.Pseudonyms {
		if reason := badPseudonym(text); reason != "" {
			wrong.add("pseudonyms", reason)
			return wrong
		}
		if other, used := users[fold(text)]; used && other != id {
			wrong.add("pseudonyms", "two patients have the same pseudonym")
			return wrong
		}
		users[fold(text)] = id
	}
	people := map[string]patient{}
	for _, s := range all {
		if request.Pseudonyms[s.PatientID] == "" {
			continue
		}
		who := patientOfSeries(s)
		if other, seen := people[s.PatientID]; seen && other != who {
			wrong.add("pseudonyms", "a patient id belongs to two patients, who were born on different days or have different names: they cannot share a pseudonym")
			return wrong
		}
		people[s.PatientID] = who
	}
	return wrong
}

// fold makes texts equal that programs might take for equal.
func fold(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// badPseudonym says why a text cannot stand as a patient's name and id, "" if it can.
func badPseudonym(text string) string {
	switch {
	case text == "" || len(text) > maxPseudonym || strings.TrimSpace(text) != text:
		return fmt.Sprintf("use 1 to %d characters without space around them", maxPseudonym)
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`\^=`, r) }):
		return `use ASCII characters other than \ ^ =`
	}
	return ""
}
