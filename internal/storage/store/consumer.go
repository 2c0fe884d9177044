package store

import "jjm/internal/jjm"

// EndedConsumers returns the ended grid jobs that were to begin after a grid job, or that read a dataset with its
// outputs, in ascending order. A dataset that took files from such a dataset counts too. Removed grid jobs are left
// out.
func (tx *Tx) EndedConsumers(producer jjm.GridID) (all []jjm.GridJob, err error) {
	if tx.c == nil {
		return nil, tx.fail(errOver(), "find the consumers of grid job %s", producer)
	}
	// A grid job can only be told to begin after an older one. instr spares most rows the reading of their JSON.
	err = tx.c.query(tx.ctx, "SELECT "+gridColumns+` FROM grid_jobs WHERE id > ?1 AND status IN `+overGrids+`
			AND (instr(spec, '"after":') > 0 AND EXISTS (SELECT 1 FROM json_each(spec, '$.after') WHERE value = ?1)
				OR id IN (SELECT grid FROM inputs WHERE dataset IN (SELECT id FROM datasets WHERE maker = ?1
					UNION SELECT x.dataset FROM expansions AS x JOIN datasets AS d ON d.id = x.member WHERE d.maker = ?1)))
			AND NOT EXISTS (SELECT 1 FROM removals WHERE grid = grid_jobs.id) ORDER BY id`, args{}.int(int64(producer)),
		func(r row) error {
			g, err := scanGrid(r)
			all = append(all, g)
			return err
		})
	if err != nil {
		return nil, tx.fail(err, "find the consumers of grid job %s", producer)
	}
	return all, nil
}

// Warn stores the warnings of a grid job, whose end stays as it is.
func (tx *Tx) Warn(id jjm.GridID, all []jjm.Warning) error {
	err := tx.change("UPDATE grid_jobs SET warnings = ? WHERE id = ?",
		args{}.text(listed(all)).int(int64(id)), unknownGrid(id))
	if err != nil {
		return tx.fail(err, "warn of grid job %s", id)
	}
	return nil
}
