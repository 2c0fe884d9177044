// Package outputs names the output files of local jobs, in the tar and in the dataset to
// be merged, and removes unreadable files from parts (readable.go). It does no I/O.
package outputs

import (
	"strconv"
	"strings"

	"jjm/internal/jjm"
	"jjm/internal/work/stream"
	"jjm/sandbox"
)

// Stem returns the stem of a grid job: collected files have names that begin with it, unless an output template names
// them.
func Stem(job *jjm.GridJob) string { return stream.Stem(&job.Spec) }

// Names returns, for the outputs of a local job that have an output template, the names that the templates make. The
// keys are the outputs' paths below the attempt's folder.
func Names(spec *jjm.Spec, l *jjm.LocalJob) map[string]stream.Named {
	all := map[string]stream.Named{}
	for _, o := range stream.Names(spec, l) {
		all[o.From] = o
	}
	return all
}

// Name returns the name under which an output of a local job is collected: the name that
// its template makes, else a name made of the stem, the local job's id and the file's own
// name. names is the result of [Names].
func Name(stem string, id jjm.LocalID, file string, names map[string]stream.Named) string {
	if o, ok := names[file]; ok {
		return o.Name
	}
	return sandbox.OutputName(stem, id, file)
}

// TarName returns the file name of the output tar of a grid job. Each generation has its own tar.
func TarName(job *jjm.GridJob) string {
	name := Stem(job) + "." + job.ID.String()
	if job.Generation > 1 {
		name += ".g" + strconv.Itoa(job.Generation)
	}
	return name + ".tar"
}

// LastAttempt returns the id of the attempt that ended last. It is not always the current
// attempt: a local job that ended while it waited for its next attempt (NotBefore is set), because it was killed or was
// held too long, already has the number of the next attempt.
func LastAttempt(l *jjm.LocalJob) jjm.AttemptID {
	id := l.AttemptID()
	if l.NotBefore != 0 && l.Attempt > 0 && !l.State.IsCompleted() &&
		(l.State == jjm.Killed || l.Phase == jjm.ByPerson || l.Phase == jjm.BySystem) {
		id.Attempt--
	}
	return id
}

// AwaitsMerge reports whether a local job's outputs must be merged: the grid job merges, the local job is of the first
// step, and its result has mergeable outputs.
func AwaitsMerge(spec *jjm.Spec, l *jjm.LocalJob, r *jjm.Result) bool {
	return spec.Merge != nil && l.Step == jjm.StepWork && len(Mergeable(spec, l, r)) > 0
}

// Mergeable returns the collected outputs of a local job as files of the dataset to be merged. Their LFNs are their
// paths below the work area. It leaves out logs, absent outputs, and names that a dataset cannot hold.
func Mergeable(spec *jjm.Spec, l *jjm.LocalJob, r *jjm.Result) []jjm.File {
	if r == nil {
		return nil
	}
	var files []jjm.File
	names := Names(spec, l)
	for _, o := range r.Outputs {
		if o.Absent != "" || names[o.Name].Log {
			continue
		}
		p, err := sandbox.OutputPath(r.AttemptID(), o.Name)
		f := jjm.File{LFN: p, Size: max(o.Bytes, 0)}
		if o.SHA256 != "" {
			f.Checksum = "sha256:" + o.SHA256
		}
		if err == nil && len(f.Problems()) == 0 { // no real wrapper reports a name that a dataset cannot hold
			files = append(files, f)
		}
	}
	return files
}

// Maker returns the local job that made a file of the dataset to be merged, from the file's LFN. The second result is
// false if the LFN is not the path of an output.
func Maker(id jjm.GridID, lfn string) (jjm.LocalID, bool) {
	words := strings.Split(lfn, "/") // jobs/17/0xxx/3/attempt.0/...
	if len(words) < 6 {
		return jjm.LocalID{}, false
	}
	n, err := strconv.ParseInt(words[3], 10, 32)
	return jjm.LocalID{Grid: id, N: int32(n)}, err == nil
}

// Merged reports whether the outputs of a local job are in merged files: the local job is of the first step of a grid
// job that merges, and completed.
func Merged(job *jjm.GridJob, l *jjm.LocalJob) bool {
	return job.Spec.Merge != nil && l.Step == jjm.StepWork && l.State.IsCompleted()
}

// LeftOut returns the outputs that a local job left out. It returns nil for a local job that did not complete or whose
// outputs were retracted, because the work of that local job is not done. retracted holds the local jobs whose outputs
// were retracted.
func LeftOut(l *jjm.LocalJob, ev *jjm.Evidence, retracted map[int32]string) jjm.LeftList {
	if _, lost := retracted[l.ID.N]; lost || !l.State.IsCompleted() || ev == nil || ev.Result == nil {
		return nil
	}
	return ev.Result.LeftOut()
}

// LacksOutput returns the cause of failure of a merge that left no merged file. It returns "" if the merge left a
// merged file, and for local jobs of other steps.
func LacksOutput(spec *jjm.Spec, l *jjm.LocalJob, r *jjm.Result) string {
	if l.Step != jjm.StepMerge || len(Mergeable(spec, l, r)) > 0 {
		return ""
	}
	return "it ended well and left no " + spec.Merge.Output
}
