package state

import (
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// EachTaker calls do for each dataset that took files from the dataset id and has some of
// lfns, with these lfns. The dataset of a grid job that reads a container takes files from
// the datasets of the container.
func EachTaker(c *Change, id store.DatasetID, lfns []string, do func(taker store.Dataset, lfns []string) error) error {
	takers, err := c.Tx.TakenBy(id)
	if err != nil {
		return err
	}
	for _, taker := range takers {
		var has []string
		for _, lfn := range lfns {
			there, err := c.Tx.HasFile(taker.ID, lfn)
			if err != nil {
				return err
			}
			if there {
				has = append(has, lfn)
			}
		}
		if len(has) == 0 {
			continue
		}
		if err := do(taker, has); err != nil {
			return err
		}
	}
	return nil
}

// ErrDryRun is returned inside a change to roll a dry run back. The caller of Change does
// not return it.
var ErrDryRun = jjm.Errorf(jjm.Conflict, "a dry run")
