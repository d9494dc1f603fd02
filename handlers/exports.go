package handlers

import (
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"filmroom/imaging"
)

func (s *Server) createExport(c echo.Context) error {
	var given struct {
		SeriesIDs       []string                   `json:"seriesIds"`
		Profile         string                     `json:"profile"`
		Options         map[string]json.RawMessage `json:"options"`
		Name            string                     `json:"name"`
		Confirm         string                     `json:"confirm"`
		Pseudonyms      map[string]string          `json:"pseudonyms"`
		PseudonymPrefix string                     `json:"pseudonymPrefix"`
		PixelsReviewed  []string                   `json:"pixelsReviewed"`
	}
	if err := decodeJSON(c, &given); err != nil {
		return err
	}
	t, err := s.cfg.Desk.Export(c.Request().Context(), who(c).person(), imaging.ExportRequest(given))
	if err != nil {
		return err
	}
	s.auditExport(c, t.ID, len(given.SeriesIDs), given.Profile)
	return accepted(c, http.StatusAccepted, t.ID)
}
