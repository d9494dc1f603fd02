package views

import "filmroom/tasks"

// A Status is a task's status as it is shown: always an icon, a word and a colour together.
type Status struct {
	Name tasks.Status
	Mark string // the icon's and the colour's name, mostly that of the status
	Word string
}

var statusWords = map[tasks.Status]string{
	tasks.StatusQueued:      "Waiting",
	tasks.StatusPaused:      "Paused",
	tasks.StatusProcessing:  "Running",
	tasks.StatusFinished:    "Finished",
	tasks.StatusError:       "Failed",
	tasks.StatusCanceled:    "Canceled",
	tasks.StatusInterrupted: "Interrupted",
}

// NewStatus words a status.
func NewStatus(s tasks.Status) Status { return Status{Name: s, Mark: string(s), Word: statusWords[s]} }

// KindWord is what people call a kind of task; a kind the desk has no word for keeps its name.
func KindWord(kind string) string {
	switch kind {
	case "import":
		return "Import"
	case "export":
		return "Take-out"
	case "delete":
		return "Deletion"
	case tasks.BulkKind:
		return "Many at once"
	case "webhook":
		return "Webhook"
	case tasks.ExternalKind:
		return "External"
	default:
		return kind
	}
}
