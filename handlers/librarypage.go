package handlers

import (
	"errors"
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
	maxTakeOut  = 1000 // series in the dialog that takes out
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

// takeOutDialog asks how the chosen series should go out.
func (s *Server) takeOutDialog(c echo.Context) error {
	posted, err := form(c)
	if err != nil {
		return err
	}
	ids := posted.texts("seriesIds")
	if err := posted.done(); err != nil {
		return err
	}
	dialog, err := s.newTakeOut(c, ids)
	if err != nil {
		return err
	}
	return s.showTakeOut(c, http.StatusOK, dialog)
}

// newTakeOut makes the dialog for series that are all the person's own. The table of tags is an extra: where it cannot be
// made, the dialog comes without it.
func (s *Server) newTakeOut(c echo.Context, ids []string) (views.TakeOut, error) {
	ctx, p := c.Request().Context(), who(c).person()
	if len(ids) > maxTakeOut {
		return views.TakeOut{}, invalid("seriesIds", "must be 1,000 series at most")
	}
	var chosen []imaging.Series
	for _, seriesID := range ids {
		series, err := s.cfg.Desk.Series(ctx, p, seriesID)
		if err != nil {
			return views.TakeOut{}, err
		}
		chosen = append(chosen, series)
	}
	dialog := views.NewTakeOut(s.frame(c), chosen)
	if len(chosen) == 0 {
		return dialog, nil
	}
	changes, err := s.cfg.Desk.Compare(ctx, p, chosen[0].ID, imaging.ExportRequest{SeriesIDs: ids, Profile: "basic"})
	if err != nil {
		s.log.WarnContext(ctx, "no table of tags for a take-out", "requestId", requestID(c), "error", err)
	}
	for _, x := range changes {
		dialog.Sample = append(dialog.Sample, views.TagChange{Tag: x.Tag, Name: x.Name, Before: x.Before, After: x.After, Gone: x.Gone})
	}
	return dialog, nil
}

func (s *Server) showTakeOut(c echo.Context, status int, dialog views.TakeOut) error {
	if isPartial(c) {
		return s.render(c, status, views.TakeOutDialog(dialog))
	}
	return s.render(c, status, views.TakeOutPage(dialog))
}

// takeOut begins an export. One that is refused comes back as the dialog, with what was chosen and why.
func (s *Server) takeOut(c echo.Context) error {
	posted, err := form(c)
	if err != nil {
		return err
	}
	request := imaging.ExportRequest{SeriesIDs: posted.texts("seriesIds"), Profile: posted.text("profile"), Name: posted.text("name"),
		PixelsReviewed: posted.texts("pixelsReviewed"), PseudonymPrefix: posted.text("pseudonymPrefix"), Key: posted.text("key")}
	postedOptions(posted, &request)
	if err := posted.done(); err != nil {
		return err
	}
	t, err := s.cfg.Desk.Export(c.Request().Context(), who(c).person(), request)
	if wrong, ok := errors.AsType[imaging.FieldErrors](err); ok {
		return s.refuseTakeOut(c, request, wrong)
	}
	if err != nil {
		return err
	}
	s.auditExport(c, t.ID, len(request.SeriesIDs), request.Profile)
	if isPartial(c) {
		c.Response().Header().Set("HX-Redirect", views.TaskURL(t.ID))
		return c.NoContent(http.StatusOK)
	}
	return seeOther(c, views.TaskURL(t.ID))
}

func (s *Server) refuseTakeOut(c echo.Context, request imaging.ExportRequest, wrong imaging.FieldErrors) error {
	dialog, err := s.newTakeOut(c, request.SeriesIDs)
	if err != nil {
		return err
	}
	f, _ := faultOf(wrong)
	dialog.Error, dialog.Name, dialog.Prefix, dialog.Key = f.text(), request.Name, request.PseudonymPrefix, request.Key
	for option := range request.Options {
		if option == "shiftDates" || option == "retainFullDates" {
			dialog.Dates = option
		} else {
			dialog.Kept[option] = true
		}
	}
	for seriesID, list := range request.Blackout {
		dialog.Painted[seriesID] = rectangleText(list)
	}
	for _, seriesID := range request.PixelsReviewed {
		dialog.Looked[seriesID] = true
	}
	return s.showTakeOut(c, f.status, dialog)
}

// bringInSample brings in a synthetic study, for who has no images at hand.
func (s *Server) bringInSample(c echo.Context) error {
	if err := noBody(c); err != nil {
		return err
	}
	t, err := s.cfg.Desk.Sample(c.Request().Context(), who(c).person())
	if err != nil {
		return err
	}
	s.audit(c, accounts.ActUploaded, t.ID, "the sample")
	return seeOther(c, views.TaskURL(t.ID))
}
