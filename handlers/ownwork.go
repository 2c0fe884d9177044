package handlers

import (
	"fmt"
	"slices"

	"jjm/internal/formats/strict"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// OwnWork is work that does not come from files: the splitter that the job file names makes the rows or events itself.
// These splitters are ArgSplitter, GenericSplitter and GaussSplitter.
type OwnWork struct {
	by     string
	params split.Params
	// streams are the placeholders that the job file's streams of files add.
	streams []string
}

// OwnWorkOf returns the work that the splitter of a job file makes, or the problems with its settings. ok is false if
// the job file names none of these splitters.
func OwnWorkOf(spec *jjm.Spec) (w OwnWork, ok bool, problems jjm.Problems) {
	makers := []string{split.ArgSplitter, split.GenericSplitter, split.GaussSplitter}
	if spec.Split == nil || !slices.Contains(makers, spec.Split.By) { // Fits reports other splitters
		return w, false, nil
	}
	w.by, w.streams = spec.Split.By, Streams(spec)
	var err error
	if w.params, err = split.Defaults(w.by); err != nil {
		return w, true, jjm.Problems{{Field: "split.by", Text: err.Error()}}
	}
	if problems = checkSettings(spec.Split); len(problems) > 0 {
		return w, true, problems
	}
	return w, true, strict.DecodeMap(spec.Split.Params, "split.params", &w.params)
}

// Unit returns the unit of the parts: events for GaussSplitter, otherwise rows.
func (w OwnWork) Unit() string {
	if w.by == split.GaussSplitter {
		return jjm.UnitEvent
	}
	return jjm.UnitRow
}

// Cut returns how the work is cut. If only is not nil, it selects rows or events of the work. It is a problem if there
// are no local jobs.
func (w OwnWork) Cut(only []jjm.Span, site Site) (Cutting, jjm.Problems) {
	c := Cutting{Splitter: w.by, Params: w.params, Why: []string{"cut by " + w.by + ", as the job file says"}}
	c.Work = w.work()
	c.Work.Only = only
	if only != nil {
		c.Why = append(c.Why, fmt.Sprintf("only %d selected ranges", len(only)))
	}
	c, problems := site.Cut(c, "split.params", "change its settings")
	if len(problems) == 0 && c.Jobs == 0 {
		problems = jjm.Problems{{Field: "split.params", Text: "make no local jobs: give values"}}
	}
	return c, problems
}

// work returns the rows or events that the splitter makes. The local jobs must cover exactly these rows or events.
func (w OwnWork) work() split.Work {
	rows := max(len(w.params.Args), len(w.params.Values))
	for _, values := range w.params.MultiAttrs {
		rows = max(rows, len(values))
	}
	if w.by == split.GaussSplitter {
		return split.Work{First: w.params.FirstEventNumber + 1, Events: w.params.EventsPerSubjob * w.params.NumberOfJobs}
	}
	return split.Work{Rows: make([][]string, rows)}
}

// Command returns the command line of a part. The part's arguments replace {args}. If the words do not contain that
// placeholder, the arguments replace all words after the first, or, with append = true, follow the words. The error
// contains the mistakes in the words or in the part's settings.
func (w OwnWork) Command(words []string, job *jjm.LocalJob, seedOffset int64) (Command, error) {
	fields, err := settingsOf(job)
	if err != nil {
		return Command{}, err
	}
	values := PartValues(job, seedOffset)
	own := w.by == split.ArgSplitter
	if fields.Args != nil {
		own, values["args"] = true, fields.Args
	}
	last := own && !slices.Contains(words, "{args}") // the arguments come after the words
	if last && !w.params.Append && len(words) > 1 {
		words = words[:1]
	}
	t, problems := ParseCommand("params.command", words, w.Unit(), w.streams...)
	if len(problems) > 0 {
		return Command{}, problems.Err()
	}
	if last {
		t.append = []string{"args"} // also if the words have other placeholders
	}
	return Command{Argv: t.Expand(values), Env: fields.Env}, nil
}

// settingsOf returns the fields that the splitter set for a local job.
func settingsOf(job *jjm.LocalJob) (split.Fields, error) {
	if job.Part.Input == nil || job.Part.Input.More == nil {
		return split.Fields{}, nil
	}
	return split.FieldsOf(job.Part.Input.More.Settings)
}
