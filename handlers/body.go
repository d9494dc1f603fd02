package handlers

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// maxBody is the largest body but for uploads, in bytes.
const maxBody = 1 << 20

func tooLarge(limit int64) fault {
	return fault{status: http.StatusRequestEntityTooLarge, detail: "This is more than the desk takes at once: " + sizeText(limit) + " at most."}
}

// limitBody refuses a body that says that it is too large before a byte of it is read, and stops reading one that
// turns out to be.
func limitBody(c echo.Context, limit int64) error {
	r := c.Request()
	if r.ContentLength > limit {
		return &http.MaxBytesError{Limit: limit}
	}
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = http.MaxBytesReader(serversOwn(c.Response()), r.Body, limit)
	}
	return nil
}

// serversOwn is the writer within all that is around it: only to it can MaxBytesReader say that the
// connection cannot be used again.
func serversOwn(w http.ResponseWriter) http.ResponseWriter {
	for {
		outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = outer.Unwrap()
	}
}

// mediaTypeOf is the body's media type without parameters, "" when there is none.
func mediaTypeOf(r *http.Request) (string, map[string]string) {
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return "", nil
	}
	return kind, parameters
}

func wrongMediaType(want string) error {
	return &fault{status: http.StatusUnsupportedMediaType, detail: "The body must be " + want + "."}
}

// decodeJSON reads a JSON object into a struct. Members that the struct does not have are refused by name.
func decodeJSON(c echo.Context, into any) error {
	if kind, _ := mediaTypeOf(c.Request()); kind != "application/json" {
		return wrongMediaType("application/json")
	}
	body, err := io.ReadAll(c.Request().Body)
	if err != nil {
		return err
	}
	return decodeObject(body, into)
}

func decodeObject(body []byte, into any) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return jsonFault(err)
	}
	var unknown []fieldFault
	names := memberNames(reflect.TypeOf(into).Elem())
	for name := range members {
		if !slices.Contains(names, name) {
			unknown = append(unknown, fieldFault{name, "is not known here"})
		}
	}
	if unknown != nil {
		slices.SortFunc(unknown, func(a, b fieldFault) int { return strings.Compare(a.Field, b.Field) })
		return unprocessable(unknown...)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return jsonFault(err)
	}
	return nil
}

func jsonFault(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := wrong.Field
		if field == "" {
			field = "body"
		}
		return invalid(field, "must be "+article(wrong.Type)+", not "+wrong.Value)
	}
	return &fault{status: http.StatusBadRequest, detail: "The body is not JSON: it must be one object, whole and in UTF-8."}
}

// article words a Go type as JSON calls it.
func article(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	default:
		return "a number"
	}
}

func memberNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// form reads a posted form.
func form(c echo.Context) (*params, error) {
	if kind, _ := mediaTypeOf(c.Request()); kind != "application/x-www-form-urlencoded" {
		return nil, wrongMediaType("application/x-www-form-urlencoded")
	}
	body, err := io.ReadAll(c.Request().Body)
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, &fault{status: http.StatusBadRequest, detail: "The form is not encoded as it should be."}
	}
	return newParams(values), nil
}

// noBody is for actions that take nothing: anything but a small body is refused unread by limitBody, and that
// is read away so that the connection can be used again.
func noBody(c echo.Context) error {
	_, err := io.Copy(io.Discard, c.Request().Body)
	return err
}
