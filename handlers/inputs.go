package handlers

import (
	"path/filepath"
	"slices"

	"jjm"
)

// Inputs are what the sandbox of a grid job holds: the inputs of its job file, the list
// of ranges that it names, and those that the type adds.
func Inputs(h Handler, spec *jjm.Spec, site Site) ([]jjm.Input, error) {
	inputs := spec.Inputs
	if from := spec.OnlyFrom; from != "" && !slices.ContainsFunc(inputs, func(in jjm.Input) bool {
		return in.Path == from
	}) {
		inputs = append(inputs[:len(inputs):len(inputs)], jjm.Input{Path: from, Name: filepath.Base(from)})
	}
	p, ok := h.(Preparer)
	if !ok {
		return inputs, nil
	}
	more, err := p.Prepare(spec, site)
	if err != nil {
		return nil, err
	}
	return append(inputs[:len(inputs):len(inputs)], more...), nil
}
