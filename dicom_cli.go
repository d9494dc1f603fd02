package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"filmroom/dicom"
	"filmroom/dicom/deid"
	"filmroom/imaging"
)

// dicomCommands work on files, with the code that the desk uses.
type dicomCommands struct {
	Dump       dumpCommand       `cmd:"" help:"Print what DICOM files hold."`
	Verify     verifyCommand     `cmd:"" help:"Read each file of a folder strictly and say which break the standard."`
	Deidentify deidentifyCommand `cmd:"" help:"De-identify a file or a folder after DICOM PS3.15."`
	Phantom    phantomCommand    `cmd:"" help:"Write a synthetic CT study to try things with: nobody was ever scanned for it."`
}

type dumpCommand struct {
	Files []string `arg:"" type:"existingfile" name:"file" help:"DICOM files."`
	Names bool     `help:"Show also what may name a person."`
}

func (c *dumpCommand) Run(s streams) error {
	out := bufio.NewWriterSize(s.out, 64<<10)
	var errs error
	for _, path := range c.Files {
		if len(c.Files) > 1 {
			fmt.Fprintf(out, "# %s\n", printable(path))
		}
		err := readFile(path, func(f *dicom.File) error { return dicom.Dump(out, f, dicom.DumpOptions{Names: c.Names}) })
		if err != nil && len(c.Files) > 1 {
			err = fmt.Errorf("%s: %w", printable(path), err)
		}
		errs = errors.Join(errs, err)
	}
	return errors.Join(errs, out.Flush())
}

func readFile(path string, do func(*dicom.File) error, options ...dicom.Option) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	file, err := dicom.Parse(f, info.Size(), options...)
	if err != nil {
		return err
	}
	return do(file)
}

type verifyCommand struct {
	Dir string `arg:"" type:"existingdir" help:"A folder; what is in its folders counts too."`
}

func (c *verifyCommand) Run(ctx context.Context, s streams) error {
	files, broken := 0, 0
	err := filepath.WalkDir(c.Dir, func(path string, e fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil || !e.Type().IsRegular() {
			return err
		}
		files++
		err = readFile(path, func(*dicom.File) error { return nil }, dicom.Strict())
		if err == nil {
			return nil
		}
		broken++
		_, err = fmt.Fprintf(s.out, "%s: %v\n", printable(path), err)
		return err
	})
	switch {
	case err != nil:
		return err
	case broken > 0:
		return fmt.Errorf("%d of %d files break the standard", broken, files)
	}
	_, err = fmt.Fprintf(s.out, "%d files, all sound\n", files)
	return err
}

type deidentifyCommand struct {
	In             string   `arg:"" type:"path" help:"A DICOM file, or a folder of them."`
	Out            string   `arg:"" type:"path" help:"What is made: a file, or a folder with numbers for names. It must not exist."`
	Option         []string `help:"An option of PS3.15, as the API spells it: shiftDates, retainUids and so on. May be given several times." placeholder:"NAME"`
	Prefix         string   `default:"P" help:"What pseudonyms begin with (${default})."`
	Key            string   `type:"path" help:"A file with the key under which runs agree in UIDs, pseudonyms and dates. It is made if it does not exist." placeholder:"FILE"`
	Mapping        string   `type:"path" help:"Write who is who into this CSV file, which names patients. It must not exist." placeholder:"FILE"`
	Report         string   `type:"path" help:"Write what was changed into this file, a line of JSON for each change, without any value. It must not exist." placeholder:"FILE"`
	PixelsReviewed bool     `help:"Somebody has looked at all images: none shows a name."`
	Blackout       []string `sep:"none" help:"Paint over this rectangle in all images: x,y,width,height in pixels. May be given several times." placeholder:"RECTANGLE"`
	Workers        int      `help:"Files at once (one for each processor)."`
}

func (c *deidentifyCommand) Run(ctx context.Context, s streams) (err error) {
	r := imaging.FolderRequest{In: c.In, Out: c.Out, Options: c.Option, Prefix: c.Prefix, PixelsReviewed: c.PixelsReviewed, Workers: c.Workers,
		Refused: func(path, reason string) { fmt.Fprintf(s.err, "%s: left out: %s\n", printable(path), reason) }}
	for _, text := range c.Blackout {
		r.Blackout = append(r.Blackout, rectangle(text))
	}
	if c.Key != "" {
		if r.Key, err = keyFile(c.Key); err != nil {
			return err
		}
	}
	finish := func(bool) error { return nil }
	if c.Mapping != "" {
		if r.Mapped, finish, err = mappingFile(c.Mapping); err != nil {
			return err
		}
	}
	told := func(bool) error { return nil }
	if c.Report != "" {
		if r.Changed, told, err = reportFile(c.Report); err != nil {
			return errors.Join(err, finish(false))
		}
	}
	result, err := imaging.DeidentifyFolder(ctx, r)
	keep := err == nil && result.Written > 0
	err = errors.Join(err, finish(keep), told(keep))
	if wrong, ok := errors.AsType[imaging.FieldErrors](err); ok {
		return usageError{fmt.Errorf("%w; options are %s", wrong, strings.Join(deid.Supported(), ", "))}
	}
	if err != nil {
		return err
	}
	if left := result.Files - result.Written; left > 0 {
		return fmt.Errorf("%d of %d files written, %d left out", result.Written, result.Files, left)
	}
	if result.Files == 0 {
		return fmt.Errorf("%s holds no file", c.In)
	}
	_, err = fmt.Fprintf(s.out, "%d files written\n", result.Written)
	return err
}

// rectangle reads "x,y,width,height"; what is none comes out with too few numbers and is refused later.
func rectangle(text string) (r []int) {
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil {
			return nil
		}
		r = append(r, n)
	}
	return r
}

// keyFile reads a key in hexadecimal digits, and makes one where there is none.
func keyFile(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key := make([]byte, 32)
		_, _ = rand.Read(key) // never fails
		return key, writeAside(path, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%x\n", key)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != 32 {
		return nil, usageError{fmt.Errorf("%s is no key: want 64 hexadecimal digits", path)}
	}
	return key, nil
}

// mappingFile takes lines and, at the end, gives the file its name or removes it.
func mappingFile(path string) (line func(imaging.Mapped) error, finish func(keep bool) error, err error) {
	f, end, err := asideFile(path)
	if err != nil {
		return nil, nil, err
	}
	lines := csv.NewWriter(f)
	_ = lines.Write(imaging.MappedColumns) // kept until Flush, whose error counts
	line = func(m imaging.Mapped) error { return lines.Write(m.Fields()) }
	return line, func(keep bool) error {
		lines.Flush()
		return errors.Join(lines.Error(), end(keep && lines.Error() == nil))
	}, nil
}

// reportFile takes what was changed in each file and, at the end, gives the report its name or removes it.
func reportFile(path string) (changed func(string, deid.Report) error, finish func(keep bool) error, err error) {
	f, finish, err := asideFile(path)
	if err != nil {
		return nil, nil, err
	}
	var lines []byte
	return func(name string, report deid.Report) (err error) {
		if lines, err = imaging.AppendChanges(lines[:0], name, report); err != nil {
			return err
		}
		_, err = f.Write(lines)
		return err
	}, finish, nil
}

// asideFile is a file without a name, which finish gives it, or removes.
func asideFile(path string) (f *os.File, finish func(keep bool) error, err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errors.Join(usageError{fmt.Errorf("%s exists already", path)}, err)
	}
	if f, err = os.CreateTemp(filepath.Dir(path), ".filmroom-*"); err != nil {
		return nil, nil, err
	}
	return f, func(keep bool) error {
		err := errors.Join(f.Sync(), f.Close())
		if err != nil || !keep {
			return errors.Join(err, os.Remove(f.Name()))
		}
		return os.Rename(f.Name(), path)
	}, nil
}

// writeAside makes a file that has its name only when it is whole.
func writeAside(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".filmroom-*")
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
}
