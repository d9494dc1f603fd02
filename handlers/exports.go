package handlers

import (
	"encoding/csv"
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
	"filmroom/imaging"
	"filmroom/tasks"
)

// exportRequest is an imaging.ExportRequest as JSON.
type exportRequest struct {
	SeriesIDs       []string                   `json:"seriesIds"`
	Profile         string                     `json:"profile"`
	Options         map[string]json.RawMessage `json:"options"`
	Name            string                     `json:"name"`
	Confirm         string                     `json:"confirm"`
	Pseudonyms      map[string]string          `json:"pseudonyms"`
	PseudonymPrefix string                     `json:"pseudonymPrefix"`
	PixelsReviewed  []string                   `json:"pixelsReviewed"`
	Blackout        map[string][][]int         `json:"blackout"`
	Key             string                     `json:"key"`
}

func (s *Server) createExport(c echo.Context) error {
	var given exportRequest
	if err := decodeJSON(c, &given); err != nil {
		return err
	}
	t, err := s.export(c, imaging.ExportRequest(given))
	if err != nil {
		return err
	}
	return accepted(c, http.StatusAccepted, t.ID)
}

// export begins to take series out, where the person has room for one more task, and notes it.
func (s *Server) export(c echo.Context, request imaging.ExportRequest) (t tasks.Task, err error) {
	ctx, person := c.Request().Context(), who(c).person()
	err = s.withRoom(ctx, person, "", func() error {
		t, err = s.cfg.Desk.Export(ctx, person, request)
		return err
	})
	if err == nil {
		s.auditExport(c, t.ID, len(request.SeriesIDs), request.Profile)
	}
	return t, err
}

// mapping sends which image of an export was which: old and new patient id and UIDs, one line an image. It is a file of
// its own, for the export's owner, and its name says what it holds.
func (s *Server) mapping(c echo.Context) error {
	taskID, err := id(c, "taskId")
	if err != nil {
		return err
	}
	if err := query(c).done(); err != nil {
		return err
	}
	rows, err := s.cfg.Desk.Mapping(c.Request().Context(), who(c).person(), taskID)
	if err != nil {
		return err
	}
	s.audit(c, accounts.ActDownloaded, taskID, "identities")
	asFile(c, "text/csv; charset=utf-8", "identities-of-"+taskID+".csv")
	c.Response().WriteHeader(http.StatusOK)
	lines := csv.NewWriter(c.Response())
	lines.UseCRLF = true                   // RFC 4180
	_ = lines.Write(imaging.MappedColumns) // kept until Flush, whose error counts
	for row, err := range rows {
		if err != nil {
			return err
		}
		line := row.Fields()
		for i := range line {
			line[i] = inert(line[i])
		}
		if err := lines.Write(line); err != nil {
			return err
		}
	}
	lines.Flush()
	return lines.Error()
}
