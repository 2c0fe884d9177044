package answer

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"iter"
	"strings"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/outputs"
	"jjm/internal/formats/nearest"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/sandbox"
)

// mostOutputs limits the files in an answer that lists outputs.
const mostOutputs = 10_000

// outputFiles lists the files of outputs, and opens the files of tars.
type outputFiles struct{ *Answers }

// sendList sends the names of the files that collected opens: of a local job their own names, of a grid job their names
// in the tar.
func (an outputFiles) sendList(ctx context.Context, caller wire.Caller, ref jjm.Ref,
	out *serve.Stream[wire.OutputAnswer]) error {
	job, err := an.s.Find(ctx, caller, ref.Grid)
	if err != nil {
		return err
	}
	var files []wire.OutputFile
	switch {
	case ref.Locals:
		files, err = an.filesOfLocal(ctx, &job, ref.First)
	case job.Tar != "":
		files, err = an.filesInTar(&job)
	default:
		files, err = an.filesSoFar(ctx, &job)
	}
	if err != nil {
		return err
	}
	shown := min(len(files), mostOutputs)
	return out.Begin(wire.OutputAnswer{Output: &wire.Output{Name: outputs.TarName(&job), Partial: job.Tar == ""},
		Files: files[:shown], More: shown < len(files)})
}

// filesOfLocal returns the files that a local job left.
func (an outputFiles) filesOfLocal(ctx context.Context, job *jjm.GridJob, n int32) (files []wire.OutputFile,
	err error) {
	_, entries, err := an.rooms.Jobs.CollectedOf(ctx, job, n)
	if err != nil {
		return nil, err
	}
	asInTar(entries)
	for _, e := range entries {
		if e.Absent == "" {
			files = append(files, wire.OutputFile{Name: shownName(e, true), Bytes: bytesOf(e)})
		}
	}
	return files, nil
}

// filesSoFar returns the files that local jobs of a grid job without a complete tar left so far.
func (an outputFiles) filesSoFar(ctx context.Context, job *jjm.GridJob) (files []wire.OutputFile, err error) {
	copied := *job
	return firstFiles(an.rooms.Jobs.TarEntries(ctx, &copied, &plan.GridFacts{}, func() {}))
}

// firstFiles returns the first files of local jobs among the entries of a tar. It reads no further entry one file above
// mostOutputs, by which sendList knows that there are more files.
func firstFiles(entries iter.Seq2[sandbox.TarEntry, error]) (files []wire.OutputFile, err error) {
	names := sandbox.TarNames{}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if e.Absent != "" {
			continue
		}
		name := names.Unique(e.Name)
		if _, ofLocal := sandbox.OutputOf(name); !ofLocal && e.Path == "" { // jjm itself makes it with the tar
			continue
		}
		if files = append(files, wire.OutputFile{Name: name, Bytes: bytesOf(e)}); len(files) > mostOutputs {
			break
		}
	}
	return files, nil
}

// bytesOf returns the size of the file of an entry, or -1 if it is not known.
func bytesOf(e sandbox.TarEntry) int64 {
	switch {
	case e.Path == "":
		return int64(len(e.Content))
	case e.SHA256 == "":
		return -1
	}
	return e.Bytes
}

// filesInTar returns the files of the complete tar of a grid job.
func (an outputFiles) filesInTar(job *jjm.GridJob) (files []wire.OutputFile, err error) {
	f, err := an.openTar(job)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return listTar(f)
}

// listTar returns the first files of a tar. It stops one file above mostOutputs, by which sendList knows that the tar
// has more files.
func listTar(r io.Reader) (files []wire.OutputFile, err error) {
	err = eachInTar(r, func(name string, h *tar.Header, _ io.Reader) bool {
		files = append(files, wire.OutputFile{Name: name, Bytes: h.Size})
		return len(files) <= mostOutputs
	})
	return files, err
}

// openTar opens the complete tar of a grid job.
func (an outputFiles) openTar(job *jjm.GridJob) (io.ReadCloser, error) {
	ar, err := an.areas.Of(job.Owner)
	if err != nil {
		return nil, err
	}
	f, err := ar.OpenTar(sandbox.TarDir(job.ID) + "/" + job.Tar)
	if err != nil {
		return nil, jjm.Errorf(jjm.Gone, "output tar of grid job %s: %w", job.ID, err)
	}
	return f, nil
}

// eachInTar calls fn for each file of a tar, with its name below the tar's prefix, until fn returns false.
func eachInTar(r io.Reader, fn func(name string, h *tar.Header, content io.Reader) bool) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return jjm.Errorf(jjm.Internal, "the tar cannot be read: %w", err)
		}
		if _, name, below := strings.Cut(h.Name, "/"); below && !fn(name, h, t) {
			return nil
		}
	}
}

// fromTar opens a file of a grid job that no local job left, such as report.html, in the complete tar. If the tar has
// no such file, the error is of kind Gone and names the file that was probably meant.
func (an outputFiles) fromTar(job *jjm.GridJob, name string) (io.ReadCloser, int64, wire.Output, error) {
	if job.Tar == "" {
		return nil, 0, wire.Output{}, jjm.Errorf(jjm.Gone, "file %.100q of grid job %s: no local job left it, and the tar, "+
			"which has files such as report.html, is not complete: jjm output %[2]s --list names the files that are there",
			name, job.ID)
	}
	f, err := an.openTar(job)
	if err != nil {
		return nil, 0, wire.Output{}, err
	}
	name = strings.TrimPrefix(name, outputs.Stem(job)+"/")
	found, size, near, err := findInTar(f, name)
	if err == nil && found != nil {
		return readCloser{found, f}, size, wire.Output{Name: strings.ReplaceAll(name, "/", ".")}, nil
	}
	_ = f.Close() // it was only read
	if err != nil {
		return nil, 0, wire.Output{}, err
	}
	meant := ""
	if near != "" {
		meant = "did you mean " + near + "? "
	}
	return nil, 0, wire.Output{}, jjm.Errorf(jjm.Gone, "file %.100q of grid job %s: its tar has no such file: %s"+
		"jjm output %[2]s --list names its files", name, job.ID, meant)
}

// findInTar returns the content and the size of a file of a tar. If the tar has no such file, the content is nil, and
// near is the name that was probably meant, "" if no name is near. It keeps one name at a time, because a tar may have
// millions of files.
func findInTar(r io.Reader, name string) (content io.Reader, size int64, near string, err error) {
	err = eachInTar(r, func(have string, h *tar.Header, in io.Reader) bool {
		if have == name {
			content, size = in, h.Size
			return false
		}
		near = nearest.Of(name, []string{near, have})
		return true
	})
	return content, size, near, err
}

// readCloser reads from one place and closes another.
type readCloser struct {
	io.Reader
	io.Closer
}
