package slurm

import (
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// receipt returns a receipt or an error from the output of an sbatch for n jobs. It returns a receipt only if the
// controller printed the job's id. The error is of a kind other than Ambiguous only if the message contains a text of
// [refusals] that proves that no job exists, or if sbatch could not parse its options.
func receipt(out run.Output, n int) (adapters.Receipt, error) {
	text := strings.Join(strings.Fields(string(out.Stderr)), " ")
	if out.Exit == 0 {
		// A line without a newline may have been cut.
		line, rest, whole := strings.Cut(string(out.Stdout), "\n")
		id, _, _ := strings.Cut(line, ";") // "42;cluster" in a federation
		if !digits(id) || rest != "" || !whole {
			return adapters.Receipt{}, jjm.Errorf(jjm.Ambiguous, "sbatch: it printed no job id but %.200q (%s)",
				out.Stdout, adapters.Brief(out.Stderr))
		}
		return adapters.Receipt{ID: id}, nil
	}
	failed := func(kind jjm.Kind) error {
		return jjm.Errorf(kind, "sbatch: exit %d: %s", out.Exit, adapters.Brief(out.Stderr))
	}
	_, known := find(text)
	switch {
	case out.Signal != 0:
		return adapters.Receipt{}, failed(jjm.Ambiguous)
	case !known && out.Exit == 255 && !strings.Contains(text, "submission failed"):
		return adapters.Receipt{}, failed(jjm.Invalid) // sbatch(1): sbatch could not parse its options
	}
	return adapters.Receipt{}, marked(text, n, failed)
}
