package main

import (
	"fmt"
	"strings"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
)

// models shows the models of job files.
type models struct {
	JSON bool   `name:"json" help:"One JSON object per line."`
	Name string `arg:"" optional:"" name:"MODEL" help:"Show its file."`

	place
}

// Help returns the text of --help below the usage.
func (*models) Help() string {
	return "A model is a set of defaults that a job file names by model = \"MODEL\". Job files that name none take the " +
		"model default."
}

// Run carries out jjm models.
func (m *models) Run(c *cli) error {
	a, err := ask(c, m.place, wire.VerbModels(), wire.ModelsRequest{})
	if err != nil {
		return err
	}
	all := a.Models
	if m.Name != "" {
		if all, err = modelOf(all, m.Name); err != nil {
			return err
		}
	}
	switch {
	case m.JSON:
		for _, one := range all {
			if err := c.printJSON(one); err != nil {
				return err
			}
		}
		return nil
	case m.Name != "":
		return c.printModel(all[0])
	}
	return c.modelTable(all)
}

func (c *cli) modelTable(all []wire.Model) error {
	rows := [][]string{{"MODEL", "TYPE", "MISTAKES", "FILE"}}
	for _, m := range all {
		rows = append(rows, []string{plain.Printable(m.Name), orDash(m.Type), fmt.Sprint(len(m.Problems)), orDash(m.File)})
	}
	return c.manual(rows)
}

// modelOf returns a list with the model of a name, or an error that contains the names of all models.
func modelOf(all []wire.Model, name string) ([]wire.Model, error) {
	var names []string
	for _, one := range all {
		if one.Name == name {
			return []wire.Model{one}, nil
		}
		names = append(names, one.Name)
	}
	return nil, usage("unknown model %.40q: this site has %s", name, strings.Join(names, ", "))
}

// printModel prints the file of a model, and the mistakes in it.
func (c *cli) printModel(m wire.Model) error {
	for _, p := range m.Problems {
		c.say("%s", plain.Printable(p))
	}
	if m.File == "" {
		_, err := fmt.Fprintf(c.out, "model %s: it has no file and says nothing\n", plain.Printable(m.Name))
		return err
	}
	_, err := fmt.Fprintf(c.out, "# %s\n%s\n", plain.Printable(m.File),
		plain.PrintableLines(strings.TrimRight(m.Text, "\n")))
	return err
}
