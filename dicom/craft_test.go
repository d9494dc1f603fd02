package dicom_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"

	"filmroom/dicom"
	"filmroom/dicom/uid"
	"filmroom/dicom/vr"
)

// Bytes put together by hand, so that a test does not believe the package's own writer.

// undefined is the length of what ends with a delimiter.
const undefined = 0xFFFFFFFF

func le16(n uint16) []byte { return binary.LittleEndian.AppendUint16(nil, n) }
func le32(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

// leTag is a tag in little-endian order (PS3.5 section 7.3).
func leTag(t dicom.Tag) []byte { return join(le16(t.Group()), le16(t.Element())) }

// head is an explicit-VR header in little-endian order with a length of the caller's choice (PS3.5
// section 7.1.2).
func head(t dicom.Tag, v dicom.VR, length uint32) []byte {
	h := join(leTag(t), []byte(v.String()))
	if v.Long() {
		return join(h, []byte{0, 0}, le32(length))
	}
	return join(h, le16(uint16(length)))
}

// explicit is an element in explicit VR little endian.
func explicit(t dicom.Tag, v dicom.VR, value string) []byte {
	return join(head(t, v, uint32(len(value))), []byte(value))
}

// implicit is an element in implicit VR little endian (PS3.5 section 7.1.3).
func implicit(t dicom.Tag, value string) []byte {
	return join(leTag(t), le32(uint32(len(value))), []byte(value))
}

// bigEndian is an element with a short header in explicit VR big endian.
func bigEndian(t dicom.Tag, v dicom.VR, value string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(t))
	b = append(b, v.String()...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(value)))
	return append(b, value...)
}

// Items and delimiters of PS3.5 section 7.5.
func item(content ...[]byte) []byte {
	c := join(content...)
	return join(leTag(0xFFFEE000), le32(uint32(len(c))), c)
}

func openItem(content ...[]byte) []byte {
	return join(leTag(0xFFFEE000), le32(undefined), join(content...), leTag(0xFFFEE00D), le32(0))
}

func closeSequence() []byte { return join(leTag(0xFFFEE0DD), le32(0)) }

// part10 is a file with preamble and file meta information (PS3.10 section 7.1).
func part10(syntax string, dataset ...[]byte) []byte {
	if len(syntax)%2 == 1 {
		syntax += "\x00"
	}
	meta := explicit(0x00020010, vr.UI, syntax)
	return join(make([]byte, 128), []byte("DICM"), explicit(0x00020000, vr.UL, string(le32(uint32(len(meta))))), meta, join(dataset...))
}

// explicitFile is a file in explicit VR little endian.
func explicitFile(dataset ...[]byte) []byte { return part10(uid.ExplicitLE, dataset...) }

func deflate(b []byte) []byte {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		panic(err)
	}
	_, err = w.Write(b)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err)
	}
	return out.Bytes()
}

// repeat is n times the same bytes.
func repeat(b []byte, n int) []byte { return bytes.Repeat(b, n) }

// text is the data set as canon shows it, a line an element.
func lines(d *dicom.Dataset) []string {
	s := strings.TrimSuffix(canon(d), "\n")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// counted counts what is read from a source, and how often.
type counted struct {
	src   io.ReaderAt
	bytes int64
	calls int
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.src.ReadAt(p, off)
	c.bytes += int64(n)
	c.calls++
	return n, err
}

// sparse is a source of any size that holds zeros behind its first bytes.
type sparse struct {
	first []byte
	size  int64
}

func (s sparse) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off < int64(len(s.first)) {
		copy(p, s.first[off:])
	}
	if off+int64(len(p)) > s.size {
		return int(max(s.size-off, 0)), io.EOF
	}
	return len(p), nil
}
