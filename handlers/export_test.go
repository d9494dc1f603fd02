package handlers

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
