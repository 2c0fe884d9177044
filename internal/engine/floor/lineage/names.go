package lineage

import (
	"context"
	"strconv"
	"strings"

	"jjm/internal/engine/floor/outputs"
	"jjm/internal/jjm"
	"jjm/internal/work/stream"
)

// NumberOf returns the number of the local job to which a file in a grid job's tar belongs, derived from the file's
// name. The error is of kind Gone if no output can have the name. The caller must check whether the local job produced
// the file.
func (ln *Lineage) NumberOf(ctx context.Context, job *jjm.GridJob, name string) (int32, error) {
	for _, step := range [...]int32{jjm.StepWork, jjm.StepMerge} {
		if template, serial, ok := stream.Made(&job.Spec, step, name); ok {
			return ln.b.Store.LocalWithSerial(ctx, job.ID, step, template, serial)
		}
	}
	rest, ok := strings.CutPrefix(name, outputs.Stem(job)+"."+job.ID.String()+".")
	number, _, dot := strings.Cut(rest, ".")
	n, err := strconv.ParseInt(number, 10, 32)
	if !ok || !dot || err != nil {
		return 0, jjm.Errorf(jjm.Gone, "it is no name of an output")
	}
	return int32(n), nil
}
