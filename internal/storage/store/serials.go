package store

import (
	"context"
	"encoding/json"

	"jjm/internal/jjm"
	"jjm/internal/work/stream"
)

// insertTemplates stores the counters of a new grid job's output templates.
func (tx *Tx) insertTemplates(g *jjm.GridJob) error {
	for _, step := range [...]int32{jjm.StepWork, jjm.StepMerge} {
		for n, o := range stream.Outputs(&g.Spec, step) {
			_, err := tx.exec("INSERT INTO output_templates (grid, step, n, last, most) VALUES (?, ?, ?, ?, ?)",
				args{}.int(int64(g.ID)).int(int64(step)).int(int64(n)).int(stream.First(&g.Spec)-1).int(o.MaxSerial))
			if err != nil {
				return tx.fail(err, "insert a grid job with output template %.100q", o.Name)
			}
		}
	}
	return nil
}

// counter holds the last serial number of an output template, and most, the largest number that the template may use; 0
// means no bound.
type counter struct{ last, most int64 }

// counters returns the counters of a step, in the order of its templates.
func counters(ctx context.Context, c *conn, id jjm.GridID, step int32) (all []counter, err error) {
	if c == nil {
		return nil, errOver()
	}
	err = c.query(ctx, "SELECT last, most FROM output_templates WHERE grid = ? AND step = ? ORDER BY n",
		stepArgs(id, int(step)), func(r row) error {
			all = append(all, counter{r.int(0), r.int(1)})
			return nil
		})
	return all, err
}

// SerialsLeft returns how many serial numbers each output template of a step can still use; -1 means no bound.
func (tx *Tx) SerialsLeft(id jjm.GridID, step int32) ([]int64, error) {
	all, err := counters(tx.ctx, tx.c, id, step)
	if err != nil {
		return nil, tx.fail(err, "read the counters of grid job %d", id)
	}
	return leftOf(all), nil
}

// SerialsLeft is [Tx.SerialsLeft] outside a transaction.
func (s *Store) SerialsLeft(ctx context.Context, id jjm.GridID, step int32) (left []int64, err error) {
	err = s.view(ctx, func(c *conn) error {
		all, err := counters(ctx, c, id, step)
		left = leftOf(all)
		return err
	})
	if err != nil {
		return nil, s.fail(err, "read the counters of grid job %d", id)
	}
	return left, nil
}

func leftOf(all []counter) []int64 {
	left := make([]int64, len(all))
	for i, c := range all {
		if left[i] = -1; c.most > 0 {
			left[i] = c.most - c.last
		}
	}
	return left
}

// numberOutputs sets the serial numbers of new local jobs.
func (tx *Tx) numberOutputs(ls []jjm.LocalJob) error {
	known := map[gridStep][]counter{}
	for i := range ls {
		l := &ls[i]
		at := gridStep{l.ID.Grid, int64(l.Step)}
		all, ok := known[at]
		if !ok {
			var err error
			if all, err = counters(tx.ctx, tx.c, l.ID.Grid, l.Step); err != nil {
				return err
			}
			known[at] = all
		}
		l.Part.Serials = nil
		for n := range all {
			if all[n].last++; all[n].most > 0 && all[n].last > all[n].most {
				return jjm.Errorf(jjm.Invalid, "local job %s: the numbers of output template %d end with %d", l.ID, n,
					all[n].most)
			}
			l.Part.Serials = append(l.Part.Serials, all[n].last)
		}
	}
	return nil
}

// serialsText returns serial numbers as JSON, "" for an empty list.
func serialsText(serials []int64) string {
	if len(serials) == 0 {
		return ""
	}
	return encoded(&serials)
}

// scanSerials parses the result of serialsText into the part of a local job.
func scanSerials(text string, l *jjm.LocalJob) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &l.Part.Serials); err != nil {
		return jjm.Errorf(jjm.Internal, "local job %s: column serials: %w", l.ID, err)
	}
	return nil
}

// LocalWithSerial returns the number of the local job of a step that has the serial number of an output template. The
// error is of kind Gone if there is no such local job.
func (s *Store) LocalWithSerial(ctx context.Context, id jjm.GridID, step int32, template int, serial int64) (int32,
	error) {
	found := int32(-1)
	a := stepArgs(id, int(step)).int(int64(template)).int(serial)
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT n FROM (SELECT grid, n, step, serials FROM local_jobs UNION ALL
			SELECT grid, n, step, serials FROM history_local_jobs)
			WHERE grid = ?1 AND step = ?2 AND json_extract(serials, '$[' || ?3 || ']') = ?4`, a, func(r row) error {
			found = int32(r.int(0))
			return nil
		})
	})
	if err != nil {
		return 0, s.fail(err, "find number %d of output template %d of grid job %d", serial, template, id)
	}
	if found < 0 {
		return 0, jjm.Errorf(jjm.Gone, "grid job %d: no local job has number %d of output template %d", id, serial, template)
	}
	return found, nil
}
