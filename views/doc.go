// Package views turns what the desk knows into HTML. It does no I/O and reads no clock: a constructor takes
// records and the time, and returns a model that holds ready-to-show values; a component shows a model.
//
// A task becomes HTML in one component only. The page, the answer to a button and the event stream all
// render [TaskRow], so a row cannot look different according to how it came to the browser. Rows depend on
// nothing but the task and the time, so one rendering may be sent to everybody who watches it.
//
// Each page's model embeds [Frame], which holds what is around every page. What is sent into an open page is
// called a partial: an hx-partial element that names its target, of which any number may stand in one answer
// or one event.
package views
