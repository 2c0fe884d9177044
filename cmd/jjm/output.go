package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"jjm"
	"jjm/gate/client"
	"jjm/wire"
)

// tarEnd is how a tar ends: two blocks of zeros (POSIX.1, pax).
const tarEnd = 1024

// output fetches the tar of outputs.
type output struct {
	Out     string `name:"output" short:"o" placeholder:"FILE" help:"Write to this file, replacing it; - is standard output."`
	Partial bool   `help:"What there is, of a job that is not finished."`
	ID      string `arg:"" name:"ID" help:"The grid job."`

	place
}

// Help is the rest of its help.
func (*output) Help() string {
	return "The file appears whole and with the right checksum, or not at all: under the tar's own name, here, if that " +
		"is free, or as -o says. Of a job that is not finished the " +
		"exit code is 7."
}

// Run implements the command.
func (o *output) Run(c *cli) error {
	if err := checkRefs([]string{o.ID}, true); err != nil {
		return err
	}
	ctx, cancel := interruptible()
	defer cancel()
	req := wire.OutputRequest{One: wire.Of(o.ID), Partial: o.Partial}
	a, r, err := client.Open(ctx, o.client(c), wire.VerbOutput(), req)
	if jjm.KindOf(err) == jjm.Conflict {
		return o.unfinished(c, err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	if o.Out == "-" {
		return o.copy(c.out, r, a)
	}
	path, err := o.path(a.Output.Name)
	if err != nil {
		return err
	}
	if err := o.write(path, r, a); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.out, printable(path))
	if a.Output.Partial {
		c.say("the job is not finished: this is what there is")
	}
	return err
}

// unfinished says what there is.
func (o *output) unfinished(c *cli, err error) error {
	a, serr := ask(c, o.place, wire.VerbStatus(), wire.StatusRequest{Refs: []string{o.ID}})
	if serr == nil && len(a.Status) == 1 {
		c.say("%s", plainLine(a.Status[0]))
		if !isFinal(a.Status[0].Lookup.Status) {
			c.say("wait for it: jjm wait %s; or take what there is: jjm output --partial %s", o.ID, o.ID)
		}
	}
	return &exit{exitUnfinished, err}
}

// path is where the tar goes. The name that the daemon suggests is used as a
// name only.
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

// write puts the tar where the user says: a file is replaced as a whole, also
// behind a symbolic link; a device or a pipe is written to, never replaced.
func (o *output) write(path string, r io.Reader, a wire.OutputAnswer) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Stat(path)
	switch {
	case err != nil || info.Mode().IsRegular():
		return o.save(path, r, a)
	case info.IsDir():
		return usage("%s is a folder: name a file in it", path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("output %s: %w", o.ID, err)
	}
	return errors.Join(o.copy(f, r, a), f.Close())
}

// save writes a file beside path and renames it once it is whole and checked.
func (o *output) save(path string, r io.Reader, a wire.OutputAnswer) error {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)),
		renameio.WithStaticPermissions(0o644))
	if err != nil {
		return fmt.Errorf("output %s: %w", o.ID, err)
	}
	defer func() { _ = f.Cleanup() }()
	if err := o.copy(f, r, a); err != nil {
		return err
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("output %s: %w", o.ID, err)
	}
	return nil
}

// copy writes the tar and checks what came: its checksum, or, while it has
// none yet, that it ends as a tar does.
func (o *output) copy(w io.Writer, r io.Reader, a wire.OutputAnswer) error {
	sum, end := sha256.New(), &tail{}
	n, err := io.Copy(io.MultiWriter(w, sum, end), r)
	if errors.Is(err, context.Canceled) {
		return &exit{exitInterrupted, fmt.Errorf("output %s: interrupted after %d bytes", o.ID, n)}
	}
	if err != nil {
		return jjm.Errorf(jjm.Internal, "output %s: after %d bytes: %w", o.ID, n, err)
	}
	if want := a.Output.SHA256; want != "" {
		if got := hex.EncodeToString(sum.Sum(nil)); !strings.EqualFold(got, want) {
			return jjm.Errorf(jjm.Internal, "output %s: %d bytes came with sha256 %s, want %.64s: the tar is damaged", o.ID, n,
				got, want)
		}
	} else if a.Bytes < 0 && !end.zeros() {
		return jjm.Errorf(jjm.Internal, "output %s: the tar broke off after %d bytes", o.ID, n)
	}
	return nil
}

// tail keeps the last bytes written.
type tail struct{ b []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b[max(0, len(b)-tarEnd):]...)
	t.b = append([]byte(nil), t.b[max(0, len(t.b)-tarEnd):]...)
	return len(b), nil
}

func (t *tail) zeros() bool { return bytes.Equal(t.b, make([]byte, tarEnd)) }
