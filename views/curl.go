package views

import (
	"encoding/json"
	"strings"

	"filmroom/tasks"
)

// A Curl is a command that does with a token what the page does. The token is a variable of the shell, so
// that none is pasted into a history.
type Curl struct {
	Does    string // "Ask for the same again"
	Command string
}

// newCurls are the commands that make sense for t. Imports have none that asks again, for their files came
// with the request; nor have actions on many tasks, which would meet others now, and deletions, whose series are gone.
func newCurls(t tasks.Task, origin string) []Curl {
	origin = orElse(origin, "https://YOUR-DESK")
	curls := []Curl{{"Read this task", curl("", origin+"/api"+TaskURL(t.ID))}}
	if !t.Status.Final() {
		curls = append(curls, Curl{"Follow its progress", curl("--no-buffer --header 'Accept: text/event-stream'", origin+"/api"+TaskURL(t.ID))})
	}
	switch {
	case t.Kind == "import", t.Kind == tasks.ExternalKind, t.Kind == tasks.BulkKind, t.Kind == "delete":
	case t.Kind == "export":
		if body, same := exportAgain(t.Args); same {
			curls = append(curls, Curl{"Take out the same again", curlJSON(origin+"/api/exports", body)})
		}
	case len(t.Sealed) > 0: // what it was asked for is not all here
	default:
		body, err := json.Marshal(struct {
			Kind string          `json:"kind"`
			Name string          `json:"name"`
			Args json.RawMessage `json:"args,omitempty"`
		}{t.Kind, t.Name, t.Args})
		if err == nil {
			curls = append(curls, Curl{"Ask for the same again", curlJSON(origin+"/api/tasks", body)})
		}
	}
	if t.File != nil {
		curls = append(curls, Curl{"Download its file", curl("--remote-name --remote-header-name", origin+DownloadURL(t.ID))})
	}
	return curls
}

// exportAgain is what POST /api/exports takes for the same export; false when pseudonyms were asked for, which the task
// does not tell.
func exportAgain(args json.RawMessage) (body json.RawMessage, same bool) {
	var asked map[string]json.RawMessage
	var options []string
	if json.Unmarshal(args, &asked) != nil || asked["naming"] != nil || asked["options"] != nil && json.Unmarshal(asked["options"], &options) != nil {
		return nil, false
	}
	delete(asked, "images") // counted by the desk
	on := map[string]bool{}
	for _, name := range options {
		on[name] = true
	}
	var err error
	if len(on) > 0 {
		asked["options"], err = json.Marshal(on)
	}
	if err == nil {
		body, err = json.Marshal(asked)
	}
	return body, err == nil
}

func curl(options, url string) string {
	if options != "" {
		options += " "
	}
	return "curl " + options + shellQuoted(url) + ` \` + "\n" + `  --header "Authorization: Bearer $FILMROOM_TOKEN"`
}

func curlJSON(url string, body json.RawMessage) string {
	return curl("", url) + ` \` + "\n" + `  --json ` + shellQuoted(string(body))
}

// shellQuoted is text as one word of a POSIX shell.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
