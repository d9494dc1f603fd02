package handlers

import (
	"strconv"
	"time"
)

// A RationBook is what remembers how often credentials have asked.
type RationBook struct{ of *rations }

// NewRationBook lets each credential ask once.
func NewRationBook() RationBook { return RationBook{newRations(1e-6, 1)} }

// Ask reports whether a credential may ask.
func (b RationBook) Ask(credential string) bool {
	ok, _, _, _ := b.of.take(credential, time.Unix(0, 0))
	return ok
}

// AskAs has so many other credentials ask.
func (b RationBook) AskAs(n int) {
	for i := range n {
		b.Ask(strconv.Itoa(i))
	}
}

// Size is how many credentials are remembered.
func (b RationBook) Size() int { return len(b.of.young) + len(b.of.old) }

// MaxRemembered is the most that may be.
const MaxRemembered = 2 * maxRationed

// APIRoutes are the method and path of each route that openapi.json must describe, for tests.
func (s *Server) APIRoutes() (routes [][2]string) {
	for _, r := range s.apiRoutes() {
		routes = append(routes, [2]string{r.method, r.path})
	}
	return routes
}

// PageRoutes are the method and path of each page's route.
func (s *Server) PageRoutes() (routes [][2]string) {
	for _, r := range s.pageRoutes() {
		routes = append(routes, [2]string{r.method, r.path})
	}
	return routes
}

// What tests look at from inside.
var (
	Attachment = attachment
	Inert      = inert
	LocalPath  = localPath
)
