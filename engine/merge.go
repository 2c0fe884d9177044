package engine

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"jjm"
	"jjm/handlers"
	"jjm/sandbox"
	"jjm/store"
)

// closed reports whether no step of a grid job makes more local jobs.
func (g *grid) closed() bool {
	return g.job.Step.Closed && (g.merge == nil || g.job.Merging != nil && g.job.Merging.Closed)
}

// cutsWork reports whether the first step can be cut now; mergeIdle why the
// second cannot. The memory lock is held.
func (g *grid) cutsWork() bool {
	return !g.job.Step.Closed && (g.reads == nil || g.reads.idle == "")
}

// openMerge begins the second step of a grid job that merges: it reads a dataset
// of its own, under a name that no person can give one.
func (c *change) openMerge(g *jjm.GridJob) error {
	if g.Spec.Merge == nil {
		return nil
	}
	id, err := c.unmerged(g)
	if err != nil {
		return err
	}
	cut, problems := handlers.MergeCutting(&g.Spec)
	if err := problems.Err(); err != nil {
		return err
	}
	g.Merging = &jjm.MergeStep{Splitter: cut.Splitter}
	return c.tx.OpenInputs(g.ID, jjm.StepMerge, []store.Reads{{Dataset: id, Master: true}})
}

// unmerged is the dataset of what a grid job has to merge.
func (c *change) unmerged(g *jjm.GridJob) (store.DatasetID, error) {
	id, _, err := c.tx.PutDataset(g.Owner.UID, jjm.Dataset{Name: fmt.Sprintf("(merge of %s)", g.ID)})
	return id, err
}

// awaitsMerge reports whether a result has outputs that are to be merged.
func awaitsMerge(spec *jjm.Spec, l *jjm.LocalJob, r *jjm.Result) bool {
	return spec.Merge != nil && l.Step == jjm.StepWork && len(mergeable(l, r)) > 0
}

// mergeable gives the outputs of a local job as files of the dataset to be merged:
// their names are their paths below the work area.
func mergeable(l *jjm.LocalJob, r *jjm.Result) []jjm.File {
	if r == nil {
		return nil
	}
	var files []jjm.File
	for _, o := range r.Outputs {
		if o.Absent != "" {
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

// maker gives the local job that made a file of the dataset to be merged.
func maker(id jjm.GridID, lfn string) (jjm.LocalID, bool) {
	words := strings.Split(lfn, "/") // jobs/17/0xxx/3/attempt.0/...
	if len(words) < 6 {
		return jjm.LocalID{}, false
	}
	n, err := strconv.ParseInt(words[3], 10, 32)
	return jjm.LocalID{Grid: id, N: int32(n)}, err == nil
}

// merged reports whether the outputs of a local job left for a merged file.
func merged(job *jjm.GridJob, l *jjm.LocalJob) bool {
	return job.Spec.Merge != nil && l.Step == jjm.StepWork && l.State == jjm.Completed
}

// lacksOutput says of a merge that ended well what is missing, "" if nothing is.
func lacksOutput(spec *jjm.Spec, l *jjm.LocalJob, r *jjm.Result) string {
	if l.Step != jjm.StepMerge || len(mergeable(l, r)) > 0 {
		return ""
	}
	return "it ended well and left no " + spec.Merge.Output
}

// mergeAssignment is what the wrapper is told of a local job of the merge step.
func (e *Engine) mergeAssignment(job *jjm.GridJob, l *jjm.LocalJob) (sandbox.Assignment, error) {
	ar, err := e.areas.of(job.Owner)
	if err != nil {
		return sandbox.Assignment{}, err
	}
	part := l.Part
	in := *part.Input
	in.Files = make([]string, len(part.Input.Files))
	for i, lfn := range part.Input.Files {
		in.Files[i] = filepath.Join(ar.Root(), lfn)
	}
	in.Place, part.Input = nil, &in
	cmd, err := handlers.MergeCommand(job.Spec.Merge, &jjm.LocalJob{ID: l.ID, Part: part})
	if err != nil {
		return sandbox.Assignment{}, fmt.Errorf("merge command of %s: %w", l.ID, err)
	}
	return sandbox.Assignment{Grid: l.ID.Grid, Local: l.ID.N, Attempt: l.Attempt, Argv: cmd.Argv, Outputs: cmd.Outputs,
		RetryArgs: l.RetryArgs, Part: part, Merge: true}, nil
}

// origin is what outputs were made of: the files that were read in the first step,
// each once, and the sections of them that were processed, where the work was cut
// into sections.
type origin struct {
	parents []string
	lumis   []jjm.LumiRange
	// first is where in its file the work of a local job of events begins.
	first int64
}

// originOf gives what a local job's outputs were made of.
func (c *change) originOf(l *jjm.LocalJob) (o origin, err error) {
	if c.e.grids[l.ID.Grid].reads == nil {
		return o, nil
	}
	numbers := []int32{l.ID.N}
	if l.Step == jjm.StepMerge {
		makers, err := c.makers(l)
		if err != nil {
			return o, err
		}
		numbers = numbers[:0]
		for _, id := range makers {
			numbers = append(numbers, id.N)
		}
	}
	inputs, err := c.e.store.PartInputs(c.ctx, l.ID.Grid, numbers)
	if err != nil {
		return o, err
	}
	seen := map[string]bool{}
	for _, n := range numbers {
		in := inputs[n].Input
		if in == nil {
			return o, jjm.Errorf(jjm.Internal, "local job %s.%d: what it reads is not known", l.ID.Grid, n)
		}
		for _, lfn := range in.Files {
			if !seen[lfn] {
				seen[lfn] = true
				o.parents = append(o.parents, lfn)
			}
		}
		if len(in.Events) > 0 {
			o.first = in.Events[0].First
		}
		for _, r := range in.Lumis {
			o.lumis = append(o.lumis, r.LumiRange)
		}
	}
	o.lumis = jjm.JoinLumis(o.lumis)
	return o, nil
}
