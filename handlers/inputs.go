package handlers

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
)

// Inputs returns the files for the sandbox of a grid job: the inputs in its job file, the file only_from if the job
// file names one, and the files that the type adds. It returns the error of [Added].
func Inputs(h Handler, spec *jjm.Spec, site Site) ([]jjm.Input, error) {
	inputs := spec.Inputs
	if from := spec.OnlyFrom; from != "" && !slices.ContainsFunc(inputs, func(in jjm.Input) bool {
		return in.Path == from
	}) {
		inputs = append(inputs[:len(inputs):len(inputs)], jjm.Input{Path: from, Name: filepath.Base(from)})
	}
	added, err := Added(h, spec, site)
	if err != nil {
		return nil, err
	}
	return append(inputs[:len(inputs):len(inputs)], added...), nil
}

// Added returns the files that the type adds to the sandbox of a grid job, with their names there. It returns the error
// of the type, or an error of kind Invalid if the type adds a URL with a mistake.
func Added(h Handler, spec *jjm.Spec, site Site) ([]jjm.Input, error) {
	p, ok := h.(Preparer)
	if !ok {
		return nil, nil
	}
	more, err := p.Prepare(spec, site)
	if err != nil {
		return nil, err
	}
	added := slices.Clone(more) // the type may have returned a list that it still uses
	for i := range added {
		in := &added[i]
		if ps := weburl.Check(in); len(ps) > 0 {
			return nil, jjm.Errorf(jjm.Invalid, "an input of the job type: %w", ps.Err())
		}
		switch {
		case in.Name != "":
		case weburl.Is(in.Path):
			in.Name = weburl.Name(in.Path)
		default:
			in.Name = filepath.Base(in.Path)
		}
	}
	return added, nil
}

// Lost returns an error for each input that cannot be packed because open cannot open it. It does not check URLs, which
// are fetched when the grid job is prepared.
func Lost(inputs []jjm.Input, open func(path string) (io.ReadCloser, error)) (errs []error) {
	for _, in := range inputs {
		if weburl.Is(in.Path) {
			continue
		}
		f, err := open(in.Path)
		if err != nil {
			errs = append(errs, fmt.Errorf("input %s cannot be packed: %w", in.Path, err))
			continue
		}
		_ = f.Close()
	}
	return errs
}
