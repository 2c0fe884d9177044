package answer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"jjm/internal/api/wire"
	"jjm/internal/formats/shellwords"
	"jjm/internal/jjm"
	"jjm/sandbox"
)

// collected opens one of the files that the tar of a grid job has or will have, and returns the size and the
// description of the file. name is the file's name in the tar or, if ref is one local job, its path below the folder in
// which the local job ran. The grid job may still be running. The error is of kind Conflict if the local job is not
// over and may still make the file, and of kind Gone if the local job ended without the file.
func (an *Answers) collected(ctx context.Context, caller wire.Caller, job *jjm.GridJob, ref jjm.Ref, name string) (
	io.ReadCloser, int64, wire.Output, error) {
	nothing := func(err error) (io.ReadCloser, int64, wire.Output, error) { return nil, 0, wire.Output{}, err }
	n := ref.First
	if !ref.Locals {
		var err error
		if n, err = an.lineage.NumberOf(ctx, job, path.Base(name)); err != nil {
			if jjm.KindOf(err) == jjm.Gone {
				return outputFiles{an}.fromTar(job, name)
			}
			return nothing(fmt.Errorf("file %.100q of grid job %s: %w", name, job.ID, err))
		}
	}
	l, entries, err := an.rooms.Jobs.CollectedOf(ctx, job, n)
	if err != nil {
		return nothing(err)
	}
	id := jjm.LocalID{Grid: job.ID, N: n}
	asInTar(entries)
	entry, found := entryOf(entries, name)
	switch {
	case !found && !l.Over():
		return nothing(jjm.Errorf(jjm.Conflict, "local job %s is %s: its files can be fetched one by one once it is over; "+
			"until then %s", id, l.State, readable(ref, id, name)))
	case !found:
		return nothing(jjm.Errorf(jjm.Gone, "local job %s is %s and left no %.100q%s: it left %s", id, jjm.StateWord(l.State, l.Phase), name,
			inWork(ctx, an.openFile, caller, ref, name), namesOf(entries, ref.Locals)))
	case entry.Absent != "":
		return nothing(jjm.Errorf(jjm.Gone, "%s of local job %s: %s", entry.Name, id, entry.Absent))
	}
	return an.openEntry(job, entry)
}

// readable returns a text about the command that reads a file of a local job that is not over.
func readable(ref jjm.Ref, id jjm.LocalID, name string) string {
	list := fmt.Sprintf("jjm cat %s --list names those in its work folder", id)
	if !ref.Locals {
		return list
	}
	return fmt.Sprintf("jjm cat %s %s reads it, and %s", id, shellwords.Quote(name), list)
}

// catter is the signature of Answers.openFile, which opens a file of a local job.
type catter func(context.Context, wire.Caller, jjm.Ref, wire.CatFile) (io.ReadCloser, func() bool, error)

// inWork returns the part of an error that says how to see a file of a local job that was not collected and is still in
// the work folder, "" if the file is not there.
func inWork(ctx context.Context, cat catter, caller wire.Caller, ref jjm.Ref, name string) string {
	if !ref.Locals {
		return ""
	}
	f, _, err := cat(ctx, caller, ref, wire.CatFile{Path: name})
	if err != nil {
		return ""
	}
	_ = f.Close() // opened only to learn whether the file exists
	return fmt.Sprintf(" among its outputs; it is in the work folder, jjm cat %s %s", ref, shellwords.Quote(name))
}

// openEntry opens the file of an entry of the tar. The error is of kind Gone if the file was removed or its length has
// changed. It does not check the SHA-256: the caller must.
func (an *Answers) openEntry(job *jjm.GridJob, e sandbox.TarEntry) (io.ReadCloser, int64, wire.Output, error) {
	if e.Path == "" {
		return io.NopCloser(bytes.NewReader(e.Content)), int64(len(e.Content)), wire.Output{Name: e.Name}, nil
	}
	ar, err := an.areas.Of(job.Owner)
	if err != nil {
		return nil, 0, wire.Output{}, err
	}
	f, size, err := ar.OpenCollected(e.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, wire.Output{}, jjm.Errorf(jjm.Gone,
			"%s is not there any more: jjm output %s has the tar, if that is complete", e.Name, job.ID)
	case err != nil:
		return nil, 0, wire.Output{}, fmt.Errorf("%s: %w", e.Name, err)
	case e.SHA256 != "" && size != e.Bytes:
		_ = f.Close() // the file was only read
		return nil, 0, wire.Output{}, jjm.Errorf(jjm.Gone, "%s has %d bytes, and %d were collected", e.Name, size, e.Bytes)
	}
	return f, size, wire.Output{Name: e.Name, SHA256: e.SHA256, Path: filepath.Join(ar.Root(), e.Path)}, nil
}

// asInTar replaces the names of the files of one local job by their names in the tar, where equal names are made
// unique. The files of other local jobs need not be known, because their names in the tar always differ from these
// names.
func asInTar(entries []sandbox.TarEntry) {
	names := sandbox.TarNames{}
	for i := range entries {
		if entries[i].Absent == "" {
			entries[i].Name = names.Unique(entries[i].Name)
		}
	}
}

// entryOf returns the entry with a name, and true if there is one. It searches first for the name in the tar, then for
// the file's own name, and last for the name in the tar without the folders in name.
func entryOf(entries []sandbox.TarEntry, name string) (sandbox.TarEntry, bool) {
	for _, is := range []func(sandbox.TarEntry) bool{
		func(e sandbox.TarEntry) bool { return e.Name == name },
		func(e sandbox.TarEntry) bool {
			own := ownName(e)
			return own != "" && (own == name || own == sandbox.WorkName+"/"+name)
		},
		func(e sandbox.TarEntry) bool { return e.Name == path.Base(name) },
	} {
		if i := slices.IndexFunc(entries, is); i >= 0 {
			return entries[i], true
		}
	}
	return sandbox.TarEntry{}, false
}

// ownName returns the name of a file below the folder of its attempt, "" if it has none.
func ownName(e sandbox.TarEntry) string {
	_, own, _ := strings.Cut(e.Path, "/attempt.")
	_, own, _ = strings.Cut(own, "/")
	return own
}

// shownName returns the name of a file for people: if own is set and it has one its own name, else its name in the tar.
func shownName(e sandbox.TarEntry, own bool) string {
	if own && e.Path != "" {
		return strings.TrimPrefix(ownName(e), sandbox.WorkName+"/")
	}
	return e.Name
}

// mostNames is the greatest number of names in an error.
const mostNames = 10

// namesOf returns the names of the files that a local job left, for an error: their own names, or their names in the
// tar.
func namesOf(entries []sandbox.TarEntry, own bool) string {
	var names []string
	for _, e := range entries {
		if e.Absent == "" {
			names = append(names, shownName(e, own))
		}
	}
	switch n := len(names); {
	case n == 0:
		return "nothing"
	case n > mostNames:
		names = append(names[:mostNames], fmt.Sprintf("and %d more", n-mostNames))
	}
	return strings.Join(names, ", ")
}
