package handlers

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
	"filmroom/imaging"
	"filmroom/tasks"
	"filmroom/views"
)

const (
	libraryRows = 100  // series on a page of the library
	maxChosen   = 1000 // series that a dialog of the library takes
)

func (s *Server) libraryPage(c echo.Context) error { return s.showLibrary(c, query(c)) }

// searchLibrary answers a posted search: what identifies a patient is never part of an address.
func (s *Server) searchLibrary(c echo.Context) error {
	posted, err := form(c)
	if err != nil {
		return err
	}
	return s.showLibrary(c, posted)
}

func (s *Server) showLibrary(c echo.Context, p *params) error {
	posted := c.Request().Method == http.MethodPost
	q := views.LibraryQuery{Modality: p.text("modality"), From: dash(p.dicomDay("from")), To: dash(p.dicomDay("to")), TaskID: p.text("taskId"),
		Sort: oneOf(p, "sort", seriesSorts...), Cursor: p.text("cursor")}
	if posted {
		q.Search = p.text("q")
	}
	if err := p.done(); err != nil {
		return err
	}
	page, err := s.cfg.Desk.ListSeries(c.Request().Context(), who(c).person(), seriesQuery(q))
	if err != nil {
		return err
	}
	library := views.NewLibrary(s.frame(c), q, page)
	switch {
	case !posted || !isPartial(c):
		return s.render(c, http.StatusOK, views.LibraryPage(library))
	case q.Cursor != "":
		return s.render(c, http.StatusOK, views.SeriesMore(library))
	default:
		return s.render(c, http.StatusOK, views.SeriesList(library))
	}
}

func seriesQuery(q views.LibraryQuery) imaging.SeriesQuery {
	return imaging.SeriesQuery{Modality: q.Modality, From: strings.ReplaceAll(q.From, "-", ""), To: strings.ReplaceAll(q.To, "-", ""),
		TaskID: q.TaskID, Words: tasks.Words(q.Search), Sort: q.Sort, Limit: libraryRows, Cursor: q.Cursor}
}

// dash is a DICOM date as a date field of a form wants it.
func dash(da string) string {
	t, err := time.Parse("20060102", da)
	if err != nil {
		return ""
	}
	return t.Format(time.DateOnly)
}

func (s *Server) seriesPage(c echo.Context) error {
	if err := query(c).done(); err != nil {
		return err
	}
	series, err := s.seriesOf(c)
	if err != nil {
		return err
	}
	s.audit(c, accounts.ActSeriesViewed, series.ID, "")
	return s.render(c, http.StatusOK, views.SeriesPage(views.NewSeriesView(s.frame(c), series)))
}

// bringInSample brings in a synthetic study, for who has no images at hand.
func (s *Server) bringInSample(c echo.Context) error {
	if err := noBody(c); err != nil {
		return err
	}
	ctx, person := c.Request().Context(), who(c).person()
	var t tasks.Task
	err := s.withRoom(ctx, person, "", func() (err error) {
		t, err = s.cfg.Desk.Sample(ctx, person)
		return err
	})
	if err != nil {
		return err
	}
	s.audit(c, accounts.ActUploaded, t.ID, "the sample")
	return seeOther(c, views.TaskURL(t.ID))
}
