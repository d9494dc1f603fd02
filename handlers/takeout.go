package handlers

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"filmroom/dicom/deid"
	"filmroom/imaging"
	"filmroom/views"
)

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
	dialog, err := s.newTakeOut(c, imaging.ExportRequest{SeriesIDs: ids, Profile: "basic"})
	if err != nil {
		return err
	}
	if _, err := s.tryOut(c, &dialog, imaging.ExportRequest{SeriesIDs: ids, Profile: "basic"}, ""); err != nil {
		return err
	}
	return s.showTakeOut(c, http.StatusOK, dialog)
}

// dryRun shows what would leave under the options that the dialog holds now: in the dialog where it is open, and as a
// page with all that was typed where it is one.
func (s *Server) dryRun(c echo.Context) error {
	request, dialog, shown, err := s.postedTakeOut(c)
	if err != nil {
		return err
	}
	status, err := s.tryOut(c, &dialog, request, shown)
	if err != nil {
		return err
	}
	if isPartial(c) {
		return s.render(c, status, views.TakeOutLive(dialog))
	}
	return s.render(c, status, views.TakeOutPage(dialog))
}

// takeOut begins an export. One that is refused comes back as the dialog, with what was chosen and why.
func (s *Server) takeOut(c echo.Context) error {
	request, dialog, shown, err := s.postedTakeOut(c)
	if err != nil {
		return err
	}
	t, err := s.export(c, request)
	if _, wrong := errors.AsType[imaging.FieldErrors](err); wrong {
		dialog.Refused = true
		status, err := s.tryOut(c, &dialog, request, shown)
		if err != nil {
			return err
		}
		return s.showTakeOut(c, status, dialog)
	}
	if err != nil {
		return err
	}
	return onTo(c, views.TaskURL(t.ID))
}

// onTo leads from a dialog, or the page that stands for it, to another page.
func onTo(c echo.Context, address string) error {
	if isPartial(c) {
		c.Response().Header().Set("HX-Redirect", address)
		return c.NoContent(http.StatusOK)
	}
	return seeOther(c, address)
}

func (s *Server) showTakeOut(c echo.Context, status int, dialog views.TakeOut) error {
	if isPartial(c) {
		return s.render(c, status, views.TakeOutDialog(dialog))
	}
	return s.render(c, status, views.TakeOutPage(dialog))
}

// postedTakeOut reads the dialog's form: what it asks for, the dialog as it was typed, and the series whose image is to
// be shown.
func (s *Server) postedTakeOut(c echo.Context) (request imaging.ExportRequest, dialog views.TakeOut, shown string, err error) {
	posted, err := form(c)
	if err != nil {
		return request, dialog, "", err
	}
	request = imaging.ExportRequest{SeriesIDs: posted.texts("seriesIds"), Profile: posted.text("profile"), Name: posted.text("name"),
		PixelsReviewed: posted.texts("pixelsReviewed"), PseudonymPrefix: posted.text("pseudonymPrefix"), Key: posted.text("key"),
		Options: map[string]json.RawMessage{}, Blackout: map[string][][]int{}}
	for _, option := range append(posted.texts("options"), posted.text("dates")) {
		if option != "" {
			request.Options[option] = json.RawMessage("true")
		}
	}
	painted := map[string][]views.Rectangle{}
	for _, seriesID := range request.SeriesIDs {
		if typed := typedRectangles(posted, seriesID); len(typed) > 0 {
			painted[seriesID], request.Blackout[seriesID] = typed, rectanglesOf(typed)
		}
	}
	shown = posted.text("shown")
	if err := posted.done(); err != nil {
		return request, dialog, "", err
	}
	dialog, err = s.newTakeOut(c, request)
	dialog.Painted = painted
	return request, dialog, shown, err
}

// newTakeOut makes the dialog for series that are all the person's own, as a request has filled it in.
func (s *Server) newTakeOut(c echo.Context, request imaging.ExportRequest) (views.TakeOut, error) {
	chosen, err := s.chosen(c, request.SeriesIDs)
	if err != nil {
		return views.TakeOut{}, err
	}
	dialog := views.NewTakeOut(s.frame(c), chosen)
	if request.Name != "" {
		dialog.Name = request.Name
	}
	dialog.Prefix, dialog.Key = request.PseudonymPrefix, request.Key
	for option := range request.Options {
		if option == "shiftDates" || option == "retainFullDates" {
			dialog.Dates = option
		} else {
			dialog.Kept[option] = true
		}
	}
	for _, seriesID := range request.PixelsReviewed {
		dialog.Looked[seriesID] = true
	}
	return dialog, nil
}

// chosen reads the series that a dialog of the library is about.
func (s *Server) chosen(c echo.Context, ids []string) ([]imaging.Series, error) {
	if len(ids) > maxChosen {
		return nil, invalid("seriesIds", "must be 1,000 series at most")
	}
	var all []imaging.Series
	for _, seriesID := range ids {
		series, err := s.cfg.Desk.Series(c.Request().Context(), who(c).person(), seriesID)
		if err != nil {
			return nil, err
		}
		all = append(all, series)
	}
	return all, nil
}

// tryOut puts into the dialog what its request would do, or what is wrong with it, and which series need a look.
func (s *Server) tryOut(c echo.Context, dialog *views.TakeOut, request imaging.ExportRequest, shown string) (status int, err error) {
	if len(dialog.Series) == 0 {
		return http.StatusOK, nil
	}
	ctx, p := c.Request().Context(), who(c).person()
	run, err := s.cfg.Desk.DryRun(ctx, p, request, shown)
	status = http.StatusOK
	if wrong, ok := errors.AsType[imaging.FieldErrors](err); ok {
		status = http.StatusUnprocessableEntity
		for _, w := range wrong {
			dialog.Blame(w.Field, w.Reason)
		}
		// Which series need a look is so whatever else is wrong.
		run, err = s.cfg.Desk.DryRun(ctx, p, imaging.ExportRequest{SeriesIDs: request.SeriesIDs, Profile: "basic"}, "")
	}
	if err != nil {
		return status, err
	}
	dialog.Show(run)
	return status, s.addSuspects(c, dialog, run.Refused)
}

// addSuspects puts into the dialog the series that a person should look at, or has.
func (s *Server) addSuspects(c echo.Context, dialog *views.TakeOut, refused []imaging.RefusedSeries) error {
	held := map[string]bool{}
	for _, r := range refused {
		held[r.SeriesID] = r.Held
	}
	for _, row := range dialog.Series {
		if row.BurnedIn || held[row.ID] || dialog.Looked[row.ID] || len(dialog.Painted[row.ID]) > 0 {
			suspect, err := s.suspect(c, row)
			if err != nil {
				return err
			}
			dialog.Suspect = append(dialog.Suspect, suspect)
		}
	}
	return nil
}

// suspect finds out how large the pictures of a series are, by its first image.
func (s *Server) suspect(c echo.Context, row views.SeriesRow) (views.Suspect, error) {
	first, err := s.cfg.Desk.Instances(c.Request().Context(), who(c).person(), row.ID, nil, 1)
	suspect := views.Suspect{SeriesRow: row, Last: row.Instances - 1}
	if err != nil || len(first) == 0 {
		return suspect, err
	}
	suspect.Columns, suspect.Rows, suspect.Unpaintable = first[0].Columns, first[0].Rows, !deid.Paintable(first[0].TransferSyntax)
	if row.Instances == 1 {
		suspect.Last = max(first[0].Frames-1, 0)
	}
	return suspect, nil
}

// typedRectangles reads the rows of numbers of a series, without those that are empty.
func typedRectangles(posted *params, seriesID string) []views.Rectangle {
	var numbers [4][]string
	for i, name := range []string{"x", "y", "width", "height"} {
		numbers[i] = posted.texts(views.PaintField(seriesID, name))
	}
	var all []views.Rectangle
	for row := range slices.Max([]int{len(numbers[0]), len(numbers[1]), len(numbers[2]), len(numbers[3])}) {
		var typed [4]string
		for i := range numbers {
			if row < len(numbers[i]) {
				typed[i] = strings.TrimSpace(numbers[i][row])
			}
		}
		if typed != [4]string{} {
			all = append(all, views.Rectangle{X: typed[0], Y: typed[1], Width: typed[2], Height: typed[3]})
		}
	}
	return all
}

// rectanglesOf reads the numbers. What is none makes a rectangle of too few, which the desk refuses with what would be
// right.
func rectanglesOf(typed []views.Rectangle) [][]int {
	var all [][]int
	for _, t := range typed {
		var r []int
		for _, text := range []string{t.X, t.Y, t.Width, t.Height} {
			if n, err := strconv.Atoi(text); err == nil {
				r = append(r, n)
			}
		}
		all = append(all, r)
	}
	return all
}
