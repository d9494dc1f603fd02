package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"filmroom/dicom/phantom"
)

type phantomCommand struct {
	Out    string `arg:"" type:"path" help:"A folder that does not exist yet."`
	Slices int    `default:"50" help:"Slices in each series (${default}), half a megabyte each."`
	Series int    `default:"1" help:"Series (${default})."`
	Seed   uint64 `default:"1" help:"Another number makes another study; the same makes the same bytes."`
}

func (c *phantomCommand) Run(ctx context.Context, s streams) error {
	if c.Slices < 1 || c.Series < 1 {
		return usageError{errors.New("want at least one slice and one series")}
	}
	if err := os.Mkdir(c.Out, 0o777); err != nil {
		return err
	}
	study := phantom.Study{Seed: c.Seed, Series: c.Series, Slices: c.Slices}
	for i := range study.Files() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f, err := os.Create(filepath.Join(c.Out, fmt.Sprintf("IM%06d.dcm", i+1)))
		if err != nil {
			return err
		}
		if err := errors.Join(study.Write(i, f), f.Close()); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(s.out, "%d files written\n", study.Files())
	return err
}
