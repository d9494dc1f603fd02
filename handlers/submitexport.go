package handlers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/labstack/echo/v4"

	"filmroom/imaging"
	"filmroom/tasks"
)

// exportKind is submitted with the arguments of POST /api/exports. The desk makes the task's own out of them: it fixes keys
// and pseudonyms, and seals them.
const exportKind = "export"

// exportSpecOf completes spec with what an export is asked to do. With [imaging.ErrNotFound] the spec is what was asked
// for, good for nothing but to find the task that carried it out when its series still were there.
func (s *Server) exportSpecOf(ctx context.Context, p *params, person tasks.Person, k tasks.Kind, given submission, spec tasks.Spec) (tasks.Spec, error) {
	prepared, missing := s.preparedExport(ctx, p, person, spec.Args.(json.RawMessage))
	if missing != nil && !errors.Is(missing, imaging.ErrNotFound) {
		return spec, missing
	}
	if err := s.schedule(ctx, p, person, k, given, &spec); err != nil {
		return spec, err
	}
	if given.LockKey != "" && prepared.LockKey != "" {
		p.fault("lockKey", "must be left out: exports under one key take turns already")
	}
	if err := p.done(); err != nil {
		return spec, err
	}
	args, err := json.Marshal(prepared.Args)
	if spec.Name == exportKind { // none was given
		spec.Name = prepared.Name
	}
	spec.ID, spec.Args, spec.Sealed, spec.LockKey = prepared.ID, json.RawMessage(args), prepared.Sealed, cmp.Or(prepared.LockKey, spec.LockKey)
	return spec, errors.Join(err, missing)
}

// preparedExport reads the arguments as strictly as POST /api/exports reads its body. What is wrong with them is added to p.
func (s *Server) preparedExport(ctx context.Context, p *params, person tasks.Person, args json.RawMessage) (tasks.Spec, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(args), []byte("{")) {
		p.fault("args", "must be an object")
		return tasks.Spec{}, nil
	}
	var request exportRequest
	var prepared tasks.Spec
	err := decodeObject(args, &request)
	if err == nil {
		prepared, err = s.cfg.Desk.ExportSpec(ctx, person, imaging.ExportRequest(request))
	}
	if errors.Is(err, imaging.ErrNotFound) {
		return s.cfg.Desk.AskedSpec(person, imaging.ExportRequest(request)), err
	}
	f, _ := faultOf(err)
	if err == nil || f.fields == nil {
		return prepared, err
	}
	for _, w := range f.fields {
		p.fault("args."+w.Field, w.Reason)
	}
	return tasks.Spec{}, nil
}

// asked are arguments as a person gave them, in the one form that all ways to ask for the same share. How many images an
// export then had was the desk's to say, and grows with the library; so was the order of its series.
func asked(kind string, args json.RawMessage) (json.RawMessage, error) {
	if kind == exportKind {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(args, &members); err != nil {
			return nil, err
		}
		delete(members, "images")
		for _, set := range []string{"seriesIds", "pixelsReviewed"} {
			if err := sortIDs(members, set); err != nil {
				return nil, err
			}
		}
		var err error
		if args, err = json.Marshal(members); err != nil {
			return nil, err
		}
	}
	return tasks.Canonical(args)
}

func sortIDs(members map[string]json.RawMessage, name string) (err error) {
	var ids []string
	if members[name] == nil {
		return nil
	}
	if err = json.Unmarshal(members[name], &ids); err == nil {
		slices.Sort(ids)
		members[name], err = json.Marshal(ids)
	}
	return err
}

// auditSubmitted notes a new task that takes images out.
func (s *Server) auditSubmitted(c echo.Context, t tasks.Task) {
	var args struct {
		SeriesIDs []string `json:"seriesIds"`
		Profile   string   `json:"profile"`
	}
	if t.Kind == exportKind && json.Unmarshal(t.Args, &args) == nil {
		s.auditExport(c, t.ID, len(args.SeriesIDs), args.Profile)
	}
}
