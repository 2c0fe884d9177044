package handlers

import (
	"fmt"
	"maps"
	"slices"

	"jjm/internal/formats/strict"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// concatScript reads the names from a file with one name on each line, so the number of names is not limited. It checks
// that every file exists and is a plain file before it writes anything, and reports the number of files only if no byte
// is missing.
const concatScript = `set -eu
out=$1 want=0 n=0
while IFS= read -r f; do
	[ -f "$f" ] || { echo "concat: $f is not a file that this worker sees" >&2; exit 1; }
	n=$((n + 1))
done < "$JJM_INPUT_FILES"
: > "$out"
while IFS= read -r f; do
	cat -- "$f" >> "$out"
	want=$((want + $(wc -c < "$f")))
done < "$JJM_INPUT_FILES"
got=$(($(wc -c < "$out")))
[ "$got" -eq "$want" ] || { echo "concat: $out has $got bytes, and its $n files $want" >&2; exit 1; }
"$GBS_LOG" INFO "processed=$n files"
`

// Concat returns the command that concatenates the files of a part.
func Concat(output string) []string { return []string{"/bin/sh", "-c", concatScript, "concat", output} }

// MergeCutting returns how the outputs of a grid job are divided into merges: the splitter and its parameters. It
// returns problems if the job file's settings for the merge have mistakes.
func MergeCutting(spec *jjm.Spec) (Cutting, jjm.Problems) {
	m := spec.Merge
	c := Cutting{Splitter: split.ParentlessMergeBySize}
	problems := c.mergeBy(spec)
	if len(problems) > 0 {
		return c, problems
	}
	var err error
	if c.Params, err = split.Defaults(c.Splitter); err != nil {
		return c, jjm.Problems{{Field: "merge", Text: err.Error()}}
	}
	c.Params.MaxMergeSize, c.Params.MaxMergeEvents = m.Bytes, m.Events
	if c.Splitter != split.WMBSMergeBySize {
		c.Params.MaxMergeFiles = int64(m.Files)
	}
	if c.Splitter == split.ParentlessMergeBySize {
		c.Params.MaxWaitTime = int64(m.MaxWait.D().Seconds())
	}
	if c.Splitter != split.JEDIMerge {
		c.Params.MinMergeSize = m.Bytes / 2 // a half-full merge ends before a file that does not fit
	}
	if m.Split != nil {
		for _, key := range slices.Sorted(maps.Keys(m.Split.Params)) {
			if err := split.CheckSettings(c.Splitter, []string{key}); err != nil {
				problems = append(problems, jjm.Problem{Field: "merge.split.params." + key, Text: err.Error()})
			}
		}
		if len(problems) == 0 {
			problems = strict.DecodeMap(m.Split.Params, "merge.split.params", &c.Params)
		}
	}
	if len(problems) == 0 {
		problems = c.tryMerge()
	}
	_, more := mergeTemplate(m)
	return c, append(problems, more...)
}

// tryMerge returns a problem if the splitter rejects the settings.
func (c *Cutting) tryMerge() jjm.Problems {
	sp, err := split.Get(c.Splitter)
	if err == nil {
		_, err = sp.Count(split.Work{Closed: true}, c.Params)
	}
	if err != nil {
		return jjm.Problems{{Field: "merge.split.params", Text: err.Error()}}
	}
	return nil
}

// mergeBy sets the splitter that the job file names for the merge. It returns a problem for each setting that this
// splitter does not allow.
func (c *Cutting) mergeBy(spec *jjm.Spec) (problems jjm.Problems) {
	m := spec.Merge
	bad := func(field, format string, args ...any) {
		problems = append(problems, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if len(m.Apart) > 0 && (m.Split == nil || m.Split.By != split.JEDIMerge) {
		bad("merge.apart", `only %s keeps outputs apart: say split = { by = "%s" }, or leave merge.apart out`,
			split.JEDIMerge, split.JEDIMerge)
	}
	if slices.Contains(m.Apart, jjm.ApartGroup) && len(spec.Datasets) == 0 {
		bad("merge.apart", "%s is the group of the files that were read, and this job reads none: leave it out",
			jjm.ApartGroup)
	}
	switch {
	case m.Split == nil || m.Split.By == "" || m.Split.By == split.ParentlessMergeBySize:
		return problems
	case m.Split.By == split.JEDIMerge:
		c.Splitter = split.JEDIMerge
		if m.MaxWait != jjm.MergeWait {
			bad("merge.max_wait", "%s ignores it, because a merge that is not full waits for the last output: leave it out",
				c.Splitter)
		}
		if m.Files > split.MaxJEDIMergeFiles {
			bad("merge.files", "%d is out of range: %s merges 1 to %d files at a time", m.Files, c.Splitter,
				split.MaxJEDIMergeFiles)
		}
		if m.Files != jjm.MergeFiles && m.Split.Params["files_per_job"] != nil {
			bad("merge.files", "%s ignores it beside merge.split.params.files_per_job: leave one of the two out", c.Splitter)
		}
		return problems
	case m.Split.By != split.WMBSMergeBySize:
		bad("merge.split.by", "%.60q: outputs are merged by %s, %s or %s", m.Split.By, split.ParentlessMergeBySize,
			split.WMBSMergeBySize, split.JEDIMerge)
		return problems
	}
	c.Splitter = split.WMBSMergeBySize
	if len(spec.Datasets) == 0 {
		bad("merge.split.by", "%s keeps together what was made of one file, and this job reads none: use %s", c.Splitter,
			split.ParentlessMergeBySize)
	}
	if m.Files != jjm.MergeFiles {
		bad("merge.files", "%s ignores it, because it merges everything made from one file together: leave it out", c.Splitter)
	}
	if m.MaxWait != jjm.MergeWait {
		bad("merge.max_wait", "%s ignores it, because it waits for everything made from one file: leave it out",
			c.Splitter)
	}
	return problems
}

// mergeTemplate returns the template of the merge command; it is empty if the files are only concatenated.
func mergeTemplate(m *jjm.Merge) (CommandTemplate, jjm.Problems) {
	if m.Concat {
		return CommandTemplate{}, nil
	}
	return ParseCommand("merge.command", m.Command, jjm.UnitFile, "{output}")
}

// MergeCommand returns the command line of a part of the merge step. The input of the part contains the paths of the
// files to merge. The error contains the mistakes in the words of the merge command.
func MergeCommand(m *jjm.Merge, job *jjm.LocalJob) (Command, error) {
	out := Command{Outputs: []string{m.Output}}
	if m.Concat {
		out.Argv = Concat(m.Output)
		return out, nil
	}
	t, problems := mergeTemplate(m)
	values := PartValues(job, 0)
	values["output"] = []string{m.Output}
	out.Argv = t.Expand(values)
	return out, problems.Err()
}
