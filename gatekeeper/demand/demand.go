// Package demand holds what the job of any gatekeeper may ask for, however its
// language says so: a job file that lies beside it, a grid job described by
// attributes, or a plain job. It makes of it what the door takes.
package demand

import (
	"encoding/json"
	"path"

	"jjm"
	"jjm/gatekeeper"
	"jjm/gatekeeper/plain"
)

// Demand is what a job asks for: exactly one of JobFile, Spec and Plain is set.
type Demand struct {
	// JobFile is the absolute path of a job file on the gatekeeper's host.
	JobFile string
	// Spec is a grid job that attributes describe.
	Spec *jjm.Spec
	// Plain is a plain job.
	Plain *plain.Job
	// Folder is the absolute folder that the paths of Spec start from.
	Folder string
}

// Job returns what the door takes, without a key and an origin. read reads the job
// file, as the user whose job it is. Errors about what is demanded are of kind
// Invalid.
func (d *Demand) Job(read func(path string) ([]byte, error)) (gatekeeper.Job, error) {
	switch {
	case d.JobFile != "":
		text, err := read(d.JobFile)
		if err != nil {
			return gatekeeper.Job{}, jjm.Errorf(jjm.Invalid, "job file: %w", err)
		}
		return gatekeeper.Job{Name: path.Base(d.JobFile), Text: string(text), BaseDir: path.Dir(d.JobFile)}, nil
	case d.Spec != nil:
		text, err := json.Marshal(d.Spec)
		if err != nil {
			return gatekeeper.Job{}, jjm.Errorf(jjm.Internal, "attributes: %w", err)
		}
		return gatekeeper.Job{Name: "attributes.json", Text: string(text), BaseDir: d.Folder}, nil
	case d.Plain != nil:
		name, text, err := d.Plain.File()
		return gatekeeper.Job{Name: name, Text: text, BaseDir: d.Plain.Folder}, err
	}
	return gatekeeper.Job{}, jjm.Errorf(jjm.Invalid, "the job asks for nothing")
}

// Value returns a word of a setting the type that it looks like, for languages
// that know words only: a number, true or false, else text.
func Value(word string) any {
	switch {
	case word == "true" || word == "false":
		return word == "true"
	case word != "" && (word[0] == '-' || word[0] >= '0' && word[0] <= '9') && json.Valid([]byte(word)):
		return json.Number(word)
	}
	return word
}
