package dicom

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"filmroom/dicom/tag"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// DumpOptions say what Dump shows.
type DumpOptions struct {
	// Names shows every value. Without it, values that can name a person or a place are left out: free
	// text, application entities and addresses, unknown values, and the whole patient group 0010.
	Names bool
}

// dumpWidth is the most characters of a value that are shown.
const dumpWidth = 64

// Dump writes a file for people to read, an element a line: tag, VR, value, length, number of values,
// keyword. Control characters are escaped.
func Dump(w io.Writer, f *File, o DumpOptions) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# %s\n", uid.Name(f.TransferSyntax))
	for _, warning := range f.Warnings {
		fmt.Fprintf(b, "# %v\n", warning)
	}
	for _, d := range []*Dataset{f.Meta, f.Dataset} {
		o.dataset(b, d, "")
	}
	return b.Flush()
}

func (o DumpOptions) dataset(w io.Writer, d *Dataset, indent string) {
	for t, e := range d.All() {
		fmt.Fprintf(w, "%s%v %v %s  # %s\n", indent, t, e.VR, o.value(d, e), note(d, e))
		for i, item := range e.Items {
			fmt.Fprintf(w, "%s  item %d\n", indent, i+1)
			o.dataset(w, item, indent+"    ")
		}
	}
}

// note is the length, the number of values and the name of the element.
func note(d *Dataset, e *Element) string {
	name := e.Tag.Keyword()
	if e.Tag.IsPrivateCreator() {
		name = "PrivateCreator"
	} else if e.Tag.IsPrivate() {
		name = "private"
	}
	switch {
	case e.Fragments != nil:
		return fmt.Sprintf("%d fragments, %s", e.Fragments.Len(), name)
	case e.IsSequence():
		return fmt.Sprintf("%d items, %s", len(e.Items), name)
	}
	return fmt.Sprintf("%s bytes, %s", thousands(e.Len()), name)
}

// mayName reports whether the value can name a person or a place.
func mayName(e *Element) bool {
	switch e.VR {
	case vr.UN, vr.AE, vr.UR:
		return true
	}
	return e.Tag.Group() == tag.PatientName.Group() || e.VR.UsesCharset() && !e.Tag.IsPrivateCreator()
}

func (o DumpOptions) value(d *Dataset, e *Element) string {
	switch {
	case e.IsEmpty():
		return "(no value)"
	case e.IsSequence() || e.Fragments != nil:
		return "..."
	case !o.Names && mayName(e):
		return "(not shown)"
	case e.VR.IsString():
		s, _ := d.Text(e)
		return shorten(printable(s))
	}
	if s := numbers(d, e); s != "" {
		return shorten(s)
	}
	b := make([]byte, min(e.Len(), dumpWidth/2))
	n, _ := io.ReadFull(e.Open(), b)
	return shorten(fmt.Sprintf("%x", b[:n]) + strings.Repeat(".", int(min(e.Len()-int64(n), 3))))
}

// printable puts text in quotes and shows what no terminal may get as its code: <1B>.
func printable(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "<%02X>", r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// numbers are the values of a binary number or tag; "" for other VRs and for very long ones.
func numbers(d *Dataset, e *Element) string {
	if e.Section != nil {
		return ""
	}
	var list []string
	switch e.VR {
	case vr.AT:
		tags, _ := d.Tags(e.Tag)
		for _, t := range tags {
			list = append(list, t.String())
		}
	case vr.FL, vr.FD:
		floats, _ := d.Floats(e.Tag)
		for _, f := range floats {
			list = append(list, strconv.FormatFloat(f, 'g', -1, e.VR.Unit()*8))
		}
	case vr.US, vr.SS, vr.UL, vr.SL, vr.UV, vr.SV:
		ints, _ := d.Ints(e.Tag)
		for _, n := range ints {
			list = append(list, strconv.FormatInt(n, 10))
		}
	}
	return strings.Join(list, `\`)
}

func shorten(s string) string {
	if r := []rune(s); len(r) > dumpWidth {
		return string(r[:dumpWidth-3]) + "..."
	}
	return s
}
