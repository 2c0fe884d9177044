package state

import (
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// EachTaker calls do for each dataset that took files from the dataset id, as datasets of
// grid jobs take those of a container's, with those of lfns that it has.
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

// ErrDryRun is returned inside a change to roll a dry run back; callers do not pass it
// on.
var ErrDryRun = jjm.Errorf(jjm.Conflict, "a dry run")
