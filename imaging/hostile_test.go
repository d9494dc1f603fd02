package imaging_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zip"

	"filmroom/dicom/phantom"
	"filmroom/imaging"
)

// An attack is something hostile or broken to send, and the receipt that must come of it.
type attack struct {
	limits imaging.Limits
	files  []file
	want   []string
}

func TestHostileArchivesGetAClearReceiptAndLeaveNothing(t *testing.T) {
	t.Parallel()
	image := study(phantom.Study{})[0]
	fine := "fine imported"
	good := file{"fine", image.data}
	for name, a := range map[string]attack{
		// Names that lead out of the data directory when a program uses them as paths.
		"path traversal": {files: []file{zipOf("x.zip", file{"../../../../tmp/evil", image.data}, file{"/etc/evil", []byte("x")}, file{`C:\evil`, []byte("x")})},
			want: []string{"../../../../tmp/evil imported", "/etc/evil not-dicom", `C:\evil not-dicom`}},
		// Terminals obey control characters, browsers do not all show the same for bytes that are no UTF-8.
		"strange names": {files: []file{zipOf("x.zip", file{"a\x1b[31m\r\nb", nil}, file{"M\x81ller", nil}, file{"\u202e<b>\"😀", nil})},
			want: []string{"a\uFFFD[31m\uFFFD\uFFFDb not-dicom", "Müller not-dicom", "\u202e<b>\"😀 not-dicom"}},
		"cut off in its directory":  {files: []file{cutAt(zipOf("x.zip", image), 0.97), good}, want: []string{"x.zip unreadable", fine}},
		"cut off in its files":      {files: []file{cutAt(zipOf("x.zip", image), 0.5), good}, want: []string{"x.zip unreadable", fine}},
		"tar.gz cut off":            {files: []file{cutAt(tarGz("x.tgz", good, file{"noise", noise(1 << 16)}, good), 0.6)}, want: []string{fine, "noise not-dicom", "x.tgz unreadable"}},
		"tar.gz cut off in a file":  {files: []file{cutAt(tarGz("x.tgz", file{"first", image.data}, noisy(image)), 0.6)}, want: []string{"first imported", "noisy unreadable"}},
		"encrypted":                 {files: []file{encrypted(zipOf("x.zip", image)), good}, want: []string{image.name + " unreadable", fine}},
		"damaged content":           {files: []file{damaged(zipOf("x.zip", image)), good}, want: []string{image.name + " unreadable", fine}},
		"an unknown method":         {files: []file{method(zipOf("x.zip", image), 97), good}, want: []string{image.name + " unreadable", fine}},
		"an empty ZIP":              {files: []file{zipOf("x.zip")}, want: []string{"x.zip not-dicom"}},
		"a ZIP of folders":          {files: []file{zipOf("x.zip", file{"a/", nil}, file{"a/b/", nil})}, want: []string{"x.zip not-dicom"}},
		"an empty tar.gz":           {files: []file{tarGz("x.tgz")}, want: []string{"x.tgz not-dicom"}},
		"not a ZIP at all":          {files: []file{{"x.zip", []byte("PK, or so it says")}}, want: []string{"x.zip not-dicom"}},
		"only the mark of a ZIP":    {files: []file{{"x.zip", []byte("PK\x03\x04")}}, want: []string{"x.zip unreadable"}},
		"only the mark of a gzip":   {files: []file{{"x.gz", []byte("\x1f\x8b")}}, want: []string{"x.gz unreadable"}},
		"links and devices":         {files: []file{links()}, want: []string{"symlink not-dicom", "device not-dicom", fine}},
		"a directory that promises": {files: []file{promising(zipOf("x.zip", image)), good}, want: []string{"x.zip unreadable", fine}},

		// A bomb by ratio, in one file: a DICOM header that unpacks to far more than was sent.
		"bomb in a ZIP": {limits: imaging.Limits{MaxRatio: 10}, files: []file{zipOf("x.zip", good, blank(image, 80<<20), good)},
			want: []string{fine, "blank refused", "fine refused"}},
		"bomb in a tar.gz":    {limits: imaging.Limits{MaxRatio: 10}, files: []file{tarGz("x.tgz", good, blank(image, 80<<20), good)}, want: []string{fine, "blank refused"}},
		"bomb in a gzip":      {limits: imaging.Limits{MaxRatio: 10}, files: []file{gz("x.gz", blank(image, 80<<20).data)}, want: []string{"x.gz refused"}},
		"bomb in a bomb":      {limits: imaging.Limits{MaxRatio: 10}, files: []file{zipOf("x.zip", zipOf("in.zip", blank(image, 80<<20)), good)}, want: []string{"in.zip/blank refused", fine}},
		"bomb by total size":  {limits: imaging.Limits{MaxUnpacked: 5000}, files: []file{zipOf("x.zip", good, file{"b", image.data}, file{"c", image.data}, file{"d", image.data})}, want: []string{fine, "b duplicate", "c refused", "d refused"}},
		"bomb by overlapping": {limits: imaging.Limits{MaxUnpacked: 1 << 20}, files: []file{overlapping(blank(image, 400<<10), 5)}, want: []string{"0 imported", "1 duplicate", "2 refused", "3 refused", "4 refused"}},
		"too many in a ZIP":   {limits: imaging.Limits{MaxEntries: 3}, files: []file{zipOf("x.zip", good, good, good, good)}, want: []string{"x.zip refused"}},
		"too many in a tar":   {limits: imaging.Limits{MaxEntries: 2}, files: []file{tarGz("x.tgz", good, good, file{"third", nil}, good)}, want: []string{fine, "fine duplicate", "third refused"}},
		"too many in nested":  {limits: imaging.Limits{MaxEntries: 3}, files: []file{zipOf("x.zip", good, zipOf("in.zip", good, good, good))}, want: []string{fine, "in.zip refused"}},
		"a size that lies":    {files: []file{lyingSize(zipOf("x.zip", blank(image, 1<<20)), 4000), good}, want: []string{"blank unreadable", fine}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := setup(t, func(c *imaging.Config) { c.Limits = a.limits; c.Limits.MinFree = 1 })
			task := d.bring(a.files...)
			same(t, "receipt", d.outcomes(task.ID), a.want)
			for _, row := range d.receipt(task.ID) {
				if (row.Reason == "") != (row.Outcome == imaging.Imported) {
					t.Errorf("%s is %s because %q", row.Name, row.Outcome, row.Reason)
				}
			}
			for _, path := range d.paths("files") {
				if base := filepath.Base(path); len(base) != 64 || strings.Trim(base, "0123456789abcdef") != "" {
					t.Errorf("a file was made that is named %s", path)
				}
			}
		})
	}
}

func cutAt(f file, part float64) file {
	return file{f.name, f.data[:int(part*float64(len(f.data)))]}
}

// noise is data that does not compress.
func noise(n int) []byte {
	b, x := make([]byte, n), uint64(88172645463325252)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return b
}

// noisy is an image with much behind it.
func noisy(image file) file { return file{"noisy", append(bytes.Clone(image.data), noise(1<<17)...)} }

// blank is an image with n zeros behind its pixels.
func blank(image file, n int) file {
	return file{"blank", append(bytes.Clone(image.data), make([]byte, n)...)}
}

// records changes each record of a ZIP's directory and each local header.
func records(f file, edit func(flags, method, size []byte)) file {
	b := bytes.Clone(f.data)
	for i := range len(b) - 46 {
		switch string(b[i : i+4]) {
		case "PK\x01\x02":
			edit(b[i+8:], b[i+10:], b[i+24:])
		case "PK\x03\x04":
			edit(b[i+6:], b[i+8:], b[i+22:])
		}
	}
	return file{f.name, b}
}

func encrypted(f file) file {
	return records(f, func(flags, _, _ []byte) { flags[0] |= 1 })
}

func method(f file, m uint16) file {
	return records(f, func(_, method, _ []byte) { binary.LittleEndian.PutUint16(method, m) })
}

func lyingSize(f file, n uint32) file {
	return records(f, func(_, _, size []byte) { binary.LittleEndian.PutUint32(size, n) })
}

// damaged is a ZIP with one wrong byte in the middle of its one file, which is stored.
func damaged(f file) file {
	z, err := zip.NewReader(bytes.NewReader(f.data), int64(len(f.data)))
	if err != nil {
		panic(err)
	}
	at, err := z.File[0].DataOffset()
	if err != nil {
		panic(err)
	}
	b := bytes.Clone(f.data)
	b[at+int64(z.File[0].CompressedSize64)/2] ^= 0xff
	return file{f.name, b}
}

// promising is a ZIP whose end announces as many records as the format can.
func promising(f file) file {
	b := bytes.Clone(f.data)
	end := bytes.LastIndex(b, []byte("PK\x05\x06"))
	binary.LittleEndian.PutUint16(b[end+8:], math.MaxUint16-1)
	binary.LittleEndian.PutUint16(b[end+10:], math.MaxUint16-1)
	return file{f.name, b}
}

// overlapping is a ZIP whose n records all name the same compressed bytes, so that each costs nothing.
func overlapping(content file, n int) file {
	one := zipOf("", content)
	start := bytes.Index(one.data, []byte("PK\x01\x02"))
	end := bytes.LastIndex(one.data, []byte("PK\x05\x06"))
	record := one.data[start:end]
	b := bytes.Clone(one.data[:start])
	for i := range n {
		r := bytes.Replace(record, []byte(content.name), fmt.Append(nil, i), 1)
		binary.LittleEndian.PutUint16(r[28:], 1)
		b = append(b, r...)
	}
	tail := bytes.Clone(one.data[end:])
	binary.LittleEndian.PutUint16(tail[8:], uint16(n))
	binary.LittleEndian.PutUint16(tail[10:], uint16(n))
	binary.LittleEndian.PutUint32(tail[12:], uint32(len(b)-start))
	return file{"x.zip", append(b, tail...)}
}

// links is a tar.gz with what is no file.
func links() file {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	image := study(phantom.Study{})[0]
	for _, h := range []*tar.Header{
		{Name: "folder/", Typeflag: tar.TypeDir},
		{Name: "symlink", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink},
		{Name: "device", Typeflag: tar.TypeChar},
		{Name: "fine", Typeflag: tar.TypeReg, Size: int64(len(image.data))},
	} {
		if err := w.WriteHeader(h); err != nil {
			panic(err)
		}
	}
	if _, err := w.Write(image.data); err != nil {
		panic(err)
	}
	if w.Close() != nil || z.Close() != nil {
		panic("links")
	}
	return file{"x.tgz", b.Bytes()}
}
