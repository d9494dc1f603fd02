// Package handlers is the desk's HTTP: pages, the JSON API, uploads, downloads, event streams, sign-in.
//
// A handler reads parse, call, render, and returns an error. It writes no log and picks no status for what
// others refuse: errors.go holds the one table from meanings to statuses and sentences, and tells programs by
// an RFC 9457 problem document and people by a page, or by a notice on the page where they are. Routes stand
// in one table, routes.go, which also says who may call each.
//
// Around every handler, from the outside in: the request gets an id, is counted and logged by its route's
// pattern (never by its path or query, which hold ids of tasks and series); deadlines move with each read
// and write, so that a slow transfer may last but a stalled one may not; a panic becomes an answer; headers
// forbid what the desk does not need; writes from other sites are refused; then it is found out who asks.
//
// What programs may ask of the scheduler is bounded in bounds.go, how often anybody may ask in ratelimit.go, and what
// people do that others may have to answer for is noted in audit.go: with our ids, never with a patient's name.
//
// An event stream, stream.go, begins with a snapshot that is joined to the news without a seam, and ends
// within a second when the session, token or account that opened it ends, and at once when the desk stops.
package handlers
