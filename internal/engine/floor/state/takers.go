package state

import (
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// EachTaker calls do for each dataset that took files from the dataset id and contains some of the files lfns; do gets
// that dataset and these files. A dataset takes files if its grid job reads a container: the dataset of the grid job
// then takes its files from the datasets of the container. EachTaker stops at the first error and returns it.
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

// ErrDryRun is returned by the decide function of a dry run, so that the change is rolled back. The caller of Change
// must not pass it on as an error.
var ErrDryRun = jjm.Errorf(jjm.Conflict, "a dry run")
