package handlers_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// described is the API's description, ready to hold answers against.
var described = sync.OnceValue(func() (d struct {
	doc    *openapi3.T
	router routers.Router
}) {
	d.doc = must(openapi3.NewLoader().LoadFromData(must(os.ReadFile("openapi.json"))))
	d.router = must(gorillamux.NewRouter(d.doc))
	return d
})

func init() {
	// Bodies that are not JSON are held against their schema as text.
	for _, kind := range []string{"application/jsonl", "image/png", "text/event-stream", "application/zip"} {
		openapi3filter.RegisterBodyDecoder(kind, openapi3filter.FileBodyDecoder)
	}
}

// fitsTheDocument holds every answer any test gets from the API against openapi.json: its status, its media type, and
// its body with no member too many or too few.
func (a *answer) fitsTheDocument() {
	a.t.Helper()
	route, names, err := described().router.FindRoute(a.request)
	if err != nil || a.response.StatusCode == 405 || strings.HasPrefix(a.response.Header.Get("Content-Type"), "text/html") {
		return // pages and what is nowhere are not described
	}
	request := &openapi3filter.RequestValidationInput{Request: a.request, PathParams: names, Route: route}
	err = openapi3filter.ValidateResponse(a.t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: request, Status: a.response.StatusCode, Header: a.response.Header,
		Body:    io.NopCloser(bytes.NewReader(a.body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
	if err != nil {
		a.t.Errorf("%s %s does not answer as openapi.json says: %v", a.request.Method, a.request.URL.Path, err)
	}
}

func TestTheDescriptionIsAValidOpenAPIDocument(t *testing.T) {
	t.Parallel()
	if err := described().doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTheDescriptionHasEveryRouteAndNoOther(t *testing.T) {
	t.Parallel()
	d := setup(t)
	var routes, operations []string
	for _, r := range d.server.APIRoutes() {
		routes = append(routes, r[0]+" "+regexp.MustCompile(`:(\w+)`).ReplaceAllString(r[1], "{$1}"))
	}
	for path, item := range described().doc.Paths.Map() {
		for method := range item.Operations() {
			operations = append(operations, method+" "+path)
		}
	}
	slices.Sort(routes)
	slices.Sort(operations)
	if !slices.Equal(routes, operations) {
		t.Errorf("routes\n%s\nbut operations\n%s", strings.Join(routes, "\n"), strings.Join(operations, "\n"))
	}
}

func TestTheDescriptionIsServedToAnybody(t *testing.T) {
	t.Parallel()
	a := setup(t).send("GET", "/openapi.json").wants(200)
	if !json.Valid(a.body) {
		t.Error("openapi.json is not JSON")
	}
}
