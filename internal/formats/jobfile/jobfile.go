// Package jobfile parses job files: the TOML or JSON texts in which people and gatekeepers describe grid jobs, and the
// job description files of JIM (jdf.go). It does no I/O.
//
// A job file has the keys of [jjm.Spec] by their JSON names, and below params the settings of the job type;
// docs/JOB-FILES.md lists all keys. Parse reports every mistake that can be found without knowledge of the job type and
// the site, each with its place. The job type finds mistakes in params; [Doc.Locate] adds their places.
package jobfile

import (
	"strings"

	"jjm/internal/formats/strict"
	"jjm/internal/jjm"
)

// Doc is a parsed job file.
type Doc struct {
	// Spec is the description with defaults filled in: Name is the type, Mode is
	// Production, and inputs have names.
	Spec jjm.Spec
	// Places maps dotted keys, such as "params.events", to places, such as "job.toml:12".
	Places strict.Places
	// Incomplete is set if the model of the job file cannot be used. The problems have the reason, and there may be
	// further mistakes that were not found.
	Incomplete bool
	// written maps keys to the attributes of JIM from which the keys were set; nil for texts that are not JIM's.
	written map[string]string
}

// file is the content of a job file: a Spec, and cluster for a single cluster. A zero value that means "not given" in a
// Spec must not be written in a file.
type file struct {
	jjm.Spec
	Cluster  *string `json:"cluster"`
	Clusters texts   `json:"clusters"`
	Request  request `json:"request"`
}

type request struct {
	Cores      *int          `json:"cores"`
	MemoryMB   *int64        `json:"memory_mb"`
	Walltime   *jjm.Duration `json:"walltime"`
	CPUTime    *jjm.Duration `json:"cpu_time"`
	Queue      *string       `json:"queue"`
	GPUs       *int          `json:"gpus"`
	ScratchMB  *int64        `json:"scratch_mb"`
	Account    *string       `json:"account"`
	Project    *string       `json:"project"`
	QOS        *string       `json:"qos"`
	Directives texts         `json:"directives"`
}

// texts is a list of texts. A list with one text may be written as the text itself.
type texts []string

// UnmarshalText reads a single text.
func (t *texts) UnmarshalText(b []byte) error {
	*t = texts{string(b)}
	return nil
}

// The modes of a job. In Test mode an application must not touch production areas (GBS
// Programmer Manual, user variables).
const (
	ModeProduction = "Production"
	ModeTest       = "Test"
)

// Parse parses a job file. The name appears in the places of problems. If the name ends in ".jdf", the text is in the
// form of JIM. If the name ends in ".json", or the text starts with "{", the text is JSON, and otherwise TOML. A text
// of more than 4 MiB is refused. If there are problems, the Spec is only useful to find more problems: see
// [jjm.Problems.Unsaid].
func Parse(name string, text []byte) (Doc, jjm.Problems) { return ParseGiven(name, text, Given{}) }

// Given holds the values that a submission sets beside its job file. A value that is not zero replaces the value in the
// job file.
type Given struct {
	Key      string
	After    []jjm.GridID
	AfterEnd string
	// KeepGoing replaces keep_going, unless it is nil.
	KeepGoing *bool
	// Model returns a model, or the problems that make the model unusable. Model is nil if there are no models.
	Model func(name string) (Model, jjm.Problems)
}

// put replaces values of a file by the given values.
func (g Given) put(f *file) {
	if g.Key != "" {
		f.Key = g.Key
	}
	if len(g.After) > 0 {
		f.After, f.AfterEnd = g.After, g.AfterEnd
	}
	if g.KeepGoing != nil {
		f.KeepGoing = *g.KeepGoing
	}
}

// ParseGiven parses a job file like Parse, and replaces values by the values that the submission sets.
func ParseGiven(name string, text []byte, given Given) (Doc, jjm.Problems) {
	var f file
	doc, problems := decode(name, text, &f)
	f, wrong := withModel(&doc, f, given.Model, func(f *file) { _, _ = decode(name, text, f) })
	if len(wrong) > 0 {
		doc.Spec, doc.Incomplete = f.Spec, true
		return doc, doc.Locate(append(problems, wrong...))
	}
	given.put(&f)
	for i := range problems {
		p := problems[i]
		if doc.written == nil && strings.HasPrefix(p.Text, "unknown key") && !strings.HasSuffix(p.Text, "?") &&
			!strings.ContainsAny(p.Field, ".[") {
			problems[i].Text += " (settings of the job type belong below [params])"
		}
	}
	found := check(&f)
	doc.Spec = f.Spec
	return doc, doc.Locate(append(problems, problems.Unsaid(found)...))
}

// decode decodes a text into f. Keys that the text does not have keep their present values.
func decode(name string, text []byte, f *file) (doc Doc, problems jjm.Problems) {
	if strings.HasSuffix(name, ".jdf") {
		doc = Doc{written: map[string]string{}}
		if doc.Places, problems = strict.Begin(name, text); problems == nil {
			problems = decodeJDF(&doc, text, f)
		}
		return doc, problems
	}
	doc.Places, problems = strict.Decode(name, text, f)
	return doc, problems
}

// Locate adds places to problems that a job type or a site found in the Spec, and returns the problems in the order of
// the file.
func (d Doc) Locate(problems jjm.Problems) jjm.Problems {
	if _, single := d.Places["cluster"]; single {
		for i := range problems {
			if problems[i].Field == "clusters" {
				problems[i].Field = "cluster" // the key that the job file has
			}
		}
	}
	return d.asWritten(d.Places.Locate(problems))
}
