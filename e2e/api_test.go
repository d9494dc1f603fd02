package e2e_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const password = "correct horse battery"

// A program uses the desk over HTTP.
type program struct {
	t     *testing.T
	desk  *desk
	token string // "": it does not say who it is
}

// newPerson makes an account and a token on the command line, beside the running desk.
func (d *desk) newPerson(email string) *program {
	d.t.Helper()
	d.command(password+"\n", "user", "add", email)
	return &program{d.t, d, d.command("", "token", email)}
}

// do sends a request and returns the answer with its body read.
func (p *program) do(method, path string, body io.Reader, header ...string) (*http.Response, []byte) {
	p.t.Helper()
	res := p.open(method, path, body, header...)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return res, b
}

func (p *program) open(method, path string, body io.Reader, header ...string) *http.Response {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.desk.url+path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	return res
}

// want sends a request, demands a status, and decodes the answer into out, if that is not nil.
func (p *program) want(status int, out any, method, path string, body any) {
	p.t.Helper()
	var r io.Reader
	header := []string{}
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			p.t.Fatal(err)
		}
		r, header = bytes.NewReader(b), []string{"Content-Type", "application/json"}
	}
	res, b := p.do(method, path, r, header...)
	if res.StatusCode != status {
		p.t.Fatalf("%s %s answered %d, want %d: %s", method, path, res.StatusCode, status, b)
	}
	if out != nil {
		if err := json.Unmarshal(b, out); err != nil {
			p.t.Fatalf("%s %s answered %s: %v", method, path, b, err)
		}
	}
}

// A task as the API shows it; only what tests look at.
type task struct {
	TaskID, Kind, Name, Status, Error string
	Attempt                           int
	Retryable, Dismissed              bool
	Progress                          struct {
		Message    string
		Value, Max int64
	}
	File *struct {
		Name   string
		Size   int64
		SHA256 string
	}
}

// bringIn sends a ZIP and returns the task that it became.
func (p *program) bringIn(archive []byte) (taskID string) {
	p.t.Helper()
	res, b := p.do("POST", "/api/series", bytes.NewReader(archive), "Content-Type", "application/zip")
	var answer struct{ TaskID string }
	if err := json.Unmarshal(b, &answer); err != nil || res.StatusCode != http.StatusAccepted {
		p.t.Fatalf("the upload answered %d: %s", res.StatusCode, b)
	}
	return answer.TaskID
}

// takeOut starts an export of series.
func (p *program) takeOut(seriesIDs ...string) (taskID string) {
	return p.takeOutUnder("", seriesIDs...)
}

// takeOutUnder starts an export under a kept key, so that it takes the key's lock; "" is none.
func (p *program) takeOutUnder(key string, seriesIDs ...string) (taskID string) {
	p.t.Helper()
	var answer struct{ TaskID string }
	p.want(http.StatusAccepted, &answer, "POST", "/api/exports", map[string]any{"seriesIds": seriesIDs, "profile": "basic", "name": "two series", "key": key})
	return answer.TaskID
}

func (p *program) task(id string) (t task) {
	p.t.Helper()
	p.want(http.StatusOK, &t, "GET", "/api/tasks/"+id, nil)
	return t
}

// An event is one line of a task's stream.
type event struct {
	Name                           string
	TaskID, Status, Message, Phase string
	Value, Max                     int64
	Attempt                        int
}

// follow reads a task's stream until seen returns true or the stream ends, and returns the last event.
func (p *program) follow(id string, seen func(event) bool) (last event) {
	p.t.Helper()
	res := p.open("GET", "/api/tasks/"+id, nil, "Accept", "text/event-stream")
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		p.t.Fatalf("the stream of %s answered %d", id, res.StatusCode)
	}
	lines := bufio.NewScanner(res.Body)
	for name := ""; lines.Scan(); {
		line := lines.Text()
		if after, ok := strings.CutPrefix(line, "event: "); ok {
			name = after
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		last = event{}
		if err := json.Unmarshal([]byte(data), &last); err != nil {
			p.t.Fatalf("event %q: %v", data, err)
		}
		if last.Name = name; seen(last) {
			return last
		}
	}
	return last
}

// end waits until a task is final.
func (p *program) end(id string) task {
	p.t.Helper()
	late := time.Now().Add(patience)
	for time.Now().Before(late) {
		last := p.follow(id, func(e event) bool { return e.Name == "finish" || e.Name == "failure" })
		if last.Name == "finish" || last.Name == "failure" {
			return p.task(id)
		}
	}
	p.t.Fatalf("task %s does not end: %+v", id, p.task(id))
	return task{}
}

// finished waits for a task that must go well.
func (p *program) finished(id string) task {
	p.t.Helper()
	t := p.end(id)
	if t.Status != "finished" {
		p.t.Fatalf("task %s ended %s: %s", id, t.Status, t.Error)
	}
	return t
}

// receipt returns the per-file outcome as the desk wrote it.
func (p *program) receipt(id string) []byte {
	p.t.Helper()
	res, b := p.do("GET", "/api/tasks/"+id+"/receipt", nil)
	if res.StatusCode != http.StatusOK {
		p.t.Fatalf("the receipt answered %d: %s", res.StatusCode, b)
	}
	return b
}

// outcomes counts a receipt's rows by outcome.
func outcomes(t *testing.T, receipt []byte) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for line := range bytes.Lines(receipt) {
		var row struct{ Outcome string }
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("receipt row %s: %v", line, err)
		}
		counts[row.Outcome]++
	}
	return counts
}

type series struct {
	SeriesID, SeriesUID, StudyUID, PatientID, PatientName, Modality string
	Instances, Bytes                                                int64
}

// library returns all series, at most 200.
func (p *program) library() []series {
	p.t.Helper()
	var page struct{ Items []series }
	p.want(http.StatusOK, &page, "GET", "/api/series?limit=200", nil)
	return page.Items
}

// download fetches a finished task's ZIP and opens it.
func (p *program) download(id string) *zip.Reader {
	p.t.Helper()
	res, b := p.do("GET", "/api/tasks/"+id+"/download", nil)
	if res.StatusCode != http.StatusOK {
		p.t.Fatalf("the download answered %d: %s", res.StatusCode, b)
	}
	if got := res.Header.Get("Content-Length"); got != fmt.Sprint(len(b)) {
		p.t.Errorf("Content-Length is %s for %d bytes", got, len(b))
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		p.t.Fatal(err)
	}
	return z
}

// breakOff begins an upload, sends half of it, does something, and hangs up.
func (p *program) breakOff(archive []byte, meanwhile func()) {
	p.t.Helper()
	r, w := io.Pipe()
	ctx, hangUp := context.WithCancel(p.t.Context())
	defer hangUp()
	req, err := http.NewRequestWithContext(ctx, "POST", p.desk.url+"/api/series", r)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set("Content-Type", "application/zip")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
		}
	}()
	if _, err := w.Write(archive[:len(archive)/2]); err != nil {
		p.t.Fatal(err)
	}
	eventually(p.t, "the first bytes to be staged", func() bool { return p.desk.files("staging") > 0 })
	meanwhile()
	hangUp()
	w.CloseWithError(io.ErrUnexpectedEOF)
	<-ended
}
