// Package outputs names what local jobs make: files in the tar, files to be merged, and
// what is left of a part without some of its files. It does no I/O.
package outputs

import (
	"strconv"
	"strings"

	"jjm"
	"jjm/sandbox"
	"jjm/stream"
)

// Stem is the first part of the names of the collected files that no template names.
func Stem(job *jjm.GridJob) string { return stream.Stem(&job.Spec) }

// Names are the names for good of the outputs of a local job that are named by templates,
// by where they are found below its attempt's folder. Of each file there is one.
func Names(spec *jjm.Spec, l *jjm.LocalJob) map[string]stream.Named {
	all := map[string]stream.Named{}
	for _, o := range stream.Names(spec, l) {
		all[o.From] = o
	}
	return all
}

// Name returns the name under which an output of a local job is collected: that of its
// template, else one made of the stem, the local job and its own name. Names are those of
// [Names].
func Name(stem string, id jjm.LocalID, file string, names map[string]stream.Named) string {
	if o, ok := names[file]; ok {
		return o.Name
	}
	return sandbox.OutputName(stem, id, file)
}

func TarName(job *jjm.GridJob) string { return Stem(job) + "." + job.ID.String() + ".tar" }

// LastAttempt names the attempt that ended last: a local job that was killed
// while it waited for its next attempt has already got the next number.
func LastAttempt(l *jjm.LocalJob) jjm.AttemptID {
	id := l.AttemptID()
	if l.NotBefore != 0 && l.Attempt > 0 && l.State == jjm.Killed {
		id.Attempt--
	}
	return id
}

// AwaitsMerge reports whether a result has outputs that are to be merged.
func AwaitsMerge(spec *jjm.Spec, l *jjm.LocalJob, r *jjm.Result) bool {
	return spec.Merge != nil && l.Step == jjm.StepWork && len(Mergeable(spec, l, r)) > 0
}

// Mergeable returns the outputs of a local job as files of the dataset to be merged:
// their names are their paths below the work area. Logs are not merged.
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
		if err == nil && len(f.Problems()) == 0 { // else its wrapper was forged
			files = append(files, f)
		}
	}
	return files
}

// Maker returns the local job that made a file of the dataset to be merged.
func Maker(id jjm.GridID, lfn string) (jjm.LocalID, bool) {
	words := strings.Split(lfn, "/") // jobs/17/0xxx/3/attempt.0/...
	if len(words) < 6 {
		return jjm.LocalID{}, false
	}
	n, err := strconv.ParseInt(words[3], 10, 32)
	return jjm.LocalID{Grid: id, N: int32(n)}, err == nil
}

// Merged reports whether the outputs of a local job left for a merged file.
func Merged(job *jjm.GridJob, l *jjm.LocalJob) bool {
	return job.Spec.Merge != nil && l.Step == jjm.StepWork && l.State == jjm.Completed
}

// LacksOutput says of a merge that ended well what is missing, "" if nothing is.
func LacksOutput(spec *jjm.Spec, l *jjm.LocalJob, r *jjm.Result) string {
	if l.Step != jjm.StepMerge || len(Mergeable(spec, l, r)) > 0 {
		return ""
	}
	return "it ended well and left no " + spec.Merge.Output
}
