package e2e_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The names of patients in what tests bring in; see secrets.
const (
	patientName = "Quillfeather^Zadie"
	patientID   = "QF-4711"
)

// A ct is one image, written by hand: DICOM PS3.10 section 7, explicit VR little endian.
type ct struct {
	patient          string // "" is patientID
	study, series, n int
	pixels           int // rows and columns
	burned           bool
}

const uidRoot = "1.2.826.0.1.3680043.10.1999."

func (c ct) bytes() []byte { return append(c.header(), c.picture()...) }

// header is everything up to the pixels.
func (c ct) header() []byte {
	if c.patient == "" {
		c.patient = patientID
	}
	const image = "1.2.840.10008.5.1.4.1.1.2" // CT Image Storage
	instance := fmt.Sprintf("%s1.%d.%d.%d", uidRoot, c.study, c.series, c.n)
	var meta, b elements
	meta.long(0x0002, 0x0001, "OB", []byte{0, 1})
	meta.text(0x0002, 0x0002, "UI", image)
	meta.text(0x0002, 0x0003, "UI", instance)
	meta.text(0x0002, 0x0010, "UI", "1.2.840.10008.1.2.1")
	meta.text(0x0002, 0x0012, "UI", uidRoot+"9")
	b.text(0x0008, 0x0016, "UI", image)
	b.text(0x0008, 0x0018, "UI", instance)
	b.text(0x0008, 0x0020, "DA", "20240517")
	b.text(0x0008, 0x0030, "TM", "101500")
	b.text(0x0008, 0x0050, "SH", "QF-4711-A")
	b.text(0x0008, 0x0060, "CS", "CT")
	b.text(0x0008, 0x0080, "LO", "Hospital of Quillfeather")
	b.text(0x0008, 0x103e, "LO", fmt.Sprintf("Abdomen %d", c.series))
	b.text(0x0010, 0x0010, "PN", patientName)
	b.text(0x0010, 0x0020, "LO", c.patient)
	b.text(0x0010, 0x0030, "DA", "19610203")
	b.text(0x0010, 0x0040, "CS", "F")
	b.text(0x0020, 0x000d, "UI", fmt.Sprintf("%s2.%d", uidRoot, c.study))
	b.text(0x0020, 0x000e, "UI", fmt.Sprintf("%s3.%d.%d", uidRoot, c.study, c.series))
	b.text(0x0020, 0x0011, "IS", fmt.Sprint(c.series))
	b.text(0x0020, 0x0013, "IS", fmt.Sprint(c.n))
	b.short(0x0028, 0x0002, 1)
	b.text(0x0028, 0x0004, "CS", "MONOCHROME2")
	b.short(0x0028, 0x0010, uint16(c.pixels))
	b.short(0x0028, 0x0011, uint16(c.pixels))
	b.short(0x0028, 0x0100, 16)
	b.short(0x0028, 0x0101, 12)
	b.short(0x0028, 0x0102, 11)
	b.short(0x0028, 0x0103, 0)
	if c.burned {
		b.text(0x0028, 0x0301, "CS", "YES")
	}
	b.long(0x7fe0, 0x0010, "OW", nil)
	binary.LittleEndian.PutUint32(b[len(b)-4:], uint32(2*c.pixels*c.pixels))

	var file bytes.Buffer
	file.Write(make([]byte, 128))
	file.WriteString("DICM")
	var group elements
	group.element(0x0002, 0x0000, "UL", binary.LittleEndian.AppendUint32(nil, uint32(len(meta))))
	file.Write(group)
	file.Write(meta)
	file.Write(b)
	return file.Bytes()
}

// picture is a disc that moves from slice to slice.
func (c ct) picture() []byte {
	b := make([]byte, 0, 2*c.pixels*c.pixels)
	for y := range c.pixels {
		for x := range c.pixels {
			dx, dy, v := x-c.pixels/2-c.n%5, y-c.pixels/2, uint16(40)
			if dx*dx+dy*dy < c.pixels*c.pixels/9 {
				v = uint16(900 + (x*y+c.n)%256)
			}
			b = binary.LittleEndian.AppendUint16(b, v)
		}
	}
	return b
}

// elements is a data set under construction.
type elements []byte

func (e *elements) element(group, number uint16, vr string, value []byte) {
	*e = binary.LittleEndian.AppendUint16(*e, group)
	*e = binary.LittleEndian.AppendUint16(*e, number)
	*e = append(*e, vr...)
	*e = binary.LittleEndian.AppendUint16(*e, uint16(len(value)))
	*e = append(*e, value...)
}

// long writes an element of a VR with a length of four bytes: PS3.5 section 7.1.2.
func (e *elements) long(group, number uint16, vr string, value []byte) {
	*e = binary.LittleEndian.AppendUint16(*e, group)
	*e = binary.LittleEndian.AppendUint16(*e, number)
	*e = append(*e, vr[0], vr[1], 0, 0)
	*e = binary.LittleEndian.AppendUint32(*e, uint32(len(value)))
	*e = append(*e, value...)
}

func (e *elements) text(group, number uint16, vr, value string) {
	if len(value)%2 == 1 {
		pad := " "
		if vr == "UI" {
			pad = "\x00"
		}
		value += pad
	}
	e.element(group, number, vr, []byte(value))
}

func (e *elements) short(group, number, value uint16) {
	e.element(group, number, "US", binary.LittleEndian.AppendUint16(nil, value))
}

// readElements returns the top level of an explicit VR little endian file by "gggg,eeee".
func readElements(file []byte) (map[string]string, error) {
	if len(file) < 132 || string(file[128:132]) != "DICM" {
		return nil, fmt.Errorf("no DICOM file: %d bytes", len(file))
	}
	found := map[string]string{}
	for rest := file[132:]; len(rest) > 0; {
		if len(rest) < 12 {
			return nil, fmt.Errorf("%d bytes are left over", len(rest))
		}
		tag := fmt.Sprintf("%04x,%04x", binary.LittleEndian.Uint16(rest), binary.LittleEndian.Uint16(rest[2:]))
		vr, length, header := string(rest[4:6]), int(binary.LittleEndian.Uint16(rest[6:])), 8
		if strings.Contains("OB OD OF OL OV OW SQ SV UC UN UR UT UV", vr) {
			length, header = int(binary.LittleEndian.Uint32(rest[8:])), 12
		}
		if header+length > len(rest) {
			return nil, fmt.Errorf("%s %s runs over the end of the file", tag, vr)
		}
		found[tag] = strings.TrimRight(string(rest[header:header+length]), " \x00")
		rest = rest[header+length:]
	}
	return found, nil
}

// zipped packs files under names of their own.
func zipped(t *testing.T, files map[string][]byte, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err == nil {
			_, err = w.Write(files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// study packs n images of two series, with one file that is no image, one that is cut off, and one that
// comes twice: a receipt has something to tell.
func study(t *testing.T, number, n, pixels int) []byte {
	t.Helper()
	files, names := map[string][]byte{}, []string{}
	add := func(name string, b []byte) {
		files[name] = b
		names = append(names, name)
	}
	for i := range n {
		add(fmt.Sprintf("secretname/%04d.dcm", i+1), ct{study: number, series: i%2 + 1, n: i + 1, pixels: pixels}.bytes())
	}
	add("secretname/readme.txt", []byte("not an image"))
	add("secretname/again.dcm", files[names[0]])
	add("secretname/cut.dcm", files[names[0]][:300])
	return zipped(t, files, names...)
}

// unpack reads every file of an export, demands that each DICOM file is readable and tells nobody who was
// examined, and returns how many there are.
func unpack(t *testing.T, z *zip.Reader) (images int) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range z.File {
		body := readEntry(t, f)
		for _, secret := range secrets {
			if bytes.Contains(body, []byte(secret)) || strings.Contains(f.Name, secret) {
				t.Errorf("%s tells %q", f.Name, secret)
			}
		}
		if filepath.Ext(f.Name) != ".dcm" {
			continue
		}
		images++
		if found, err := readElements(body); err != nil || found["0012,0062"] != "YES" || found["0010,0010"] == "" || found["7fe0,0010"] == "" {
			t.Errorf("%s: %v; it is not marked as de-identified, or lacks a pseudonym or its pixels", f.Name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d.dcm", images)), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dcmdump(t, dir, images)
	return images
}

func readEntry(t *testing.T, f *zip.File) []byte {
	t.Helper()
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	body, err := io.ReadAll(r) // checks the CRC too
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	return body
}

// dcmdump reads the files with other eyes, where DCMTK is installed.
func dcmdump(t *testing.T, dir string, images int) {
	t.Helper()
	path, err := exec.LookPath("dcmdump")
	if err != nil {
		t.Log("dcmdump is not installed, so nobody else has read the exported files")
		return
	}
	out, err := exec.CommandContext(t.Context(), path, "+sd", "-q", "+P", "SOPInstanceUID", "+P", "PatientIdentityRemoved", dir).CombinedOutput()
	if err != nil {
		t.Errorf("dcmdump: %v\n%s", err, out)
	}
	if n := bytes.Count(out, []byte("[YES]")); n != images {
		t.Errorf("dcmdump found %d files marked as de-identified, want %d", n, images)
	}
}
