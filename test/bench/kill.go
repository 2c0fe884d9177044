package main

import (
	"errors"
	"fmt"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// The targets for killing a grid job whose local jobs wait in the embedded batch system. killBeside and killMS limit
// the time until all local jobs are judged and the tar is complete: compared with the time to make and submit them, and
// in milliseconds. killAnswer limits the time of the answer, in milliseconds.
const (
	killBeside = 1
	killMS     = 30_000
	killAnswer = 5000
)

// kill measures the kill of a grid job with many local jobs that wait behind one running local job.
func (b *bench) kill() (err error) {
	d, err := b.startDaemonAs(b.dir, fmt.Sprintf("log = \"warn\"\n[engine]\nmax_pending = %d\n[[cluster]]\n"+
		"name = \"local\"\nkind = \"local\"\nslots = 1\n", 2*b.size.live), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	began := time.Now()
	ref, err := b.submitWaiting(d)
	if err != nil {
		return err
	}
	made := time.Since(began)
	began = time.Now()
	a, err := client.Call(b.ctx, &d.client, wire.VerbKill(), wire.KillRequest{Many: wire.Refs(ref)})
	if err != nil {
		return err
	}
	if e := a.Kill[0].Error.Err(); e != nil {
		return e
	}
	answered := time.Since(began)
	err = until(b.ctx, "the grid job is aborted", 30*time.Minute, func() (bool, error) {
		l, err := b.lookupOf(d, ref)
		return l.Status == jjm.Aborted.String(), err
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	name := "kill of " + quantity(float64(b.size.live), "local jobs that wait, ")
	b.beside("kill", name+"until the end", ms(took), "ms", "making and submitting them", ms(made), killBeside)
	b.target("kill", name+"until the end", ms(took), "ms", killMS)
	b.target("kill", name+"until the answer", ms(answered), "ms", killAnswer)
	return nil
}

// submitWaiting submits the grid job and waits until the batch system has all its local jobs.
func (b *bench) submitWaiting(d *realDaemon) (ref string, err error) {
	text := fmt.Sprintf("type = \"script\"\n[params]\ncommand = [\"sleep\", \"100000\"]\ncount = %d\n", b.size.live)
	a, err := client.Call(b.ctx, &d.client, wire.VerbSubmit(),
		wire.SubmitRequest{Submit: &wire.Submit{Name: "job.toml", Text: text, BaseDir: d.state}})
	if err != nil {
		return "", err
	}
	ref = a.Submit.ID.String()
	return ref, until(b.ctx, "all local jobs are submitted", 30*time.Minute, func() (bool, error) {
		l, err := b.lookupOf(d, ref)
		return l.Counts.Submitted+l.Counts.Running == b.size.live, err
	})
}

// lookupOf returns a daemon's lookup of a grid job.
func (b *bench) lookupOf(d *realDaemon, ref string) (wire.Lookup, error) {
	a, err := client.Call(b.ctx, &d.client, wire.VerbLookup(), wire.LookupRequest{Many: wire.Refs(ref)})
	if err != nil {
		return wire.Lookup{}, err
	}
	return a.Lookup[0], a.Lookup[0].Error.Err()
}
