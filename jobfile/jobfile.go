// Package jobfile reads job files: the TOML or JSON texts in which people and
// gatekeepers describe grid jobs. It is pure.
//
// A job file holds the keys of [jjm.Spec] by their JSON names, with the job
// type's own settings below params; docs/JOB-FILES.md lists them all. Parse
// reports every mistake that can be seen without knowing the job type or the
// site, each with its place. Mistakes in params are the job type's to find;
// [Doc.Locate] adds the places to them.
package jobfile

import (
	"path"
	"strings"

	"jjm"
	"jjm/internal/strict"
)

// Doc is a job file that was read.
type Doc struct {
	// Spec is the description after defaults: Name is the type, Mode is
	// Production, and inputs have names.
	Spec jjm.Spec
	// Places maps dotted keys, such as "params.events", to places, such as
	// "job.toml:12".
	Places strict.Places
}

// file is what a job file may hold: a Spec, and cluster for one cluster. Where
// zero means "not given" in a Spec, a file must not say it.
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

// texts is a list of texts; one alone need not stand in a list.
type texts []string

// UnmarshalText takes one text.
func (t *texts) UnmarshalText(b []byte) error {
	*t = texts{string(b)}
	return nil
}

// The modes of a job: in Test mode an application must not touch production
// areas (GBS Programmer Manual, user variables).
const (
	ModeProduction = "Production"
	ModeTest       = "Test"
)

// Parse reads a job file. The name appears in the places of problems; when it
// ends in ".json", or the text starts with "{", the text is JSON, else TOML.
// A text of more than 4 MiB is refused. When there are problems, the Spec is
// only good for finding more of them: see [jjm.Problems.Unsaid].
func Parse(name string, text []byte) (Doc, jjm.Problems) { return ParseKeyed(name, text, "") }

// ParseKeyed is Parse for a job file that comes with a request key beside it,
// which outranks the file's own; "" is none.
func ParseKeyed(name string, text []byte, key string) (Doc, jjm.Problems) {
	var f file
	places, problems := strict.Decode(name, text, &f)
	if key != "" {
		f.Key = key
	}
	doc := Doc{Places: places}
	for i := range problems {
		p := problems[i]
		if strings.HasPrefix(p.Text, "unknown key") && !strings.HasSuffix(p.Text, "?") &&
			!strings.ContainsAny(p.Field, ".[") {
			problems[i].Text += " (settings of the job type stand below [params])"
		}
	}
	found := check(&f)
	doc.Spec = f.Spec
	return doc, doc.Locate(append(problems, problems.Unsaid(found)...))
}

// Locate returns problems that were found in the Spec, by a job type or a site,
// with their places, in the order of the file.
func (d Doc) Locate(problems jjm.Problems) jjm.Problems {
	if _, single := d.Places["cluster"]; single {
		for i := range problems {
			if problems[i].Field == "clusters" {
				problems[i].Field = "cluster" // as it was written
			}
		}
	}
	return d.Places.Locate(problems)
}

// defaults fills what a job file may leave out.
func defaults(f *file) {
	f.Spec.Clusters = f.Clusters
	if f.Cluster != nil {
		f.Spec.Clusters = []string{*f.Cluster}
	}
	if f.Name == "" {
		f.Name = f.Type
	}
	if f.Mode == "" {
		f.Mode = ModeProduction
	}
	for i := range f.Inputs {
		in := &f.Inputs[i]
		if in.Name == "" && in.Path != "" {
			in.Name = path.Base(in.Path)
		}
		in.SHA256 = strings.ToLower(in.SHA256)
	}
}
