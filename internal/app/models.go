package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"jjm/handlers"
	"jjm/internal/api/wire"
	"jjm/internal/formats/jobfile"
	"jjm/internal/formats/nearest"
	"jjm/internal/formats/strict"
	"jjm/internal/jjm"
)

// ownModels is the name of the default folder of models, below the state folder.
const ownModels = "models.d"

// maxModel is the largest size of the file of a model, in bytes.
const maxModel = 1 << 20

// Model reads a model from the folder of models. A model is a file with default settings for job files. The default
// model exists even without a file. The problems are the reasons why the model cannot be used: its name is unknown,
// other accounts can change its file, or the file has mistakes.
func (c *Config) Model(name string) (jobfile.Model, jjm.Problems) {
	path := filepath.Join(c.Models, name+jobfile.ModelSuffix)
	text, err := []byte(nil), fs.ErrNotExist
	if jobfile.IsModelName(name) {
		text, err = readModel(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && name == jobfile.DefaultModel:
		return jobfile.Model{Name: name}, nil
	case errors.Is(err, fs.ErrNotExist):
		return jobfile.Model{}, jjm.Problems{{Field: "model", Text: c.unknownModel(name)}}
	case err != nil:
		return jobfile.Model{Name: name}, jjm.Problems{{Field: "model", Text: err.Error()}}
	}
	by := holdersOf(c.Models, os.Geteuid())
	unsafe := unheld("models", path, by)
	if len(unsafe) > 0 {
		return jobfile.Model{Name: name}, unsafe
	}
	return jobfile.ParseModel(name, text)
}

// unknownModel returns the error text for a model that does not exist. The text lists all models.
func (c *Config) unknownModel(name string) string {
	known := c.modelNames()
	text := fmt.Sprintf("unknown model %.70q", name)
	if near := nearest.Of(name, known); near != "" {
		text += fmt.Sprintf(": did you mean %q?", near)
	}
	return fmt.Sprintf("%s; %s has %s", text, c.Models, strings.Join(known, ", "))
}

// readModel reads the file of a model, which must be a regular file.
func readModel(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxModel {
		return nil, fmt.Errorf("%s: want a regular file of at most %d bytes", path, maxModel)
	}
	return os.ReadFile(path)
}

// modelNames returns the names of the models, the default model first.
func (c *Config) modelNames() []string {
	names := []string{jobfile.DefaultModel}
	entries, _ := os.ReadDir(c.Models)
	for _, e := range entries {
		name, toml := strings.CutSuffix(e.Name(), jobfile.ModelSuffix)
		if toml && e.Name()[0] != '.' && name != jobfile.DefaultModel {
			names = append(names, name)
		}
	}
	return names
}

// CheckModels returns the problems of the files of models. Job files cannot use models with problems; the problems have
// no other effect. types are the job types of the site.
func (c *Config) CheckModels(types handlers.Registry) (problems jjm.Problems) {
	for _, name := range c.modelNames() {
		m, wrong := c.Model(name)
		for _, p := range append(wrong, m.Places.Locate(wrong.Unsaid(checkParams(&m, types)))...) {
			if !slices.Contains(problems, p) { // a mistake of the folder would be reported for each of its files
				problems = append(problems, p)
			}
		}
	}
	return problems
}

// checkParams returns a problem for each setting in a model that the model's job type does not have.
func checkParams(m *jobfile.Model, types handlers.Registry) (problems jjm.Problems) {
	if m.Type == "" {
		return nil
	}
	h, err := types.Get(m.Type)
	if err != nil {
		return jjm.Problems{{Field: "type", Text: err.Error()}}
	}
	if len(handlers.Learn(h)) > 0 {
		return nil // another check reports that the program does not answer
	}
	var known []string
	for _, p := range h.Describe().Params {
		name, _, _ := strings.Cut(p.Name, ".")
		known = append(known, strings.TrimSuffix(name, "[]"))
	}
	for key := range m.Params {
		if slices.Contains(known, key) {
			continue
		}
		problems = append(problems, jjm.Problem{Field: "params." + key, Text: strict.Unknown(key, known)})
	}
	return problems
}

// shownModels returns all models with their problems, as the verb "models" of the socket shows them.
func (c *Config) shownModels(types handlers.Registry) (all []wire.Model) {
	for _, name := range c.modelNames() {
		m, wrong := c.Model(name)
		shown := wire.Model{Name: name, Type: m.Type, Text: m.Text}
		if path := filepath.Join(c.Models, name+jobfile.ModelSuffix); m.Text != "" || len(wrong) > 0 {
			shown.File = path
		}
		for _, p := range append(wrong, m.Places.Locate(wrong.Unsaid(checkParams(&m, types)))...) {
			shown.Problems = append(shown.Problems, p.String())
		}
		all = append(all, shown)
	}
	return all
}
