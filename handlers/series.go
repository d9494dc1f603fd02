package handlers

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
	"filmroom/imaging"
	"filmroom/tasks"
)

type seriesJSON struct {
	SeriesID         string `json:"seriesId"`
	SeriesUID        string `json:"seriesUid"`
	StudyUID         string `json:"studyUid"`
	PatientID        string `json:"patientId"`
	PatientName      string `json:"patientName"`
	StudyDate        string `json:"studyDate"` // as DICOM writes it: YYYYMMDD, "" when there is none
	StudyDescription string `json:"studyDescription"`
	Modality         string `json:"modality"`
	Description      string `json:"description"`
	BodyPart         string `json:"bodyPart"`
	SeriesNumber     int    `json:"seriesNumber"`
	BurnedIn         string `json:"burnedInAnnotation"`
	Instances        int    `json:"instances"`
	Bytes            int64  `json:"bytes"`
	ImportedAt       stamp  `json:"importedAt"`
	TaskID           string `json:"taskId"`
}

func newSeriesJSON(s imaging.Series) seriesJSON {
	return seriesJSON{
		SeriesID: s.ID, SeriesUID: s.SeriesUID, StudyUID: s.StudyUID, PatientID: s.PatientID, PatientName: s.PatientName,
		StudyDate: s.StudyDate, StudyDescription: s.StudyDesc, Modality: s.Modality, Description: s.Description, BodyPart: s.BodyPart,
		SeriesNumber: s.SeriesNumber, BurnedIn: s.BurnedIn, Instances: s.Instances, Bytes: s.Bytes,
		ImportedAt: stamp(s.ImportedAt), TaskID: s.TaskID,
	}
}

var seriesSorts = []imaging.SeriesSort{imaging.NewestImported, imaging.OldestImported, imaging.NewestStudied, imaging.OldestStudied,
	imaging.ByPatientName, imaging.ByPatientNameUp}

// listSeries lists by what may stand in an address. What identifies a patient is searched for with searchSeries.
func (s *Server) listSeries(c echo.Context) error {
	p := query(c)
	q := imaging.SeriesQuery{
		Modality: p.text("modality"), From: p.dicomDay("from"), To: p.dicomDay("to"), TaskID: p.text("taskId"),
		Sort: oneOf(p, "sort", seriesSorts...), Limit: p.integer("limit", defaultLimit, 0, maxLimit), Cursor: p.text("cursor"),
	}
	if err := p.done(); err != nil {
		return err
	}
	return s.sendSeries(c, q)
}

func (s *Server) searchSeries(c echo.Context) error {
	var given struct {
		Modality    string `json:"modality"`
		From        string `json:"from"`
		To          string `json:"to"`
		TaskID      string `json:"taskId"`
		Sort        string `json:"sort"`
		Limit       *int   `json:"limit"`
		Cursor      string `json:"cursor"`
		Q           string `json:"q"`
		PatientID   string `json:"patientId"`
		PatientName string `json:"patientName"`
		StudyUID    string `json:"studyUid"`
		SeriesUID   string `json:"seriesUid"`
	}
	if err := decodeJSON(c, &given); err != nil {
		return err
	}
	// The values that a list takes as well are checked by the same rules.
	p := newParams(map[string][]string{"from": {given.From}, "to": {given.To}, "sort": {given.Sort}, "limit": {""}})
	if given.Limit != nil {
		p.values.Set("limit", strconv.Itoa(*given.Limit))
	}
	q := imaging.SeriesQuery{
		Modality: given.Modality, From: p.dicomDay("from"), To: p.dicomDay("to"), TaskID: given.TaskID, Cursor: given.Cursor,
		Sort: oneOf(p, "sort", seriesSorts...), Limit: p.integer("limit", defaultLimit, 0, maxLimit),
		Words: tasks.Words(given.Q), PatientID: given.PatientID, PatientName: given.PatientName, StudyUID: given.StudyUID, SeriesUID: given.SeriesUID,
	}
	if err := p.done(); err != nil {
		return err
	}
	return s.sendSeries(c, q)
}

func (s *Server) sendSeries(c echo.Context, q imaging.SeriesQuery) error {
	page, err := s.cfg.Desk.ListSeries(c.Request().Context(), who(c).person(), q)
	if err != nil {
		return err
	}
	items := make([]seriesJSON, 0, len(page.Items))
	for _, x := range page.Items {
		items = append(items, newSeriesJSON(x))
	}
	c.Response().Header().Set("X-Total-Count", strconv.Itoa(page.Total))
	return sendJSON(c, http.StatusOK, pageJSON[seriesJSON]{items, page.Total, page.TotalExact, orNull(page.NextCursor)})
}

// seriesOf reads which series a route names, and finds it.
func (s *Server) seriesOf(c echo.Context) (imaging.Series, error) {
	seriesID, err := id(c, "seriesId")
	if err != nil {
		return imaging.Series{}, err
	}
	return s.cfg.Desk.Series(c.Request().Context(), who(c).person(), seriesID)
}

func (s *Server) getSeries(c echo.Context) error {
	series, err := s.seriesOf(c)
	if err != nil {
		return err
	}
	s.audit(c, accounts.ActSeriesViewed, series.ID, "")
	return sendJSON(c, http.StatusOK, newSeriesJSON(series))
}

// preview sends a picture. A series that cannot be shown says why.
func (s *Server) preview(c echo.Context) error {
	seriesID, err := id(c, "seriesId")
	if err != nil {
		return err
	}
	p := query(c)
	options := imaging.PreviewOptions{Index: p.integer("index", -1, 0, 1<<20), Size: p.integer("size", 0, 16, 1024)}
	if err := p.done(); err != nil {
		return err
	}
	png, err := s.cfg.Desk.Preview(c.Request().Context(), who(c).person(), seriesID, options)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Content-Security-Policy", filePolicy)
	return c.Blob(http.StatusOK, "image/png", png)
}

type instanceJSON struct {
	SOPInstanceUID string `json:"sopInstanceUid"`
	SOPClassUID    string `json:"sopClassUid"`
	TransferSyntax string `json:"transferSyntax"`
	InstanceNumber int    `json:"instanceNumber"`
	Frames         int    `json:"frames"`
	Rows           int    `json:"rows"`
	Columns        int    `json:"columns"`
	Size           int64  `json:"size"`
	SHA256         string `json:"sha256"`
	TaskID         string `json:"taskId"`
	AddedAt        stamp  `json:"addedAt"`
}

func (s *Server) listInstances(c echo.Context) error {
	seriesID, err := id(c, "seriesId")
	if err != nil {
		return err
	}
	p := query(c)
	limit, after := p.integer("limit", maxLimit, 1, maxLimit), p.instance("cursor")
	if err := p.done(); err != nil {
		return err
	}
	found, err := s.cfg.Desk.Instances(c.Request().Context(), who(c).person(), seriesID, after, limit)
	if err != nil {
		return err
	}
	answer := struct {
		Items      []instanceJSON `json:"items"`
		NextCursor *string        `json:"nextCursor"`
	}{Items: make([]instanceJSON, 0, len(found))}
	for _, i := range found {
		answer.Items = append(answer.Items, instanceJSON{i.SOPInstanceUID, i.SOPClassUID, i.TransferSyntax, i.InstanceNumber, i.Frames,
			i.Rows, i.Columns, i.Size, i.SHA256, i.TaskID, stamp(i.AddedAt)})
	}
	if len(found) == limit {
		answer.NextCursor = instanceCursor(found[limit-1])
	}
	return sendJSON(c, http.StatusOK, answer)
}

// A position is where a list of instances goes on.
type position struct {
	Number int    `json:"n"`
	UID    string `json:"u"`
}

func instanceCursor(i imaging.Instance) *string {
	text, err := json.Marshal(position{i.InstanceNumber, i.SOPInstanceUID})
	if err != nil {
		panic(err) // a number and a string always encode
	}
	cursor := base64.RawURLEncoding.EncodeToString(text)
	return &cursor
}

// instance reads a cursor of instanceCursor's.
func (p *params) instance(name string) *imaging.Instance {
	text := p.text(name)
	if text == "" {
		return nil
	}
	var at position
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(raw, &at) != nil || at.UID == "" {
		p.fault(name, "must be a nextCursor of this list")
		return nil
	}
	return &imaging.Instance{InstanceNumber: at.Number, SOPInstanceUID: at.UID}
}
