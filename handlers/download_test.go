package handlers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"filmroom/tasks"
)

func TestADownloadComesWholeInPartsOrAsAHeader(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	path := "/api/tasks/" + ada.finished(`Ünï "x".zip`, "0123456789") + "/download"
	whole := ada.api("GET", path).wants(http.StatusOK)
	h := whole.response.Header
	if string(whole.body) != "0123456789" || h.Get("Content-Length") != "10" || h.Get("Accept-Ranges") != "bytes" || h.Get("Content-Type") != "application/zip" {
		t.Errorf("got %q with %v", whole.body, h)
	}
	if h.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox;") || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment;") {
		t.Errorf("a browser might run it: %v", h)
	}
	part := ada.api("GET", path, header("Range", "bytes=2-4"), header("If-Range", h.Get("ETag"))).wants(http.StatusPartialContent)
	if string(part.body) != "234" || part.response.Header.Get("Content-Range") != "bytes 2-4/10" {
		t.Errorf("the part is %q, %s", part.body, part.response.Header.Get("Content-Range"))
	}
	ada.api("GET", path, header("Range", "bytes=99-")).wants(http.StatusRequestedRangeNotSatisfiable)
	ada.api("GET", path, header("If-None-Match", h.Get("ETag"))).wants(http.StatusNotModified)
	head := ada.api("HEAD", path).wants(http.StatusOK)
	if len(head.body) != 0 || head.response.Header.Get("Content-Length") != "10" || head.response.Header.Get("ETag") != h.Get("ETag") {
		t.Errorf("the header alone is %v", head.response.Header)
	}
}

func TestADownloadThatIsNotThereSaysWhy(t *testing.T) {
	t.Parallel()
	ada := setup(t).person("ada@example.org")
	running := ada.gate("x.zip")
	ada.tell(running, step{message: "under way"})
	if p := ada.api("GET", "/api/tasks/"+running+"/download").problem(http.StatusConflict); p.TaskStatus != "processing" {
		t.Errorf("the conflict is %+v", p)
	}
	ada.api("GET", "/api/tasks/"+ada.finished("", "")+"/download").problem(http.StatusNotFound)
}

func TestAnExpiredDownloadIsGone(t *testing.T) {
	t.Parallel()
	ada := setup(t, options{tasks: func(c *tasks.Config) { c.ResultTTL = time.Nanosecond }}).person("ada@example.org")
	path := "/api/tasks/" + ada.finished("x.zip", "content") + "/download"
	ada.api("GET", path).problem(http.StatusGone)
	if page := ada.page("GET", path).wants(http.StatusGone); !strings.Contains(string(page.body), "expired") {
		t.Error("a person is not told that the download has expired")
	}
}
