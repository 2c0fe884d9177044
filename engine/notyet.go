package engine

import (
	"fmt"

	"jjm"
)

// notYet refuses what job files can say and this engine does not carry out, so
// that nothing of a job file is passed over in silence.
func notYet(spec *jjm.Spec) jjm.Problems {
	var ps jjm.Problems
	bad := func(field string) {
		ps = append(ps, jjm.Problem{Field: field, Text: fmt.Sprintf("this version reads %s in job files, and does not process datasets yet: see jjm split --preview", field)})
	}
	if len(spec.Datasets) > 0 {
		bad("datasets")
	}
	if spec.OutputDataset != "" {
		bad("output_dataset")
	}
	return ps
}
