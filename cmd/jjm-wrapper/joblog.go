package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"jjm/internal/work/stream"
	"jjm/sandbox"
)

// keepLog packs standard output, standard error and the GBS log file into one file, which is collected if the job file
// has a template for the names of logs. It returns this file, with the reason in absent if packing failed.
func (a *attempt) keepLog(ctx context.Context) wanted {
	w := wanted{name: stream.LogName}
	f, err := a.root.OpenFile(stream.LogName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		w.absent = fmt.Sprintf("pack the log: %s", cause(err))
		return w
	}
	err = a.packLog(ctx, f)
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(err, a.root.Remove(stream.LogName))
		w.absent = fmt.Sprintf("pack the log: %s", cause(err))
		a.note(diskFull(err))
	}
	return w
}

// packLog writes the three files as a compressed tar.
func (a *attempt) packLog(ctx context.Context, to io.Writer) error {
	z := gzip.NewWriter(to)
	t := tar.NewWriter(z)
	for _, name := range []string{sandbox.Stdout, sandbox.Stderr, sandbox.GLFName} {
		if err := a.addLog(ctx, t, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return errors.Join(t.Close(), z.Close())
}

// addLog adds one file to the tar with its present length, because a process may still append to it. It leaves out a
// missing file.
func (a *attempt) addLog(ctx context.Context, t *tar.Writer, name string) error {
	f, err := a.openRegular(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := plain(f, info); err != nil {
		return err
	}
	err = t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: info.Size(),
		ModTime: info.ModTime()})
	if err != nil {
		return err
	}
	_, err = io.Copy(t, io.LimitReader(ctxReader{ctx, f}, info.Size()))
	return err
}

// ctxReader reads from r, and returns the error of ctx after ctx has ended.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (w ctxReader) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.r.Read(p)
}
