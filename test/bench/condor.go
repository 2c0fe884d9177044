package main

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// condor measures the time of a submission to a real HTCondor until the ids of all local jobs are stored, compared
// with a bare submission on hold. Then it measures the time from the release of the held jobs until the first one
// runs, compared with the same steps by hand.
func (b *bench) condor() error {
	d, err := b.bed("condor", true)
	if errors.Is(err, errNoBed) {
		b.say("  %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	const n = 1000
	var bare, jjms [2][]float64
	for range b.size.rounds {
		for _, one := range []struct {
			measure func() (recorded, error)
			figures *[2][]float64
		}{
			{func() (recorded, error) { return b.bareCluster(d, n) }, &bare},
			{func() (recorded, error) { return b.recorded(d, "condor", n, "") }, &jjms},
		} {
			r, err := one.measure()
			if err != nil {
				return err
			}
			one.figures[0] = append(one.figures[0], ms(r.ids))
			one.figures[1] = append(one.figures[1], ms(r.ran))
		}
	}
	b.beside("condor", fmt.Sprintf("%d local jobs, until all ids are recorded", n), median(jjms[0]), "ms",
		fmt.Sprintf("bare queue %d + 0.5 s", n), median(bare[0])+recordedMore, 1)
	b.beside("condor", fmt.Sprintf("%d local jobs, released, until the first one runs", n), median(jjms[1]), "ms",
		fmt.Sprintf("bare queue %d, condor_release, the same", n), median(bare[1]), 0)
	return nil
}

// bareCluster submits n jobs on hold, releases them, waits until one runs or has run, and removes them.
func (b *bench) bareCluster(d *bed, n int) (r recorded, err error) {
	began := time.Now()
	out, _, err := d.run(b, fmt.Sprintf("executable = /bin/true\nhold = true\nqueue %d\n", n), "condor_submit", "-terse",
		"-")
	r.ids = time.Since(began)
	cluster, _, ok := strings.Cut(out, ".")
	if err != nil || !ok {
		return r, errors.Join(err, fmt.Errorf("condor_submit printed %q", out))
	}
	if _, _, err = d.run(b, "", "condor_release", cluster); err == nil {
		err = until(b.ctx, "a bare job runs", 3*time.Minute, func() (bool, error) {
			out, _, err := d.run(b, "", "condor_q", "-limit", "1", "-constraint", "ClusterId == "+cluster+" && NumJobStarts > 0",
				"-af", "ProcId")
			if err != nil || out != "" {
				return out != "", err
			}
			out, _, err = d.run(b, "", "condor_history", "-match", "1", "-constraint", "ClusterId == "+cluster, "-af", "ProcId")
			return out != "", err
		})
	}
	r.ran = time.Since(began)
	_, _, _ = d.run(b, "", "condor_rm", cluster) // fails if all jobs have already run
	gone := until(b.ctx, "the bare jobs are gone", 3*time.Minute, func() (bool, error) {
		out, _, err := d.run(b, "", "condor_q", "-limit", "1", cluster, "-af", "ProcId")
		return out == "", err
	})
	return r, errors.Join(err, gone)
}
