package views

import "net/http"

// An Error is a page that says what went wrong and what to do next.
type Error struct {
	Frame
	Status  int
	Heading string
	Text    string
	Next    string // address of the way on
	NextTo  string // its words
	ID      string // of the request, when the operator may look for it
	Detail  string // what the person can act on, "" for none
}

// NewError words an HTTP status. detail is a sentence about this very case and may be empty; id is the
// request's, shown for faults of the desk.
func NewError(f Frame, status int, detail, id string) Error {
	e := Error{Frame: f, Status: status, Detail: detail, Next: "/", NextTo: "To the board"}
	w, ok := errorWords[status]
	switch {
	case ok:
	case status >= http.StatusInternalServerError:
		w = errorWords[http.StatusInternalServerError]
	default:
		w = errorText{http.StatusText(status), "The desk could not do this as it was asked."}
	}
	e.Heading, e.Text = w.heading, w.text
	if status >= http.StatusInternalServerError {
		e.ID = id
	}
	if status == http.StatusUnauthorized {
		e.Next, e.NextTo = LoginURL, "Sign in"
	}
	e.title = e.Heading
	return e
}

type errorText struct{ heading, text string }

var errorWords = map[int]errorText{
	http.StatusUnauthorized:          {"You are signed out", "Your session has ended. Sign in to go on."},
	http.StatusForbidden:             {"Not allowed", "Your account may not do this, or the request came from another site."},
	http.StatusNotFound:              {"Not here", "There is nothing at this address, or it belongs to somebody else."},
	http.StatusConflict:              {"Too late for that", "Things have moved on since the page was loaded."},
	http.StatusGone:                  {"This has expired", "Results are kept for a limited time and this one is gone. The task can be run again."},
	http.StatusRequestEntityTooLarge: {"Too large", "This is more than the desk takes at once. Send it in parts."},
	http.StatusUnsupportedMediaType:  {"Not a kind of file the desk knows", "Send a ZIP, a tar.gz or DICOM files."},
	http.StatusUnprocessableEntity:   {"That does not fit", "Something in the request is not as it should be."},
	http.StatusTooManyRequests:       {"Too many tries", "Wait a little before trying again."},
	http.StatusInternalServerError:   {"Something broke here", "This is the desk's fault, not yours. What was under way goes on. If it happens again, give your administrator the id below."},
	http.StatusServiceUnavailable:    {"Not ready", "The desk is starting or stopping. Try again in a moment."},
	http.StatusInsufficientStorage:   {"No room left", "The disk is full. Nothing of this was kept; ask your administrator to make room."},
}
