package state

import (
	"jjm"
	"jjm/store"
)

// EachTaker calls back with the datasets that took files of one of a container, and
// which of some files each has.
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

// ErrDry takes back what a dry run did.
var ErrDry = jjm.Errorf(jjm.Conflict, "a dry run")
