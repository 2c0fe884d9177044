package jobfile

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"strings"

	"jjm/internal/formats/strict"
	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
)

// DefaultModel is the name of the model that is used if a job file names no model. It always exists. If it has no file,
// it sets nothing.
const DefaultModel = "default"

// ModelSuffix is the ending of files of models. The rest of the name is the name of the model.
const ModelSuffix = ".toml"

// Model is a named set of defaults for job files (decision R25; GBS Programmer Manual, models).
type Model struct {
	Name string
	// Type is the job type that the model sets, "" if the model sets no type. Params are the model's settings of the type.
	Type   string
	Params map[string]any
	// Text is the text of the model's file, "" if there is no file. Places are the places of the text's keys.
	Text   string
	Places strict.Places
}

// IsModelName reports whether a text can be the name of a model.
func IsModelName(name string) bool { return wordForm.matches(name) }

// ownKeys are the keys that only a job file may set, because they are about one grid job.
func ownKeys() []string {
	return []string{"after", "after_end", "credentials", "datasets", "first_serial", "key", "key_reuse", "model", "name",
		"only", "only_from", "output_dataset", "recovers", "recovers_generation", "recovers_number"}
}

// ParseModel parses the file of a model. It may have all keys of a job file except the keys about one grid job, and no
// key is required. The problems are all mistakes that can be found without knowledge of the job type and the site.
func ParseModel(name string, text []byte) (Model, jjm.Problems) {
	var f file
	places, problems := strict.Decode(name+ModelSuffix, text, &f)
	m := Model{Name: name, Type: f.Type, Params: maps.Clone(f.Params), Text: string(text), Places: places}
	var c checker
	for _, key := range ownKeys() {
		if says(places, key) {
			c.problem(key, "is about one grid job: leave it to job files")
		}
	}
	for i, in := range f.Inputs {
		c.absolute(fmt.Sprintf("inputs[%d].path", i), in.Path)
		c.absolute(fmt.Sprintf("inputs[%d].credential_file", i), in.CredentialFile)
	}
	if f.Callback != nil {
		c.absolute("callback.secret_file", f.Callback.SecretFile)
	}
	f.Type = cmp.Or(f.Type, "any") // a model need not name a job type
	c.problems = append(c.problems, c.problems.Unsaid(check(&f))...)
	return m, places.Locate(append(problems, problems.Unsaid(c.problems)...))
}

// absolute adds a problem for a relative path in a model.
func (c *checker) absolute(field, p string) {
	if p != "" && !path.IsAbs(p) && !weburl.Is(p) {
		c.problem(field, "%.80q is relative, and each job file is in a folder of its own: want an absolute path", p)
	}
}

// says reports whether a text has a key, or a key below this key.
func says(places strict.Places, key string) bool {
	for place := range places {
		if rest, below := strings.CutPrefix(place, key); below && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// under returns a job file in which settings that the job file does not have are taken from a model, and adds the
// places of these settings. A table of the job file replaces the model's table, except that params, env, request and
// retry are merged key by key.
func (m *Model) under(doc *Doc, own file, decode func(*file)) file {
	var f file
	_, _ = strict.Decode(m.Name+ModelSuffix, []byte(m.Text), &f)
	if says(doc.Places, "cluster") || says(doc.Places, "clusters") {
		f.Cluster, f.Clusters = nil, nil
	}
	decode(&f) // decodes the job file a second time, over the model's settings
	f.Model = m.Name
	for key, where := range m.Places {
		if _, given := doc.Places[key]; !given {
			doc.Places[key] = where
		}
	}
	return f
}

// finder returns a model by its name, or the problems that make the model unusable.
type finder = func(name string) (Model, jjm.Problems)

// withModel applies the model that a job file names, or the default model, to the job file. find returns a model, or
// the problems that make the model unusable; find is nil if the site has no models. A recovery that names no model gets
// no model, because it already has all settings.
func withModel(doc *Doc, f file, find finder, decode func(*file)) (file, jjm.Problems) {
	switch {
	case find == nil && f.Model != "":
		return f, jjm.Problems{{Field: "model", Text: "there are no models here"}}
	case find == nil, f.Model == "" && f.Recovers != 0:
		return f, nil
	}
	name := cmp.Or(f.Model, DefaultModel)
	m, problems := find(name)
	if len(problems) > 0 && problems[0].Field == "model" && problems[0].Where == "" {
		return f, problems
	}
	if len(problems) > 0 {
		return f, append(jjm.Problems{{Field: "model", Text: fmt.Sprintf(
			"the model %s cannot be used before its administrator has mended it", name)}}, problems...)
	}
	if m.Text == "" {
		return f, nil
	}
	return m.under(doc, f, decode), nil
}
