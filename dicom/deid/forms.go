package deid

import (
	"regexp"

	"filmroom/dicom/uid"
)

// appendUIDs adds the places of UIDs that the standard does not register. Version numbers are shorter.
func appendUIDs(hits []hit, text []byte) []hit {
	for i := 0; i < len(text); {
		if text[i] < '0' || text[i] > '9' {
			i++
			continue
		}
		end, dots := i, 0
		for end < len(text) && (text[end] == '.' || text[end] >= '0' && text[end] <= '9') {
			if text[end] == '.' {
				dots++
			}
			end++
		}
		if n := end - i; n >= leastUID && dots >= 3 {
			if _, known := uid.Lookup(string(text[i:end])); !known {
				hits = append(hits, hit{int32(i), int32(end)})
			}
		}
		i = end
	}
	return hits
}

// leastUID is from how many characters on digits and dots count as a UID.
const leastUID = 14

const (
	month = `(?i:jan|feb|mar|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)\p{L}*\.?`
	name  = `\p{Lu}[\p{L}'’-]*`
)

// dateForms are dates as people write them in a text.
var dateForms = regexp.MustCompile(
	`\b\d{4}[-./]\d{1,2}[-./]\d{1,2}\b` +
		`|\b\d{1,2}[-./]\d{1,2}[-./](?:\d{4}|\d{2})\b` +
		`|\b\d{1,2}\.? ?-?` + month + `,? ?-?\d{2,4}\b` +
		`|\b` + month + ` \d{1,2},? \d{4}\b`)

// otherForms are numbers of six digits or more, telephone numbers, addresses of mail and pages, and names
// behind a title.
var otherForms = regexp.MustCompile(
	`\d{6,}` +
		`|(?:\+|\b0)\d[\d /()-]{5,}\d` +
		`|[^\s@]+@[^\s@]+\.[^\s@]+` +
		`|\b(?i:https?://|www\.)\S+` +
		`|\b(?:Dr|Prof|Mr|Mrs|Ms|Herr|Frau|Mme)\b\.?(?:\s*` + name + `){1,3}` +
		`|\b(?i:dr|prof|mr|mrs|ms)\.(?:\s*` + name + `){1,3}` +
		`|\b` + name + `(?: ` + name + `)?,? (?:MD|M\.D\.)`)

// appendForms adds the places of what tells by its form that it may identify somebody (PS3.15 section
// E.3.5 leaves to the implementation how descriptors are cleaned).
func appendForms(hits []hit, text []byte, datesStay bool) []hit {
	for _, at := range otherForms.FindAllIndex(text, -1) {
		hits = append(hits, hit{int32(at[0]), int32(at[1])})
	}
	if datesStay {
		return hits
	}
	for _, at := range dateForms.FindAllIndex(text, -1) {
		hits = append(hits, hit{int32(at[0]), int32(at[1])})
	}
	return hits
}
