package imaging

import (
	"strings"

	"filmroom/tasks"
)

// words cuts texts up as [tasks.Words] does, so that a search means the same everywhere on the desk.
func words(texts ...string) []string { return tasks.Words(strings.Join(texts, " ")) }
