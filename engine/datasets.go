package engine

import "jjm"

// checkDatasets refuses what would not be carried out.
func checkDatasets(spec *jjm.Spec) jjm.Problems {
	var ps jjm.Problems
	refuse := func(field string) {
		ps = append(ps, jjm.Problem{Field: field, Text: "this daemon does not carry it out yet: leave it out"})
	}
	if len(spec.Datasets) > 0 {
		refuse("datasets")
	}
	if spec.Split != nil {
		refuse("split")
	}
	if spec.OutputDataset != "" {
		refuse("output_dataset")
	}
	return ps
}
