package handlers

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"filmroom/accounts"
	"filmroom/imaging"
	"filmroom/tasks"
	"filmroom/views"
)

const (
	idempotencyHeader = "Idempotency-Key"
	maxKey            = 200
	partName          = "files"
)

// loose are the media types of bodies that are one file, with the name such a file gets in the receipt.
var loose = map[string]string{
	"application/zip":   "upload.zip",
	"application/gzip":  "upload.tar.gz",
	"application/dicom": "upload.dcm",
}

// upload takes files in, as a form or as one bare file, in constant memory. Nothing is left of a transfer that
// breaks off.
func (s *Server) upload(c echo.Context) error {
	key, err := idempotencyKey(c)
	if err != nil {
		return err
	}
	kind, parameters := mediaTypeOf(c.Request())
	name, bare := loose[kind]
	if !bare && kind != "multipart/form-data" {
		return wrongMediaType("multipart/form-data, application/zip, application/gzip or application/dicom")
	}
	ctx, person := c.Request().Context(), who(c).person()
	if err := s.roomFor(ctx, person, key); err != nil {
		return err // before all of it has come
	}
	u, err := s.cfg.Desk.NewUpload(ctx, person, key)
	if err != nil {
		return err
	}
	defer u.Abort()
	if bare {
		err = addBody(c, u, name)
	} else {
		err = addParts(c, u, parameters["boundary"])
	}
	if err != nil {
		return err
	}
	var t tasks.Task
	var existed bool
	err = s.withRoom(ctx, person, key, func() (err error) {
		t, existed, err = u.Commit(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if !existed {
		s.audit(c, accounts.ActUploaded, t.ID, "")
	}
	return brought(c, t.ID, existed)
}

// brought tells which task an upload became; a browser without scripts is sent to it.
func brought(c echo.Context, taskID string, existed bool) error {
	switch {
	case acceptsFirst(c.Request(), "text/html"):
		return seeOther(c, views.TaskURL(taskID))
	case existed:
		return accepted(c, http.StatusOK, taskID)
	default:
		return accepted(c, http.StatusAccepted, taskID)
	}
}

func idempotencyKey(c echo.Context) (string, error) {
	keys := c.Request().Header.Values(idempotencyHeader)
	switch {
	case len(keys) == 0:
		return "", nil
	case len(keys) > 1 || keys[0] == "" || len(keys[0]) > maxKey || strings.ContainsFunc(keys[0], func(r rune) bool { return r < '!' || r > '~' }):
		return "", invalid(idempotencyHeader, "must be one word of 1 to 200 visible ASCII characters")
	}
	return keys[0], nil
}

// addBody takes the whole body in as one file.
func addBody(c echo.Context, u *imaging.Upload, name string) error {
	content := bufio.NewReader(c.Request().Body)
	if _, err := content.Peek(1); errors.Is(err, io.EOF) {
		return imaging.ErrNoFiles
	}
	return u.Add(c.Request().Context(), name, content)
}

// addParts takes in the files of a form, each while it arrives. An empty file field, as browsers send it when
// nothing was chosen, is no file.
func addParts(c echo.Context, u *imaging.Upload, boundary string) error {
	if boundary == "" {
		return malformedForm()
	}
	form := multipart.NewReader(c.Request().Body, boundary)
	for {
		part, err := form.NextRawPart()
		if err == io.EOF { // as it is: wrapped, it is the end of a body before the end of its form
			return nil
		}
		if err != nil {
			return formFault(c, err)
		}
		err = addPart(c.Request().Context(), u, part)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return formFault(c, err)
		}
		if err != nil {
			return err
		}
	}
}

func addPart(ctx context.Context, u *imaging.Upload, part *multipart.Part) error {
	if name := part.FormName(); name != partName {
		return invalid(name, "is not known here: files are sent in parts named "+partName)
	}
	name := partFileName(part)
	if name != "" {
		return u.Add(ctx, name, part)
	}
	if n, err := io.CopyN(io.Discard, part, 1); n == 0 && errors.Is(err, io.EOF) {
		return nil
	}
	return invalid(partName, "must be files, each with its filename")
}

// partFileName is the name a file was sent with, its folders included: Part.FileName would cut them off. Browsers
// write three characters in percent form (HTML, section 4.10.21.8).
func partFileName(part *multipart.Part) string {
	_, parameters, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	return strings.NewReplacer("%22", `"`, "%0D", "\r", "%0A", "\n").Replace(parameters["filename"])
}

// formFault tells a form that is not one from a transfer that was refused or broke off.
func formFault(c echo.Context, err error) error {
	if _, known := faultOf(err); known || trafficOf(c).broken.Load() != nil || c.Request().Context().Err() != nil {
		return err
	}
	return malformedForm()
}

func malformedForm() error {
	return &fault{status: http.StatusBadRequest, detail: "The body is not the multipart form that its Content-Type says."}
}
