package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"jjm/internal/api/client"
	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// tarEnd is the length, in bytes, of the two blocks of zeros at the end of each tar (POSIX.1, pax).
const tarEnd = 1024

// output fetches the tar of the outputs, or one file of the outputs.
type output struct {
	Out        string `name:"output" short:"o" placeholder:"FILE" help:"Write to this file, replacing it; - is standard output."`
	Partial    bool   `help:"The outputs so far, if the job is not finished."`
	Generation int    `name:"generation" placeholder:"N" help:"The tar of this generation of a grid job that was reopened, instead of the newest."`
	File       string `placeholder:"NAME" help:"Only this file of a local job that is over, also while others run: its name in the tar or, for ID.N, its own."`
	List       bool   `short:"l" help:"List the files that NAME can be."`
	JSON       bool   `name:"json" help:"One JSON object: path, bytes, sha256, partial. With --list one for each file: name, bytes."`
	ID         string `arg:"" name:"ID" help:"The grid job; with --file or --list also a local job, ID.N."`

	place
}

// Help returns the text of --help below the usage.
func (*output) Help() string {
	return "The file appears complete and with the right checksum, or not at all: in this folder under the tar's own " +
		"name, if no file has it, or as -o says. If the job is not finished the exit code is 7." + `

Examples of one file, the second by its own name:
  $ jjm output 17 --file mc.17.3.hist.root
  $ jjm output 17.3 --file hist.root -o -

Which files there are:
  $ jjm output 17 --list`
}

// Run carries out jjm output.
func (o *output) Run(c *cli) error {
	if o.File != "" && o.Partial {
		return usage("want --file or --partial: one file is whole, or not there yet")
	}
	if o.Generation != 0 && (o.Partial || o.File != "") {
		return usage("want --generation alone: a generation has a whole tar")
	}
	if o.JSON && o.Out == "-" {
		return usage("want --json or -o -: both write to standard output")
	}
	if o.List && (o.File != "" || o.Partial || o.Generation != 0 || o.Out != "") {
		return usage("want --list alone: it fetches nothing")
	}
	if err := o.checkID(c); err != nil {
		return err
	}
	if o.List {
		return o.list(c)
	}
	ctx, cancel := interruptible()
	defer cancel()
	req := wire.OutputRequest{One: wire.OneRef(o.ID),
		Wanted: wire.Wanted{Partial: o.Partial, File: o.File, Generation: o.Generation}}
	a, r, err := client.Open(ctx, o.client(c), wire.VerbOutput(), req)
	switch {
	case jjm.KindOf(err) == jjm.Conflict:
		return o.unfinished(c, err)
	case client.IsUnreachable(err):
		o.offline(c, "output", err).files(o.ID)
	}
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	if o.Out == "-" {
		_, err := o.copy(c.out, r, a)
		return err
	}
	path, err := o.path(a.Output.Name)
	if err != nil {
		return err
	}
	n, err := o.write(path, r, a)
	if err != nil {
		return err
	}
	return o.tell(c, fetched{Path: path, Bytes: n, SHA256: a.Output.SHA256, Partial: a.Output.Partial,
		Generation: a.Output.Generation})
}

// list prints the files that --file can name.
func (o *output) list(c *cli) error {
	a, err := ask(c, o.place, wire.VerbOutput(), wire.OutputRequest{One: wire.OneRef(o.ID), List: true})
	if client.IsUnreachable(err) {
		o.offline(c, "output", err).files(o.ID)
	}
	if err != nil {
		return err
	}
	switch {
	case len(a.Files) == 0:
		c.say("%s has no files to fetch", o.ID)
	case o.JSON:
		for _, f := range a.Files {
			if err := c.printJSON(f); err != nil {
				return err
			}
		}
	default:
		err = c.outputTable(a.Files)
	}
	if a.More {
		c.say("there are more: the first %s are shown", jjm.Count(len(a.Files), "file"))
	}
	return err
}

// outputTable prints outputs. The name comes last and is never cut, because the user passes it to --file.
func (c *cli) outputTable(files []wire.OutputFile) error {
	rows := [][]string{{"BYTES", "FILE"}}
	for _, f := range files {
		size := "-"
		if f.Bytes >= 0 {
			size = fmt.Sprint(f.Bytes)
		}
		rows = append(rows, []string{size, f.Name})
	}
	return c.table(rows)
}

// checkID replaces a name in o.ID by the id of the job that the name means. Only grid jobs have a tar, so checkID
// returns an error for a local job, unless --file or --list is set.
func (o *output) checkID(c *cli) (err error) {
	if o.ID, err = o.one(c, "output", o.ID, false, false); err != nil || o.File != "" || o.List {
		return err
	}
	if grid, _, local := strings.Cut(o.ID, "."); local {
		return usage("%s is a local job: want one of its files, --file NAME (--list names them), or the tar of its grid job, "+
			"jjm output %s",
			o.ID, grid)
	}
	return nil
}

// fetched describes the fetched tar or file. It is the object that --json prints.
type fetched struct {
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256,omitempty"`
	Partial bool   `json:"partial,omitempty"`
	// Generation is the generation of the tar, 0 if the grid job was never reopened.
	Generation int `json:"generation,omitempty"`
}

// tell prints the path of the fetched file, or f with --json. On standard error it prints the generation of the tar,
// and whether the tar is partial.
func (o *output) tell(c *cli, f fetched) error {
	if f.Partial {
		c.say("the job is not finished: this is what there is")
	}
	if f.Generation != 0 {
		c.say("the tar of generation %d", f.Generation)
	}
	if o.JSON {
		return c.printJSON(f)
	}
	_, err := fmt.Fprintln(c.out, plain.Printable(f.Path))
	return err
}

// unfinished prints the progress of a job that is not finished. It returns err, the daemon's refusal, with the exit
// code exitUnfinished and the commands that help: jjm wait and, without --file, jjm output --partial.
func (o *output) unfinished(c *cli, err error) error {
	a, serr := ask(c, o.place, wire.VerbStatus(), wire.StatusRequest{Many: wire.Refs(o.ID)})
	if serr != nil || len(a.Status) != 1 {
		return &exit{exitUnfinished, err}
	}
	st := a.Status[0]
	c.say("%s", plainLine(st))
	if plain.Final(st.Lookup.Status) {
		return &exit{exitUnfinished, err}
	}
	err = fmt.Errorf("%w\nwait for it: jjm wait %s", err, st.Lookup.ID)
	if o.File == "" {
		err = fmt.Errorf("%w; or take what there is: jjm output --partial %s", err, o.ID)
	}
	return &exit{exitUnfinished, err}
}

// path returns the path of the file to write: --output, or else the last element of suggested, the name that the daemon
// suggests. If this element begins with a dot or is not the name of a file, path makes a name from the id. Without
// --output, an existing file is an error.
func (o *output) path(suggested string) (string, error) {
	if o.Out != "" {
		return o.Out, nil
	}
	name := filepath.Base(suggested)
	if name == "." || name == ".." || name == "/" || strings.HasPrefix(name, ".") || strings.ContainsRune(name, 0) {
		name = "jjm-" + o.ID + ".tar"
	}
	if _, err := os.Lstat(name); err == nil {
		return "", usage("%s exists: name the file with -o to replace it", name)
	}
	return name, nil
}

// write writes the tar or the file to path, and returns its length. It replaces a regular file as a whole, and if path
// is a symbolic link, the target of the link. It writes into a device or a pipe, and never replaces it.
func (o *output) write(path string, r io.Reader, a wire.OutputAnswer) (bytes int64, err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Stat(path)
	switch {
	case err != nil || info.Mode().IsRegular():
		return o.save(path, r, a)
	case info.IsDir():
		return 0, usage("%s is a folder: name a file in it", path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return 0, fmt.Errorf("output %s: %w", o.ID, err)
	}
	n, err := o.copy(f, r, a)
	return n, errors.Join(err, f.Close())
}

// save writes the tar or the file to a temporary file beside path, and renames it when it is complete and checked.
func (o *output) save(path string, r io.Reader, a wire.OutputAnswer) (bytes int64, err error) {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)),
		renameio.WithStaticPermissions(0o644))
	var hidden *fs.PathError
	if errors.As(err, &hidden) {
		return 0, fmt.Errorf("write %s: %w", path, hidden.Err) // the path in the error is a temporary file's
	}
	if err != nil {
		return 0, fmt.Errorf("output %s: %w", o.ID, err)
	}
	defer func() { _ = f.Cleanup() }()
	if bytes, err = o.copy(f, r, a); err != nil {
		return 0, err
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return 0, fmt.Errorf("output %s: %w", o.ID, err)
	}
	return bytes, nil
}

// copy writes the tar or the file to w, and returns its length. It returns an error if the checksum is wrong. If a tar
// has no checksum yet, it returns an error if the tar does not end as every tar does.
func (o *output) copy(w io.Writer, r io.Reader, a wire.OutputAnswer) (n int64, err error) {
	sum, end, what := sha256.New(), &tail{}, "the tar"
	if o.File != "" {
		what = "the file"
	}
	n, err = io.Copy(io.MultiWriter(w, sum, end), r)
	if errors.Is(err, context.Canceled) {
		return n, &exit{exitInterrupted, fmt.Errorf("output %s: interrupted after %d bytes", o.ID, n)}
	}
	if err != nil {
		return n, jjm.Errorf(jjm.Internal, "output %s: after %d bytes: %w", o.ID, n, err)
	}
	if want := a.Output.SHA256; want != "" {
		if got := hex.EncodeToString(sum.Sum(nil)); !strings.EqualFold(got, want) {
			return n, jjm.Errorf(jjm.Internal, "output %s: %d bytes came with sha256 %s, want %.64s: %s is damaged", o.ID, n,
				got, want, what)
		}
	} else if a.Bytes < 0 && !end.zeros() {
		return n, jjm.Errorf(jjm.Internal, "output %s: the tar broke off after %d bytes", o.ID, n)
	}
	return n, nil
}

// tail is a writer that keeps only the last tarEnd bytes.
type tail struct{ b []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b[max(0, len(b)-tarEnd):]...)
	t.b = append([]byte(nil), t.b[max(0, len(t.b)-tarEnd):]...)
	return len(b), nil
}

func (t *tail) zeros() bool { return bytes.Equal(t.b, make([]byte, tarEnd)) }
