package jobfile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"jjm/internal/formats/mailaddress"
	"jjm/internal/formats/nearest"
	"jjm/internal/formats/strict"
	"jjm/internal/jjm"
)

// JIM's job description files have lines "attribute = value" that describe a Monte Carlo of D0 (JIM, section on the job
// description). The driver is beside the file and is sent in the sandbox, because sites have not installed software of
// the experiment.

// D0MonteCarlo is the only job_type of JIM that jjm supports.
const D0MonteCarlo = "dzero_monte_carlo"

// JIMDriver is the program that a Monte Carlo of D0 runs.
const JIMDriver = "mc_runjob"

// maxJDFValue is the maximum length of an attribute's value, in bytes.
const maxJDFValue = 1024

// maxJDFNumber is the largest number, 2^53, which is also exact in a float64.
const maxJDFNumber = 1 << 53

// jimWord is an attribute of JIM.
type jimWord struct {
	name     string
	required bool
	// keys are the keys of a job file that the attribute sets. Most mistakes are reported for the first key.
	keys []string
	// set stores the attribute's value. It returns the mistake in the value, "" if there is no mistake.
	set func(*jdf, string) string
}

// jdf is the content of a job description file.
type jdf struct {
	request, events, instances int64
	env                        map[string]string
	datasets                   []jjm.DatasetInput
	notify                     []string
}

// jimWords returns all attributes in the order of the documentation.
func jimWords() []jimWord {
	whole := func(to func(*jdf) *int64) func(*jdf, string) string {
		return func(j *jdf, s string) string {
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil || n < 1 || n > maxJDFNumber {
				return fmt.Sprintf("%.40q: want a whole number from 1 to %d", s, int64(maxJDFNumber))
			}
			*to(j) = n
			return ""
		}
	}
	variable := func(name string) func(*jdf, string) string {
		return func(j *jdf, s string) string { j.env[name] = s; return "" }
	}
	along := func(attributes string) func(*jdf, string) string {
		return func(j *jdf, s string) string {
			j.datasets = append(j.datasets, jjm.DatasetInput{Name: s, Secondary: true, Attributes: attributes})
			return ""
		}
	}
	return []jimWord{
		{"job_type", true, []string{"type"}, jobTypeOf},
		{"runjob_requestid", true, []string{"params.command"}, whole(func(j *jdf) *int64 { return &j.request })},
		{"runjob_numevts", true, []string{"params.events"}, whole(func(j *jdf) *int64 { return &j.events })},
		{"instances", false, []string{"params.events_per_job"}, whole(func(j *jdf) *int64 { return &j.instances })},
		{"jobfiles_dataset", false, []string{"datasets"}, along("nosplit")},
		{"minbias_dataset", false, []string{"datasets"}, along("repeat")},
		{"station_name", false, []string{"env.SAM_STATION"}, variable("SAM_STATION")},
		{"d0_release_version", false, []string{"env.D0_RELEASE_VERSION"}, variable("D0_RELEASE_VERSION")},
		{"check_consistency", false, []string{"env.CHECK_CONSISTENCY"}, checkConsistency},
		{"+notify_user", false, []string{"env.NOTIFY_USER", "notify"}, notifyUser},
	}
}

// jobTypeOf checks the job type; only D0MonteCarlo is supported.
func jobTypeOf(_ *jdf, s string) string {
	if s == D0MonteCarlo {
		return ""
	}
	const remedy = "for others write a job file of its own (docs/JOB-FILES.md)"
	return fmt.Sprintf("%.40q: jjm knows %s of JIM's job types; %s", s, D0MonteCarlo, remedy)
}

// notifyUser sets the variable for the driver. If the value is a plain mail address, this address also receives a
// notice about the end of the grid job; any other value is only for the driver.
func notifyUser(j *jdf, s string) string {
	j.env["NOTIFY_USER"] = s
	if mailaddress.Check(s) == nil {
		j.notify = []string{s}
	}
	return ""
}

// IsJIM reports whether the text is a job description file of JIM.
func (d Doc) IsJIM() bool { return d.written != nil }

// checkConsistency sets a variable for the driver, which must be true or false.
func checkConsistency(j *jdf, s string) string {
	if s != "true" && s != "false" {
		return fmt.Sprintf("%.40q: want true or false", s)
	}
	j.env["CHECK_CONSISTENCY"] = s
	return ""
}

// decodeJDF converts a job description file to the content of a job file, f. It adds the places of the attributes to
// doc, which has the place of the text. The problems have their places.
func decodeJDF(doc *Doc, text []byte, f *file) jjm.Problems {
	name := doc.Places[""]
	j := jdf{env: map[string]string{}}
	words := map[string]jimWord{}
	for _, w := range jimWords() {
		words[w.name] = w
	}
	var problems jjm.Problems
	lines := map[string]int{}
	for n, line := range strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(problems) > strict.MaxProblems {
			break
		}
		at := fmt.Sprintf("%s:%d", name, n+1)
		p := doc.attribute(&j, line, at, words, lines, n+1)
		if p.Text != "" {
			p.Where = at
			problems = append(problems, p)
		}
	}
	for _, w := range jimWords() {
		if _, given := lines[w.name]; w.required && !given {
			problems = append(problems, jjm.Problem{Field: w.name, Text: "is missing", Where: name})
		}
	}
	if j.instances > j.events && j.events > 0 {
		problems = append(problems, jjm.Problem{Field: "instances", Where: doc.Places["params.events_per_job"],
			Text: fmt.Sprintf("%d are more than the %d events of runjob_numevts: want at most one for each event", j.instances,
				j.events)})
	}
	j.fillFile(f)
	return strict.Limited(problems)
}

// attribute reads the line "attribute = value" with number n, and stores the value in j. at is the place of the line.
// lines has the line number of each attribute so far, to find attributes that are given twice. If the line is correct,
// the problem has no text.
func (d *Doc) attribute(j *jdf, line, at string, words map[string]jimWord, lines map[string]int,
	n int) jjm.Problem {
	name, value, ok := strings.Cut(line, "=")
	name = strings.ToLower(strings.TrimSpace(name))
	if !ok || name == "" {
		return jjm.Problem{Text: fmt.Sprintf("%.60q: want attribute = value", line)}
	}
	w, known := words[name]
	if !known {
		return jjm.Problem{Field: fieldOf(name), Text: unknownWord(name, slices.Sorted(maps.Keys(words)))}
	}
	if first, twice := lines[name]; twice {
		return jjm.Problem{Field: name, Text: fmt.Sprintf("given twice: first in line %d", first)}
	}
	lines[name] = n
	value, wrong := jdfValue(value)
	before := len(j.datasets)
	if wrong == "" {
		wrong = w.set(j, value)
	}
	for _, key := range w.keys {
		if key == "datasets" {
			key = fmt.Sprintf("datasets[%d]", before)
		}
		d.Places[key], d.written[key] = at, name
	}
	return jjm.Problem{Field: name, Text: wrong}
}

// fieldOf returns the name of an unknown attribute if people can read the name, and otherwise "".
func fieldOf(name string) string {
	if len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || !unicode.IsPrint(r) }) {
		return ""
	}
	return name
}

// unknownWord returns the text for an unknown attribute. The text names the known attribute that was probably meant.
func unknownWord(name string, known []string) string {
	text := fmt.Sprintf("unknown attribute %.60q", name)
	if near := nearest.Of(name, known); near != "" {
		return text + fmt.Sprintf(": did you mean %q?", near)
	}
	return text + ": known are " + strings.Join(known, ", ")
}

// jdfValue parses a value, with or without quotes. wrong is the mistake in the value, "" if there is no mistake.
func jdfValue(s string) (value, wrong string) {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, `"`) {
		inner, closed := strings.CutSuffix(s[1:], `"`)
		if !closed || strings.Contains(inner, `"`) {
			return "", fmt.Sprintf("%.60q: want one text in quotes, without quotes in it", s)
		}
		s = inner
	}
	switch {
	case s == "":
		return "", "is empty: give a value, or leave the line out"
	case len(s) > maxJDFValue:
		return "", fmt.Sprintf("%d bytes are too long: at most %d", len(s), maxJDFValue)
	case strings.ContainsAny(s, `"`) || strings.ContainsFunc(s, unicode.IsControl):
		return "", fmt.Sprintf("%.60q: want no quotes and no control characters within a value", s)
	}
	return s, ""
}

// fillFile stores the content of the job description in f, the content of a job file.
func (j *jdf) fillFile(f *file) {
	f.Type, f.Result, f.Env, f.Datasets = "montecarlo", jjm.ResultExit, j.env, j.datasets
	f.Notify = j.notify
	f.Inputs = []jjm.Input{{Path: JIMDriver, Executable: true}}
	f.Params = map[string]any{"events": j.events,
		"command": []any{JIMDriver, strconv.FormatInt(j.request, 10), "{first_event}", "{events}"}}
	if j.instances > 0 && j.events > 0 {
		f.Params["events_per_job"] = (j.events + j.instances - 1) / j.instances
	}
}

// asWritten replaces, in located problems, the keys of a job file by the attributes of JIM that the user wrote.
func (d Doc) asWritten(problems jjm.Problems) jjm.Problems {
	if d.written == nil {
		return problems
	}
	for i := range problems {
		for field := problems[i].Field; field != ""; {
			if word, ok := d.written[field]; ok {
				problems[i].Field = word
				break
			}
			cut := strings.LastIndexAny(field, ".[")
			if cut < 0 {
				break
			}
			field = field[:cut]
		}
	}
	return problems
}
