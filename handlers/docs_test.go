package handlers_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"filmroom/dicom/deid"
	"filmroom/tasks"
)

// examples are what docs/api.md tells people to type, in its order.
func examples(t *testing.T) string {
	t.Helper()
	page := must(os.ReadFile(filepath.Join("..", "docs", "api.md")))
	var typed []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(page, -1) {
		typed = append(typed, string(block[1]))
	}
	if len(typed) < 10 {
		t.Fatalf("docs/api.md has %d examples", len(typed))
	}
	return strings.Join(typed, "\n")
}

func TestTheExamplesOfTheAPIWorkAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("the examples need " + tool + ", which is not on this machine")
		}
	}
	root := setup(t).admin("root@example.org")
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "scans.zip"), []byte(zipped(slices3()...)), 0o600))
	shell := exec.CommandContext(t.Context(), "bash", "-c", "set -euxo pipefail\n"+examples(t))
	shell.Dir = dir
	shell.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "FILMROOM_URL=" + root.url, "FILMROOM_TOKEN=" + root.token}
	if said, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if left := must(os.ReadFile(filepath.Join(dir, "downloads", "sums.csv"))); string(left) != "copied,7\n" {
		t.Errorf("the download is %q", left)
	}
	if log := must(os.ReadFile(filepath.Join(dir, "audit.csv"))); !strings.HasPrefix(string(log), "at,userId,") {
		t.Errorf("the audit log is %q", log)
	}
	root.endedAs("Nightly copy", tasks.StatusFinished)
	root.endedAs("Nightly check", tasks.StatusError)
	root.endedAs("Once", tasks.StatusCanceled)
}

// endedAs expects one task of this name that ended so.
func (p *person) endedAs(name string, want tasks.Status) {
	p.t.Helper()
	page := must(p.tasks.List(p.t.Context(), p.as(), tasks.Query{Words: tasks.Words(name), Limit: 5}))
	if len(page.Items) != 1 || page.Items[0].Status != want {
		p.t.Errorf("%s: %+v", name, page.Items)
	}
}

func TestTheExamplesNameRoutesThatExist(t *testing.T) {
	t.Parallel()
	var paths []string
	for path := range described().doc.Paths.Map() {
		paths = append(paths, regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, `[^/]+`))
	}
	known := regexp.MustCompile("^(" + strings.Join(paths, "|") + ")$")
	for _, named := range regexp.MustCompile(`FILMROOM_URL(/api[^"? ]*)`).FindAllStringSubmatch(examples(t), -1) {
		if !known.MatchString(named[1]) {
			t.Errorf("%s is not described", named[1])
		}
	}
}

// Threat: settings of lanes and everybody's tasks reach whoever opens the page's stream.
func TestThePageOfLanesIsKeptUpToDate(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada, root := d.person("ada@example.org"), d.admin("root@example.org")
	path := root.external()
	hers, theirs := ada.listen(t, "/lanes/events"), root.listen(t, "/lanes/events")
	shows := func(text string) func(frame) bool {
		return func(f frame) bool { return strings.Contains(f.data, text) }
	}
	if first, ok := hers.next(); !ok || !shows("lane-test-live")(first) || shows("lanes-running")(first) {
		t.Errorf("a person's first frame is %.300q", first.data)
	}
	theirs.until("what runs", shows("a script"))
	root.api("POST", path+"/fail", jsonBody(fields{"message": "The share is not mounted."})).wants(http.StatusOK)
	theirs.until("what failed", shows("The share is not mounted."))
}

// What an export may be asked for is said in three places; who adds a field adds it to all of them.
func TestTheDocumentsNameEveryFieldOfAnExport(t *testing.T) {
	t.Parallel()
	api := string(must(os.ReadFile(filepath.Join("..", "docs", "api.md"))))
	asked := described().doc.Paths.Find("/api/exports").Post.RequestBody.Value.Content.Get("application/json").Schema.Value
	for name, field := range asked.Properties {
		if name != "confirm" && !strings.Contains(api, `"`+name+`"`) {
			t.Errorf("docs/api.md shows no %s", name)
		}
		if name == "options" {
			for option := range field.Value.Properties {
				if !strings.Contains(api, "`"+option+"`") {
					t.Errorf("docs/api.md does not name the option %s", option)
				}
			}
		}
	}
	for _, option := range append(deid.Supported(), "cleanPixelData") {
		if asked.Properties["options"].Value.Properties[option] == nil {
			t.Errorf("openapi.json does not name the option %s", option)
		}
	}
	readme := string(must(os.ReadFile(filepath.Join("..", "README.md"))))
	for _, word := range []string{"`key`", "`blackout`", "`emptyTimes`", "/mapping"} {
		if !strings.Contains(readme, word) || !strings.Contains(api, strings.Trim(word, "`")) {
			t.Errorf("README.md or docs/api.md does not name %s", word)
		}
	}
}
