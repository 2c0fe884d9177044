package handlers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"jjm/internal/formats/strict"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
	"jjm/internal/work/split/jedi"
	"jjm/internal/work/stream"
)

// Fits returns a problem for each part of a job file that its type does not support: datasets, cutting or recovery. It
// depends only on the type's description; Check finds the other problems.
func Fits(typ string, d Description, spec *jjm.Spec) jjm.Problems {
	var ps jjm.Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if !d.Reads {
		ps = checkOwnWork(typ, d, spec)
		switch {
		case spec.Split == nil || slices.Contains(d.Splitters, spec.Split.By):
		case len(d.Splitters) == 0:
			bad("split", "the type %s cuts its work itself: leave it out", typ)
		case spec.Split.By == "":
			bad("split.by", "is missing: the type %s cuts its work itself, or by %s", typ, strings.Join(d.Splitters, ", "))
		default:
			bad("split", "%.40q: the type %s cuts its work itself, or by %s", spec.Split.By, typ,
				strings.Join(d.Splitters, ", "))
		}
		return ps
	}
	if len(spec.Datasets) == 0 {
		bad("datasets", "is missing: the type %s processes the files of a dataset: add a [[datasets]] table", typ)
	}
	if len(spec.Datasets) > 0 && spec.Master() == nil {
		bad("datasets", "all datasets are secondary, but the type %s processes files: leave secondary out of one of them", typ)
	}
	if spec.Only != nil {
		bad("only", "chooses events and rows by number, and the type %s processes files: name the files instead", typ)
	}
	return ps
}

// checkOwnWork returns the problems with the datasets in a job file whose type makes its work itself: without d.Along
// the job file must have no datasets, and with d.Along only secondary datasets.
func checkOwnWork(typ string, d Description, spec *jjm.Spec) (ps jjm.Problems) {
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if !d.Along && len(spec.Datasets) > 0 {
		bad("datasets", "the type %s reads no datasets: leave it out, or choose a type that does, such as reprocess", typ)
		return ps
	}
	for i := range spec.Datasets {
		one := &spec.Datasets[i]
		if !one.Secondary {
			bad(fmt.Sprintf("datasets[%d]", i),
				"the type %s makes its events and processes no files: set secondary = true, or choose a type such as reprocess",
				typ)
		} else if err := checkAttributes(one); err != nil {
			bad(fmt.Sprintf("datasets[%d].attributes", i), "%v", err)
		}
	}
	return ps
}

// checkSecondary returns the problems with the secondary datasets of a type that makes events: with these settings the
// type does not make events, or the job file lists all files and has too few for all local jobs.
func checkSecondary(h Handler, spec *jjm.Spec, site Site) jjm.Problems {
	if !h.Describe().Along || len(spec.Datasets) == 0 {
		return nil
	}
	cut, err := h.Split(spec, site)
	if err != nil {
		return jjm.Problems{{Field: "params", Text: err.Error()}}
	}
	if cut.Splitter != split.ByEvents {
		return jjm.Problems{{Field: "datasets",
			Text: "secondary files are read along with events, and these settings make none: set events, or leave the datasets out"}}
	}
	inline, all := Inline(spec)
	if !all {
		return nil
	}
	cut.Work.Secondary = inline.Secondary
	_, problems := site.Cut(cut, "datasets", "give each part more events, or add files")
	return problems
}

// SplitOf returns the splitter for the files of a job and its settings. It is the splitter that the job file names, or
// otherwise own, the splitter of the job type. The function settings sets the job type's defaults for the settings of
// own; the job file's settings override them.
func SplitOf(spec *jjm.Spec, own string, settings func(*split.Params)) (string, split.Params, jjm.Problems) {
	name := own
	if spec.Split != nil && spec.Split.By != "" {
		name = spec.Split.By
	}
	bad := func(field string, err error) (string, split.Params, jjm.Problems) {
		return name, split.Params{}, jjm.Problems{{Field: field, Text: err.Error()}}
	}
	p, err := split.Defaults(name)
	if err != nil {
		return bad("split.by", err)
	}
	if unit, err := split.Unit(name); err != nil || unit == jjm.UnitEvent || unit == jjm.UnitRow {
		return bad("split.by", fmt.Errorf("%q makes its work itself: want one that cuts files, such as %s", name, own))
	}
	if name == own && settings != nil {
		settings(&p)
	}
	var problems jjm.Problems
	for i := range spec.Datasets {
		if spec.Datasets[i].Secondary && name != split.JEDI {
			problems = append(problems, jjm.Problem{Field: fmt.Sprintf("datasets[%d].secondary", i),
				Text: fmt.Sprintf("split by %s reads no secondary datasets: want by = %q", name, split.JEDI)})
		}
		if err := checkAttributes(&spec.Datasets[i]); err != nil {
			problems = append(problems, jjm.Problem{Field: fmt.Sprintf("datasets[%d].attributes", i), Text: err.Error()})
		}
	}
	if spec.Split == nil {
		return name, p, problems
	}
	problems = append(problems, checkSettings(&jjm.Splitting{By: name, Params: spec.Split.Params})...)
	if len(problems) == 0 {
		problems = strict.DecodeMap(spec.Split.Params, "split.params", &p)
	}
	for _, problem := range p.Task.Problems() {
		problems = append(problems, jjm.Problem{Field: "split.params.task." + problem.Field, Text: problem.Text})
	}
	for i := range spec.Datasets {
		if jedi.ParseAttributes("", spec.Datasets[i].Attributes).Events > 0 && !p.Records.Ranges() {
			problems = append(problems, jjm.Problem{Field: fmt.Sprintf("datasets[%d].attributes", i),
				Text: "er counts events of ranges, and files stay whole: say how they are cut with split.params.records"})
		}
	}
	if p.Records.FirstEvent != nil {
		problems = append(problems, jjm.Problem{Field: "split.params.records.first_event",
			Text: "events are counted within their files, from 0 on: leave it out"})
	}
	return name, p, problems
}

// checkSettings returns a problem for each setting that the splitter does not have.
func checkSettings(s *jjm.Splitting) (problems jjm.Problems) {
	for _, key := range slices.Sorted(maps.Keys(s.Params)) {
		if err := split.CheckSettings(s.By, []string{key}); err != nil {
			problems = append(problems, jjm.Problem{Field: "split.params." + key, Text: err.Error()})
		}
	}
	return problems
}

// checkAttributes returns an error for unknown attributes, and for attributes of a dataset that is not secondary or
// that is the dataset of sequence numbers.
func checkAttributes(d *jjm.DatasetInput) error {
	switch {
	case d.Attributes == "":
		return nil
	case !d.Secondary:
		return errors.New(
			"attributes are for secondary datasets: leave them out, or set secondary = true")
	case stream.IsSequence(d):
		return fmt.Errorf("%s gives one number to each local job: it has no attributes", jjm.SequenceDataset)
	}
	return jedi.CheckAttributes(d.Attributes)
}

// CutFiles returns how the files of a job's datasets are cut. If the job file lists all files, the result contains the
// number of local jobs, and it is a problem if there are too many. Otherwise the number is not known yet, and Jobs is
// 0. The caller must add the files to the work. own and settings are those of SplitOf. lines are the type's commands:
// if they contain {lumis}, one list of sections selects from all files of a part, so files that share sections go into
// different parts.
func (s Site) CutFiles(spec *jjm.Spec, own string, lines Lines, settings func(*split.Params)) (Cutting, jjm.Problems) {
	name, params, problems := SplitOf(spec, own, settings)
	if len(problems) > 0 {
		return Cutting{}, problems
	}
	c := Cutting{Splitter: name, Params: params, Why: []string{"cut by " + name + ", as the type does it"}}
	switch {
	case spec.Split != nil && spec.Split.By != "":
		c.Why[0] = "cut by " + name + ", as the job file says"
	case spec.Split != nil:
		c.Why[0] = "cut by " + name + ", as the type does it, with params of the job file"
	}
	field := "split.params"
	if spec.Split == nil {
		field = "datasets"
	}
	var all bool
	c.Work, all = Inline(spec)
	if c.Work.OneMask = lines.Use("lumis"); !all {
		// Cut an empty list of files with the settings, to find mistakes in the settings.
		if _, problems := s.Cut(Cutting{Splitter: name, Params: params, Work: split.Work{Closed: true}}, field,
			"change its settings"); len(problems) > 0 {
			return Cutting{}, problems
		}
		return c, nil
	}
	counted, problems := s.Cut(c, field, "give each part more, or process fewer files")
	c.Jobs = counted.Jobs
	c.Work.Files, c.Work.Secondary = nil, nil // the caller adds the files
	return c, problems
}

// CutWhole does the same as CutFiles, for a type that works on whole files: it returns a problem for splitters that cut
// a file into ranges of events.
func (s Site) CutWhole(spec *jjm.Spec, own string, settings func(*split.Params)) (Cutting, jjm.Problems) {
	if spec.Split != nil {
		if unit, err := split.Unit(spec.Split.By); err == nil && (unit != jjm.UnitFile || spec.Split.By == split.JEDI) {
			return Cutting{}, jjm.Problems{{Field: "split.by", Text: fmt.Sprintf(
				"%s may cut files into pieces, whose bytes are not known: want a splitter of whole files, such as %s",
				spec.Split.By, own)}}
		}
	}
	return s.CutFiles(spec, own, Lines{}, settings) // whole files need no sections
}

// queueOf returns the limits that the splitter JEDI takes from a queue. Here they are the wall time, disk and cores
// that the job file requests, because the local jobs get exactly these resources.
func queueOf(spec *jjm.Spec) *jedi.Queue {
	r := &spec.Request
	q := &jedi.Queue{Cores: float64(r.Cores), MaxTime: r.Walltime.D().Seconds()}
	if disk := float64(r.ScratchMB); disk > 0 {
		q.MaxDirMB = &disk
	}
	return q
}

// SequenceStream returns the secondary dataset of sequence numbers, which has one number for each local job.
func SequenceStream() split.Stream {
	return split.Stream{Dataset: jjm.Dataset{Name: jjm.SequenceDataset, Closed: true}}
}

// Inline returns the work of a job whose files are all listed in the job file. all is false if the job file does not
// list all files, or if more files may come.
func Inline(spec *jjm.Spec) (w split.Work, all bool) {
	all = true
	for i := range spec.Datasets {
		d := &spec.Datasets[i]
		if stream.IsSequence(d) {
			w.Secondary = append(w.Secondary, SequenceStream())
			continue
		}
		files, named := d.Named()
		all = all && named && !d.Open
		if !d.Secondary {
			w.Files = files
			continue
		}
		w.Secondary = append(w.Secondary, split.Stream{Files: files,
			Dataset: jjm.Dataset{Name: d.Name, Attributes: d.Attributes, Closed: !d.Open}})
	}
	w.Closed, w.Queue = true, queueOf(spec)
	return w, all && len(spec.Datasets) > 0
}
