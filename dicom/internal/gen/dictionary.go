package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

func writeVRs(b *bytes.Buffer, rows []row) error {
	b.WriteString("// The value representations of PS3.5 section 6.2.\nconst (\n")
	for _, r := range rows {
		v := r["vr"]
		fmt.Fprintf(b, "%s VR = '%c'<<8 | '%c'\n", v, v[0], v[1])
	}
	b.WriteString(")\n\n// table is indexed by the two letters as a number in base 26.\nvar table = [26 * 26]info{\n")
	for _, r := range rows {
		v := r["vr"]
		fmt.Fprintf(b, "%d: {known: true", int(v[0]-'A')*26+int(v[1]-'A'))
		if r["explicit_length_bytes"] == "4" {
			b.WriteString(", long: true")
		}
		if r["uses_specific_character_set"] == "Y" {
			b.WriteString(", text: true")
		}
		if p := r["pad_byte_hex"]; p != "" && p != "00" {
			fmt.Fprintf(b, ", pad: 0x%s", p)
		}
		if u := r["unit_bytes"]; u != "" {
			fmt.Fprintf(b, ", unit: %s", u)
		}
		if limit, _, _ := strings.Cut(r["max_length_per_value"], " "); limit != "" && limit != "2^32-2" {
			fmt.Fprintf(b, ", limit: %s", limit)
		}
		fmt.Fprintf(b, "}, // %s\n", v)
	}
	b.WriteString("}\n")
	return nil
}

// base is the tag with its wildcard digits as 0, mask has F where the digit counts.
func base(tag string) string { return "0x" + strings.ReplaceAll(tag, "x", "0") }

func mask(tag string) string {
	m := []byte("0xFFFFFFFF")
	for i := range tag {
		if tag[i] == 'x' {
			m[i+2] = '0'
		}
	}
	// Repeating groups are even (PS3.5 section 7.6). Today's end at 501E and 601E, older files go on to
	// 50FE and 60FE.
	if strings.HasPrefix(tag, "50xx") || strings.HasPrefix(tag, "60xx") {
		m[5] = '1'
	}
	return string(m)
}

func writeTags(b *bytes.Buffer, rows []row) error {
	b.WriteString("// Tags by the keywords of PS3.6. Those of repeating groups have 0 for each digit that varies.\nconst (\n")
	for _, r := range rows {
		if r["keyword"] == "" {
			continue
		}
		note := strings.TrimSpace(r["vr"] + " " + r["vm"])
		if r["retired"] == "Y" {
			note += " (retired)"
		}
		fmt.Fprintf(b, "%s Tag = %s // %s\n", r["keyword"], base(r["tag"]), note)
	}
	b.WriteString(")\n")
	return nil
}

func entry(r row) string {
	var vrs []string
	for v := range strings.SplitSeq(r["vr"], " or ") {
		if v != "" {
			vrs = append(vrs, "vr."+v)
		}
	}
	return fmt.Sprintf("{%s, [3]vr.VR{%s}, %q, %q, %t}", base(r["tag"]), strings.Join(vrs, ", "), r["keyword"], r["vm"], r["retired"] == "Y")
}

func writeDictionary(b *bytes.Buffer, rows []row) error {
	fixed := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return strings.Contains(r["tag"], "x") })
	slices.SortFunc(fixed, func(a, b row) int { return strings.Compare(a["tag"], b["tag"]) })
	b.WriteString("import \"filmroom/dicom/vr\"\n\n")
	b.WriteString("// Edition is the edition of the standard that the tables were made from.\nconst Edition = \"2026c\"\n\n")
	b.WriteString("// tags are the tags of entries, apart so that a search touches little memory.\n")
	fmt.Fprintf(b, "var tags = [%d]Tag{\n", len(fixed))
	for i, r := range fixed {
		fmt.Fprintf(b, "%s,", base(r["tag"]))
		if i%8 == 7 {
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(b, "}\n\nvar entries = [%d]Entry{\n", len(fixed))
	for _, r := range fixed {
		b.WriteString(entry(r) + ",\n")
	}
	b.WriteString("}\n\nvar repeating = [...]repeat{\n")
	for _, r := range rows {
		if strings.Contains(r["tag"], "x") {
			fmt.Fprintf(b, "{%s, Entry%s},\n", mask(r["tag"]), entry(r))
		}
	}
	b.WriteString("}\n")
	return nil
}

func writeUIDs(b *bytes.Buffer, rows []row) error {
	b.WriteString("// Storage SOP classes in use, by their names in PS3.6.\nconst (\n")
	for _, r := range rows {
		if r["type"] == "SOPClass" && r["retired"] == "N" && strings.HasSuffix(r["name"], " Storage") && !strings.HasPrefix(r["name"], "Media") {
			fmt.Fprintf(b, "%s = %q\n", identifier(r["name"]), r["uid"])
		}
	}
	b.WriteString(")\n\nvar registry = map[string]Entry{\n")
	for _, r := range rows {
		fmt.Fprintf(b, "%q: {%q, %s, %t},\n", r["uid"], r["name"], r["type"], r["retired"] == "Y")
	}
	b.WriteString("}\n")
	return nil
}

// identifier is a name with all but its letters and digits left out: "CTImageStorage".
func identifier(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			return c
		}
		return -1
	}, strings.ReplaceAll(name, "12-lead", "TwelveLead"))
}
