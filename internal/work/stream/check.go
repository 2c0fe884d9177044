package stream

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"jjm/internal/jjm"
)

// The limits of streams in a job file. JEDI's stream names have at most 20 characters. A JSON number represents
// integers up to 10^15 exactly, and real serial numbers are far smaller.
const (
	maxTemplates = 100
	maxStream    = 20
	maxSerial    = 1_000_000_000_000_000
	maxSource    = 1000 // the largest length of a path, in bytes
)

// reserved returns JEDI's own placeholders, which are not allowed as names of streams.
func reserved() []string {
	return []string{"SN", "RNDMSEED", "SEQNUMBER", "SKIPEVENTS", "MAXEVENTS", "FIRSTEVENT"}
}

// checker collects the problems of a job file.
type checker struct {
	problems jjm.Problems
	streams  map[string]string // by name: the field in which the name occurred first
}

func (c *checker) problem(field, format string, args ...any) {
	c.problems = append(c.problems, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

// Check returns the problems of the streams and output templates of a job file.
func Check(spec *jjm.Spec) jjm.Problems {
	c := checker{streams: map[string]string{}}
	for i := range spec.Datasets {
		c.dataset(fmt.Sprintf("datasets[%d]", i), &spec.Datasets[i])
	}
	if n := len(spec.OutputTemplates); n > maxTemplates {
		c.problem("output_templates", "%d are too many: at most %d", n, maxTemplates)
		return c.problems
	}
	sources := map[string]string{}
	for i := range spec.OutputTemplates {
		c.template(field(i), &spec.OutputTemplates[i], sources)
	}
	if m := spec.Merge; m != nil && IsTemplate(m.Output) {
		c.name(mergeField, m.Output)
	}
	c.collisions(spec)
	return c.problems
}

// dataset checks the stream of an input dataset.
func (c *checker) dataset(field string, d *jjm.DatasetInput) {
	c.stream(field+".stream", d.Stream, IsSequence(d))
	if !IsSequence(d) {
		return
	}
	for key, given := range map[string]bool{"files": d.Files != nil, "from": d.From != "", "watch": d.Watch != "",
		"program": d.Program != nil, "container": d.Container != "", "open": d.Open} {
		if given {
			c.problem(field+"."+key, "%s is one number for each local job and has no files: leave it out", jjm.SequenceDataset)
		}
	}
}

// stream checks the name of a stream; "" is valid. A sequence of numbers may also have the name that JEDI uses for a
// sequence.
func (c *checker) stream(field, name string, sequence bool) {
	if name == "" {
		return
	}
	for i, r := range name {
		if !(r >= 'A' && r <= 'Z' || i > 0 && (r >= '0' && r <= '9' || r == '_')) || len(name) > maxStream {
			c.problem(field, "%.40q: want 1 to %d of A-Z 0-9 _ and a letter in front, such as EVNT", name, maxStream)
			return
		}
	}
	for _, w := range reserved() {
		if name == w && !(sequence && w == "SEQNUMBER") {
			c.problem(field, "%s has another meaning in commands: choose another name", name)
			return
		}
	}
	if first, twice := c.streams[name]; twice {
		c.problem(field, "%s is already the stream of %s: choose another name", name, first)
		return
	}
	c.streams[name] = strings.TrimSuffix(field, ".stream")
}

// template checks one template without the other templates; collisions compares all templates.
func (c *checker) template(field string, t *jjm.OutputTemplate, sources map[string]string) {
	c.name(field+".name", t.Name)
	c.stream(field+".stream", t.Stream, false)
	if t.MaxSerial < 0 || t.MaxSerial > maxSerial {
		c.problem(field+".max_serial", "%d is out of range: want 1 to %d", t.MaxSerial, int64(maxSerial))
	}
	if t.Source != "" {
		c.source(field+".source", t.Source)
		if first, twice := sources[path.Clean(t.Source)]; twice {
			c.problem(field+".source", "%.80q is already the source of %s: a file can have only one name", t.Source, first)
		}
		sources[path.Clean(t.Source)] = field
	}
	switch {
	case t.Log && t.Source != "":
		c.problem(field+".source", "means nothing with log: the log is what jjm keeps of the job's own output")
	case t.Log && t.Required:
		c.problem(field+".required", "means nothing with log: jjm makes the log")
	case t.Log && t.Optional:
		c.problem(field+".optional", "means nothing with log: jjm makes the log")
	case t.Required && t.Optional:
		c.problem(field+".optional", "it is required, too: say one of them")
	case !t.Log && t.Source == "" && t.Stream == "":
		c.problem(field, "the application would not know the name: say with source which file it writes, or give a stream "+
			"and put {STREAM} into the command")
	}
}

// name checks the text of a template.
func (c *checker) name(field, name string) {
	t, err := Parse(name)
	if err != nil {
		c.problem(field, "%v", err)
	} else if !t.Numbered() {
		c.problem(field, "%.80q: all local jobs would make a file of this name: put ${SN}, the number of the local job, in",
			name)
	}
}

// source checks the path of a file that the application writes.
func (c *checker) source(field, source string) {
	clean := path.Clean(source)
	switch {
	case len(source) > maxSource:
		c.problem(field, "%d bytes are too long: at most %d", len(source), maxSource)
	case path.IsAbs(source) || !filepath.IsLocal(clean) || clean == ".":
		c.problem(field, "%.80q: want a file below the job's directory", source)
	case strings.ContainsAny(source, "*?[\\\n\r\x00"):
		c.problem(field, "%.80q: want the name of one file, without wildcards", source)
	}
}

// nameField returns the field that contains the template's text.
func nameField(o *Output) string {
	if o.Field == mergeField {
		return o.Field
	}
	return o.Field + ".name"
}

// collisions reports templates that may produce the same name for two files.
func (c *checker) collisions(spec *jjm.Spec) {
	logs := ""
	all := append(Outputs(spec, jjm.StepWork), Outputs(spec, jjm.StepMerge)...)
	for i := range all {
		if all[i].Log && logs != "" {
			c.problem(all[i].Field+".log", "%s is already the log: a local job has only one", logs)
		} else if all[i].Log {
			logs = all[i].Field
		}
		if meet(all[i].name.tokens(), plain(Stem(spec))) {
			c.problem(nameField(&all[i]), "%.80q: the other collected files have names such as %s.17.3.stdout: begin the "+
				"name otherwise", all[i].Name, Stem(spec))
		}
		for j := range i {
			if Meet(all[i].name, all[j].name) {
				c.problem(nameField(&all[i]), "%.80q may name the same file as %.80q (%s): let them differ in more than "+
					"their numbers", all[i].Name, all[j].Name, all[j].Field)
			}
		}
	}
}
