// Package demand holds the translated request of a gatekeeper's job, in a form that does not depend on the gatekeeper:
// the path of a job file, a grid job described by attributes, or a plain job. It converts each form to a
// [gatekeeper.Job]. It also defines how a gatekeeper package lists the words of its language ([Word]). The other
// packages below gatekeeper parse these languages.
package demand

import (
	"encoding/json"
	"path"

	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/plain"
	"jjm/internal/jjm"
)

// Demand is the translated request of a job. Exactly one of JobFile, Spec and Plain is set.
type Demand struct {
	// JobFile is the absolute path of a job file on the gatekeeper's host.
	JobFile string
	// Spec is a grid job described by attributes.
	Spec *jjm.Spec
	// Plain is a plain job: one program.
	Plain *plain.Job
	// Folder is the absolute folder to which the paths in Spec refer.
	Folder string
}

// Job returns the job to submit, without a key and an origin. read reads the job file with the rights of the job's
// user. The error is of kind Invalid if the demand itself is wrong.
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

// Value converts a word to the type that it looks like: a number, true or false, or otherwise text. It is for languages
// in which every setting is a word.
func Value(word string) any {
	switch {
	case word == "true" || word == "false":
		return word == "true"
	case word != "" && (word[0] == '-' || word[0] >= '0' && word[0] <= '9') && json.Valid([]byte(word)):
		return json.Number(word)
	}
	return word
}
