package answer

import (
	"context"
	"path/filepath"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// mostLost is the number of lost inputs whose names a status has.
const mostLost = 3

// lostInputs finds the inputs of grid jobs that are lost.
type lostInputs struct {
	store *store.Store
	areas *areas.Areas
}

// of returns the lost inputs of a grid job, one entry for each grid job that made some of them and one for the files
// that nobody made. It asks the store only if the counts of the inputs admit lost files.
func (li lostInputs) of(ctx context.Context, job *jjm.GridJob, inputs []wire.Input) (all []wire.LostInputs, err error) {
	some := false
	for _, in := range inputs {
		n := in.Counts
		some = some || in.Master && (n.Finished < n.Files)
	}
	if !some {
		return nil, nil
	}
	at := map[jjm.GridID]int{}
	root := li.areas.RootPath(job.Owner)
	err = li.store.LostInputs(ctx, job.ID, func(f store.LostInput) error {
		i, known := at[f.Maker]
		if !known {
			i = len(all)
			at[f.Maker], all = i, append(all, wire.LostInputs{Dataset: f.Dataset, Maker: f.Maker})
		}
		one := &all[i]
		if one.Count++; f.Owned {
			one.Owned++
		}
		one.Marked = one.Marked || f.Marked
		if len(one.First) == mostLost {
			return nil
		}
		file := wire.LostInput{LFN: f.LFN, Lies: f.LFN}
		if f.Path != "" {
			file.Lies = filepath.Join(root, f.Path)
		}
		one.First = append(one.First, file)
		return nil
	})
	return all, err
}
