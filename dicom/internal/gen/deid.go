package main

import (
	"bytes"
	"fmt"
	"strings"
)

// options are the columns of Table E.1-1 after the basic profile, in the table's order.
var options = []string{
	"rtn_safe_private", "rtn_uids", "rtn_device_id", "rtn_institution_id", "rtn_patient_chars",
	"rtn_long_full_dates", "rtn_long_modif_dates", "clean_desc", "clean_struct_cont", "clean_graph",
}

// action is the Go name of an action code: X/Z/U* is actionXZU, nothing is 0.
func action(code string) string {
	if code == "" {
		return "0"
	}
	return "action" + strings.NewReplacer("/", "", "*", "").Replace(code)
}

func actions(r row, columns []string) string {
	var b strings.Builder
	for i, c := range columns {
		if r[c] != "" {
			fmt.Fprintf(&b, "%d: %s, ", i, action(r[c]))
		}
	}
	return "[10]action{" + strings.TrimSuffix(b.String(), ", ") + "}"
}

func writeProfile(b *bytes.Buffer, rows []row) error {
	b.WriteString(`// action is an action code of PS3.15 Table E.1-1a. 0 stands for none.
type action uint8

const (
	actionX action = iota + 1
	actionZ
	actionD
	actionU
	actionK
	actionC
	actionXZ
	actionXD
	actionXZD
	actionXZU
	actionZD
)

// The option columns of PS3.15 Tables E.1-1 and E.3.4-1, as indices of a row's options.
const (
	retainSafePrivate = iota
	retainUIDs
	retainDevice
	retainInstitution
	retainPatientCharacteristics
	retainFullDates
	retainModifiedDates
	cleanDescriptors
	cleanStructuredContent
	cleanGraphics
)

// attribute is a row of PS3.15 Table E.1-1: it matches each tag t with t&mask == tag.
type attribute struct {
	tag, mask tag.Tag
	basic     action
	options   [10]action
}

// attributes is PS3.15 Table E.1-1, in the order of its tags.
var attributes = [...]attribute{
`)
	for _, r := range rows {
		if strings.HasPrefix(r["tag"], "gggg") { // every odd group
			fmt.Fprintf(b, "{0x00010000, 0x00010000, %s, %s}, // %s\n", action(r["basic"]), actions(r, options), r["keyword"])
			continue
		}
		fmt.Fprintf(b, "{%s, %s, %s, %s}, // %s\n", base(r["tag"]), mask(r["tag"]), action(r["basic"]), actions(r, options), r["keyword"])
	}
	b.WriteString("}\n")
	importTag(b)
	return nil
}

func writeSafePrivate(b *bytes.Buffer, rows []row) error {
	b.WriteString(`// privateAttribute is a row of PS3.15 Table E.3.10-1: the element's low byte within the block
// that the creator reserves. A VR of 0 is not stated.
type privateAttribute struct {
	group   uint16
	element uint8
	creator string
	vrs     [2]vr.VR
	vm      string
}

// safePrivate is PS3.15 Table E.3.10-1.
var safePrivate = [...]privateAttribute{
`)
	for _, r := range rows {
		var vrs []string
		for v := range strings.SplitSeq(r["vr"], "/") {
			if v != "" {
				vrs = append(vrs, "vr."+v)
			}
		}
		element, ok := strings.CutPrefix(r["element"], "xx")
		if !ok {
			return fmt.Errorf("element %q: want xxNN", r["element"])
		}
		fmt.Fprintf(b, "{0x%s, 0x%s, %q, [2]vr.VR{%s}, %q},\n", r["group"], element, r["private_creator"], strings.Join(vrs, ", "), r["vm"])
	}
	b.WriteString("}\n")
	importPath(b, "filmroom/dicom/vr")
	return nil
}

func writeContent(b *bytes.Buffer, rows []row) error {
	b.WriteString(`// contentItem is a row of PS3.15 Table E.3.4-1: what becomes of a structured report's content
// item by its concept name.
type contentItem struct {
	code, scheme, valueType string
	basic                   action
	options                 [10]action
}

// contentItems is PS3.15 Table E.3.4-1.
var contentItems = [...]contentItem{
`)
	for _, r := range rows {
		fmt.Fprintf(b, "{%q, %q, %q, %s, %s},\n", r["code_value"], r["scheme"], r["value_type"], action(r["basic"]), actions(r, options))
	}
	b.WriteString("}\n")
	return nil
}

func writeMethods(b *bytes.Buffer, rows []row) error {
	b.WriteString(`// methodCode is a code of CID 7050 for De-identification Method Code Sequence (0012,0064).
type methodCode struct{ value, scheme, meaning string }

// methodCodes is CID 7050 (PS3.16).
var methodCodes = [...]methodCode{
`)
	for _, r := range rows {
		fmt.Fprintf(b, "{%q, %q, %q},\n", r["code_value"], r["scheme"], r["option"])
	}
	b.WriteString("}\n")
	return nil
}

func importTag(b *bytes.Buffer) { importPath(b, "filmroom/dicom/tag") }

// importPath puts an import behind the package clause of a file already written.
func importPath(b *bytes.Buffer, path string) {
	src := bytes.Replace(b.Bytes(), []byte("package deid\n"), []byte("package deid\n\nimport \""+path+"\"\n"), 1)
	rest := bytes.Clone(src)
	b.Reset()
	b.Write(rest)
}
