package handlers

import (
	"context"
	"errors"
	"net/http"
	"syscall"
	"time"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
	"filmroom/imaging"
	"filmroom/tasks"
)

// A fault is an error as its cause is told of it: a status, a sentence that says what is wrong and what would
// be right, and the fields that are meant.
type fault struct {
	status     int
	detail     string
	fields     []fieldFault
	retryAfter time.Duration
	taskStatus tasks.Status // of the task that refused, with 409
}

// A fieldFault names a field, option or parameter that is wrong, and why.
type fieldFault struct {
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

// Error makes a fault an error that handlers return for what they find themselves.
func (f *fault) Error() string { return f.detail }

// invalid refuses one field of a request.
func invalid(field, reason string) error {
	return unprocessable(fieldFault{Field: field, Reason: reason})
}

func unprocessable(fields ...fieldFault) error {
	return &fault{status: http.StatusUnprocessableEntity, detail: "Something in the request is not as it should be.", fields: fields}
}

// What belongs to somebody else does not exist: one sentence for both, without the id that was asked for.
var errNotHere = &fault{status: http.StatusNotFound, detail: "There is nothing here, or it belongs to somebody else."}

var (
	errSignedOut  = &fault{status: http.StatusUnauthorized, detail: "Sign in, or send a valid token as Authorization: Bearer frm_..."}
	errBrokeOff   = &fault{status: http.StatusBadRequest, detail: "The transfer broke off before its end. Nothing of it was kept."}
	errStoodStill = &fault{status: http.StatusRequestTimeout, detail: "The transfer stood still for too long and was given up. Nothing of it was kept."}
	errNotAdmin   = &fault{status: http.StatusForbidden, detail: "Only administrators may do this."}
	errOtherSite  = &fault{status: http.StatusForbidden, detail: "The request came from another site. Open the desk itself and try there."}
)

// A meaning is what a sentinel of the packages below means to those who ask over HTTP.
type meaning struct {
	is     error
	status int
	detail string
	field  string // the field it is about, "" for none
}

var meanings = []meaning{
	{is: tasks.ErrNotFound, status: 404, detail: errNotHere.detail},
	{is: imaging.ErrNotFound, status: 404, detail: errNotHere.detail},
	{is: accounts.ErrNotFound, status: 404, detail: errNotHere.detail},
	{is: tasks.ErrExpired, status: 410, detail: "The download has expired. Run the task again to make a new one."},
	{is: tasks.ErrEqualActive, status: 409, detail: "An equal task of its owner, submitted with dedupe, has not ended. Wait for its end, or cancel it, and retry then."},
	{is: tasks.ErrInputGone, status: 409, detail: "What the task worked on is no longer kept, so it cannot be run again. Bring the files in anew."},
	{is: tasks.ErrLeaseLost, status: 409, detail: "The task was silent for too long, or has ended: its reports no longer count."},
	{is: tasks.ErrNotExternal, status: 409, detail: "The desk itself runs this task: only external tasks are reported from outside."},
	{is: tasks.ErrShutdown, status: 503, detail: "The desk is stopping. Try again in a moment."},
	{is: tasks.ErrCursor, status: 422, detail: "belongs to another list or order: begin without a cursor", field: "cursor"},
	{is: accounts.ErrCursor, status: 422, detail: "belongs to another list or order: begin without a cursor", field: "cursor"},
	{is: imaging.ErrCursor, status: 422, detail: "belongs to another list or order: begin without a cursor", field: "cursor"},
	{is: imaging.ErrTooLarge, status: 413, detail: "This is more than the desk takes at once. Send it in parts."},
	{is: imaging.ErrNoRoom, status: 507, detail: "There is no room left on the disk. Nothing of this was kept."},
	{is: imaging.ErrNoFiles, status: 422, detail: "must hold at least one file", field: "files"},
	{is: imaging.ErrKeyReused, status: 422, detail: "was used for an upload with other content", field: idempotencyHeader},
	{is: accounts.ErrBadCredentials, status: 401, detail: "The e-mail address or password is wrong."},
	{is: accounts.ErrSetupToken, status: 403, detail: "This set-up link is not valid. Use the one that the desk printed when it was last started."},
	{is: accounts.ErrNotFirst, status: 409, detail: "The desk already has an account. Sign in."},
	{is: accounts.ErrLastAdmin, status: 409, detail: "This is the last administrator. Make somebody else one first."},
	{is: accounts.ErrEmailTaken, status: 422, detail: "belongs to another account", field: "email"},
	{is: syscall.ENOSPC, status: 507, detail: "There is no room left on the disk. Nothing of this was kept."},
	{is: context.DeadlineExceeded, status: 503, detail: "This took too long. Try again in a moment."},
}

// broken is what everything without a meaning becomes. Its cause stands in the log alone.
const broken = "Something broke here. It is the desk's fault, not yours; the id leads its operator to the cause."

// faultOf finds what an error means. known is false for what the desk has no word for.
func faultOf(err error) (f fault, known bool) {
	if own, ok := errors.AsType[*fault](err); ok {
		return *own, true
	}
	if f, ok := typedFault(err); ok {
		return f, true
	}
	for _, m := range meanings {
		switch {
		case !errors.Is(err, m.is):
		case m.field != "":
			own, _ := errors.AsType[*fault](invalid(m.field, m.detail))
			return *own, true
		default:
			return fault{status: m.status, detail: m.detail}, true
		}
	}
	return fault{status: http.StatusInternalServerError, detail: broken}, false
}

// typedFault knows the errors that carry more than their name.
func typedFault(err error) (fault, bool) {
	if e, ok := errors.AsType[*tasks.ConflictError](err); ok {
		return fault{status: http.StatusConflict, taskStatus: e.Status,
			detail: "A task that is " + string(e.Status) + " cannot be " + conflictVerb(e.Event) + "."}, true
	}
	if e, ok := errors.AsType[*accounts.RateLimitedError](err); ok {
		return fault{status: http.StatusTooManyRequests, detail: "Too many attempts. Wait a little before the next one.", retryAfter: e.RetryAfter}, true
	}
	if e, ok := errors.AsType[*accounts.InvalidError](err); ok {
		return fault{status: http.StatusUnprocessableEntity, detail: "Something in the request is not as it should be.",
			fields: []fieldFault{{e.Field, e.Reason}}}, true
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(e.Limit), true
	}
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return routingFault(e), true
	}
	return deskFault(err)
}

// deskFault knows the errors of images.
func deskFault(err error) (fault, bool) {
	if wrong, ok := errors.AsType[imaging.FieldErrors](err); ok {
		f := fault{status: http.StatusUnprocessableEntity, detail: "Something in the request is not as it should be."}
		for _, w := range wrong {
			f.fields = append(f.fields, fieldFault{w.Field, w.Reason})
		}
		return f, true
	}
	switch {
	case errors.Is(err, imaging.ErrUploadUnderWay):
		return fault{status: http.StatusConflict, detail: "A transfer with this Idempotency-Key is under way. Wait for its end.", retryAfter: 5 * time.Second}, true
	case errors.Is(err, imaging.ErrNoPreview):
		return fault{status: http.StatusNotFound, detail: err.Error()}, true
	}
	return fault{}, false
}

func routingFault(e *echo.HTTPError) fault {
	switch e.Code {
	case http.StatusNotFound:
		return *errNotHere
	case http.StatusMethodNotAllowed:
		return fault{status: e.Code, detail: "This address does not take that method."}
	default:
		return fault{status: e.Code, detail: http.StatusText(e.Code)}
	}
}

func conflictVerb(e tasks.Event) string {
	switch e {
	case tasks.EventCancelRequested:
		return "canceled"
	case tasks.EventRestored, tasks.EventDismissed:
		return "dismissed"
	default:
		return string(e)
	}
}

// leftEarly reports whether an error means no more than that the client has gone.
func leftEarly(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }
