package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/google/renameio/v2"

	"jjm/internal/api/plain"
)

// reportJob makes a report about a grid job, as text or as an HTML page.
type reportJob struct {
	Out string `name:"output" short:"o" placeholder:"FILE" help:"Write an HTML page to this file, replacing it; - is standard output."`
	ID  string `arg:"" name:"ID" help:"The grid job."`

	place
}

// Help returns the text of --help below the usage.
func (*reportJob) Help() string {
	return "The page says what the grid job is, how its generations ended, what its attempts used, why local jobs " +
		"failed, which local jobs were slowest and fastest, on which host attempts failed or were slow, and what " +
		"happened meanwhile. Without -o it is text. With -o report.html it is a page without scripts that needs no " +
		"other file, and that also shows the attempts along the time. docs/REPORTS.md explains the figures."
}

// Run carries out jjm report.
func (r *reportJob) Run(c *cli) error {
	id, err := r.one(c, "report", r.ID, true, false)
	if err != nil {
		return err
	}
	if err := r.checkFile(); err != nil {
		return err
	}
	// The local jobs may take more memory than the limit of short commands.
	debug.SetGCPercent(100)
	debug.SetMemoryLimit(math.MaxInt64)
	data, err := r.read(c, id)
	if err != nil {
		return err
	}
	if r.Out == "" {
		return c.printPage(data)
	}
	var page bytes.Buffer
	if err := data.WritePage(&page); err != nil {
		return fmt.Errorf("make the page: %w", err)
	}
	if r.Out == "-" {
		_, err := c.out.Write(page.Bytes())
		return err
	}
	if err := replaceFile(r.Out, page.Bytes()); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.out, plain.Printable(r.Out))
	return err
}

// replaceFile replaces a file as a whole, or creates it. If path is a symbolic link, it replaces the target of the
// link.
func replaceFile(path string, data []byte) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	err := renameio.WriteFile(path, data, 0o644, renameio.WithTempDir(filepath.Dir(path)),
		renameio.WithStaticPermissions(0o644))
	var hidden *fs.PathError
	if errors.As(err, &hidden) {
		err = hidden.Err // the path in the error is a temporary file's
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// checkFile returns an error if --output does not name a regular file, or a new file in an existing folder.
func (r *reportJob) checkFile() error {
	if r.Out == "" || r.Out == "-" {
		return nil
	}
	info, err := os.Stat(r.Out)
	if err == nil && !info.Mode().IsRegular() {
		return usage("--output %s: is not a regular file: name a file, or - for the standard output", r.Out)
	}
	folder := filepath.Dir(r.Out)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return usage("--output %s: there is no folder %s: %w", r.Out, folder, fs.ErrNotExist)
	}
	return nil
}
