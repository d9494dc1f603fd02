package views

import "time"

// A Section is a part of the desk that the rail leads to.
type Section string

const (
	SectionBoard   Section = "board"
	SectionLibrary Section = "library"
	SectionLanes   Section = "lanes"
	SectionUsers   Section = "users"
	SectionAudit   Section = "audit"
	SectionAccount Section = "account"
)

// A Frame is what is around a page. Handlers fill in User and Now (and Notice, after a redirect); the
// page's constructor does the rest.
type Frame struct {
	User   Viewer
	Now    time.Time
	Notice Notice // what came of the action that led here; zero: nothing

	title   string
	section Section
	running int    // tasks that run, for the title
	stream  string // address of the page's event stream, "" for none

	placesTransfers bool // the page itself says where uploads are listed
}

// A Viewer is who looks at the page; the zero Viewer is nobody.
type Viewer struct {
	Email string
	Name  string
	Admin bool
}

// A Notice says in a sentence what came of an action.
type Notice struct {
	Text   string
	Failed bool

	GoTo, GoToWord string // where to go on from here, "" for nowhere
}

// Title is the page's title: running work is counted in it.
func (f Frame) Title() string {
	if f.running > 0 {
		return "(" + Count(f.running) + ") " + f.title + " - Filmroom"
	}
	return f.title + " - Filmroom"
}
