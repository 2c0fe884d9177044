package answer

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"jjm/handlers"
	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/outputs"
	"jjm/internal/formats/shellwords"
	"jjm/internal/jjm"
)

// Cat sends one file of a local job, or the list of the local job's files.
func (an verbs) Cat(ctx context.Context, caller wire.Caller, r wire.CatRequest,
	out *serve.Stream[wire.CatAnswer]) error {
	ref := r.Job()
	if !ref.One() {
		return jjm.Errorf(jjm.Invalid, "cat: id %q: want one local job, such as %v.0", r.Ref(), ref.Grid)
	}
	if r.List {
		files, more, err := an.listFiles(ctx, caller, ref, r.Attempt)
		if err != nil {
			return err
		}
		return out.Begin(wire.CatAnswer{Files: files, More: more})
	}
	return serve.SendFile(ctx, out, r, func() (io.ReadCloser, func() bool, error) {
		return an.openFile(ctx, caller, ref, r.CatFile)
	}, serve.Poll)
}

// openFile opens a file of an attempt of a local job, by default of the current or last attempt: stdout,
// stderr, glf, "script", which is the command line of the attempt as a shell script, or a file
// named by its path below the folder in which the application ran. live reports whether the file
// may still grow. If the file does not exist but may come to exist, openFile returns live and an error
// of kind Gone; with any other error live is nil.
func (an *Answers) openFile(ctx context.Context, caller wire.Caller, ref jjm.Ref, file wire.CatFile) (io.ReadCloser,
	func() bool, error) {
	job, l, id, err := an.oneAttempt(ctx, caller, ref, file.Attempt)
	if err != nil {
		return nil, nil, err
	}
	if file.Path == "" && file.File == "script" {
		return an.catScript(ctx, job, l, id)
	}
	live := func() bool {
		v := an.s.View()
		defer v.Close()
		return v.Current(id) != nil
	}
	running := live() // determined before open, so that files made until the attempt's end are found
	f, err := an.open(ctx, job, id, file)
	if jjm.KindOf(err) == jjm.Gone && slices.Contains(wire.Files(), file.Path) {
		file.File, file.Path = file.Path, ""
		if file.File == "script" {
			return an.catScript(ctx, job, l, id)
		}
		f, err = an.open(ctx, job, id, file)
	}
	at := jjm.StateWord(l.State, l.Phase)
	switch {
	case err == nil:
		return f, live, nil
	case jjm.KindOf(err) != jjm.Gone:
		return nil, nil, fmt.Errorf("%s of %s (%s): %w", file, l.ID, at, err)
	case running && file.Path != "":
		return nil, live, jjm.Errorf(jjm.Gone,
			"%s is %s and has no %s yet: follow it with -f; jjm cat %s --list names what there is", l.ID, at, file, l.ID)
	case running:
		return nil, live, jjm.Errorf(jjm.Gone, "%s is %s and has no %s yet: follow it with -f", l.ID, at, file)
	case file.Path == "" && an.folderGone(job):
		return nil, nil, jjm.Errorf(jjm.Gone, "%s is %s, and the folder of grid job %s is gone: %s%s", l.ID, at, job.ID,
			an.areas.GridPath(job.Owner, job.ID), whereInstead(job))
	case file.Path == "":
		return nil, nil, jjm.Errorf(jjm.Gone, "%s is %s and left no %s", l.ID, at, file)
	}
	list := "jjm cat " + l.ID.String() + " --list"
	if file.Attempt != nil {
		list += fmt.Sprintf(" --attempt %d", *file.Attempt)
	}
	return nil, nil, jjm.Errorf(jjm.Gone, "%s is %s and has no file %s: %s names what there is", l.ID, at, file, list)
}

// catScript is openFile for the script, which never grows.
func (an *Answers) catScript(ctx context.Context, job *jjm.GridJob, l *jjm.LocalJob, id jjm.AttemptID) (io.ReadCloser,
	func() bool, error) {
	one := []jjm.LocalJob{*l}
	if err := an.s.ReadInputs(ctx, one); err != nil {
		return nil, nil, err
	}
	one[0].Attempt = id.Attempt
	text, err := an.script(ctx, job, &one[0])
	return io.NopCloser(strings.NewReader(text)), func() bool { return false }, err
}

// listFiles returns the files of an attempt that openFile opens by their paths, up to a limit; more is true if there
// are more files. The error is of kind Gone if no source has the attempt's files.
func (an *Answers) listFiles(ctx context.Context, caller wire.Caller, ref jjm.Ref, attempt *int32) (all []jjm.JobFile,
	more bool, err error) {
	job, l, id, err := an.oneAttempt(ctx, caller, ref, attempt)
	if err != nil {
		return nil, false, err
	}
	there := false
	for _, from := range an.sources {
		files, cut, err := from.List(ctx, job, id)
		switch {
		case err == nil:
			all, more, there = append(all, files...), more || cut, true
		case jjm.KindOf(err) != jjm.Gone:
			return nil, false, fmt.Errorf("files of %s: %w", l.ID, err)
		}
	}
	if !there {
		of := "its files"
		if attempt != nil {
			of = fmt.Sprintf("the files of attempt %d", *attempt)
		}
		return nil, false, jjm.Errorf(jjm.Gone, "%s is %s, and %s are not there%s", l.ID,
			jjm.StateWord(l.State, l.Phase), of, whereInstead(job))
	}
	return all, more, nil
}

// whereInstead returns the part of an error that says where to look for files that are gone, "" if there is no tar.
func whereInstead(job *jjm.GridJob) string {
	if job.Tar == "" {
		return ""
	}
	return ": what was collected is in the tar, jjm output " + job.ID.String()
}

// oneAttempt returns the results of oneLocal, and the id of the attempt with the given number. If number is nil, the
// attempt is the attempt that people are shown. The error is of kind Gone if the local job has no attempt with this
// number.
func (an *Answers) oneAttempt(ctx context.Context, caller wire.Caller, ref jjm.Ref, number *int32) (*jjm.GridJob,
	*jjm.LocalJob, jjm.AttemptID, error) {
	job, l, err := an.oneLocal(ctx, caller, ref)
	if err != nil {
		return nil, nil, jjm.AttemptID{}, err
	}
	id := shownAttempt(l)
	if number == nil {
		return job, l, id, nil
	}
	if *number > id.Attempt {
		some := "only attempt 0"
		if id.Attempt > 0 {
			some = fmt.Sprintf("attempts 0 to %d", id.Attempt)
		}
		return nil, nil, id, jjm.Errorf(jjm.Gone, "%s has no attempt %d so far: it has %s", l.ID, *number, some)
	}
	id.Attempt = *number
	return job, l, id, nil
}

// oneLocal returns the local job that a reference names, and its grid job. The error is of kind Invalid if the
// reference does not name exactly one local job.
func (an *Answers) oneLocal(ctx context.Context, caller wire.Caller, ref jjm.Ref) (*jjm.GridJob, *jjm.LocalJob, error) {
	if !ref.Locals || ref.First != ref.Last {
		return nil, nil, jjm.Errorf(jjm.Invalid, "%s: want one local job, such as %s.0", ref, ref.Grid)
	}
	s, err := an.status(ctx, caller, ref)
	if err != nil {
		return nil, nil, err
	}
	job, err := an.s.Find(ctx, caller, ref.Grid)
	return &job, &s.Locals[0], err
}

// open opens a file of an attempt. The error is of kind Gone if the file is not there.
func (an *Answers) open(ctx context.Context, job *jjm.GridJob, id jjm.AttemptID, file wire.CatFile) (io.ReadCloser,
	error) {
	if file.Path == "" {
		ar, err := an.areas.Of(job.Owner)
		if err != nil {
			return nil, err
		}
		f, err := ar.OpenJobFile(id, file.File)
		if err != nil {
			return nil, err // not f: a reader that holds a nil file would not be nil
		}
		return f, nil
	}
	gone := error(jjm.Errorf(jjm.Gone, "no such file"))
	for _, from := range an.sources {
		f, err := from.Open(ctx, job, id, file.Path)
		if jjm.KindOf(err) != jjm.Gone {
			return f, err
		}
		gone = err
	}
	return nil, gone
}

// folderGone reports whether the folder of a grid job that had a folder was removed.
func (an *Answers) folderGone(job *jjm.GridJob) bool {
	ar, err := an.areas.Of(job.Owner)
	return err == nil && job.Step.Prepared && !ar.HasGrid(job.ID)
}

// shownAttempt returns the attempt whose files people are shown: the current attempt, or the
// last attempt that has files.
func shownAttempt(l *jjm.LocalJob) jjm.AttemptID {
	id := outputs.LastAttempt(l)
	if (l.Phase == jjm.RetryWait || l.Phase == jjm.HeldByPerson) && id.Attempt > 0 {
		id.Attempt-- // the next attempt has no files yet
	}
	return id
}

// script returns the environment and the command line of a local job as a shell script.
func (an *Answers) script(ctx context.Context, job *jjm.GridJob, l *jjm.LocalJob) (string, error) {
	h, err := an.b.Deps.Types.Get(job.Spec.Type)
	if err != nil {
		return "", err
	}
	ar, err := an.areas.Of(job.Owner)
	if err != nil {
		return "", err
	}
	opened, err := an.lineage.Opening(ctx, job)
	if err != nil {
		return "", err
	}
	reads := *l
	if reads.Part.Input, _, err = opened.Part(ctx, l.Part.Input, ar.InDir(l.AttemptID())); err != nil {
		return "", err
	}
	cmd, err := handlers.CommandOf(h, &job.Spec, &reads)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# local job %s, attempt %d: %s\n", l.ID, l.Attempt, l.Part.Work())
	env := maps.Clone(job.Spec.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, cmd.Env)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&b, "export %s=%s\n", name, shellwords.Quote(env[name]))
	}
	b.WriteString(shellwords.Join(cmd.Argv) + "\n")
	return b.String(), nil
}
