package main

import (
	"os"
	"slices"

	"jjm/internal/api/client"
	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/xmldb/head"
)

// offline answers from the records when no daemon answers. The access lists of the folders determine the records that
// an account may read: its own records, and for administrators all records.
type offline struct {
	c    *cli
	name string // the name of the command, for messages
	dir  string // the folder of the records
	down error  // why no daemon answers
	most int    // the greatest number of records to search; mostScanned, except in tests
	// spool is the folder of requests that wait for the daemon.
	spool string
}

func (p place) offline(c *cli, name string, down error) *offline {
	return &offline{c: c, name: name, dir: p.at(c).RecordsDir(), down: down, most: mostScanned,
		spool: p.spoolDir(c, p.at(c).StateDir())}
}

// say prints why no daemon answers, and that the answer comes from the records. asOf is the time of the records, 0 if
// it is not known.
func (o *offline) say(asOf jjm.Time) {
	o.c.say("jjm %s: %v", o.name, o.down)
	at := ""
	if asOf != 0 {
		at = "as of " + plain.Clock(asOf) + ", "
	}
	o.c.say("%sthe daemon does not answer: this is from the records in %s", at, o.dir)
}

// unknown returns the error for a job about which the records have no answer. It is of kind Denied if this account may
// not read the record, else of kind Busy. It is never of kind Gone, because the daemon may know the job.
func (o *offline) unknown(err error) error {
	switch jjm.KindOf(err) {
	case jjm.Denied:
		return jjm.Errorf(jjm.Denied, "%v; and this account may not read its record: %w", o.down, err)
	case jjm.Gone:
		return jjm.Errorf(jjm.Busy, "%w; and %w", o.down, err)
	}
	return jjm.Errorf(jjm.Busy, "%w; and its record has no answer: %w", o.down, err)
}

// ref returns the reference that an id or a handle means. The text was checked before. The error means that no record
// has the handle.
func (o *offline) ref(text string) (jjm.Ref, error) {
	h, rest, ok := jjm.CutHandle(text)
	if !ok {
		return jjm.ParseRef(text)
	}
	grid, err := head.ByHandle(o.dir, h)
	if err != nil {
		return jjm.Ref{}, err
	}
	return jjm.ParseRef(grid.String() + rest)
}

// head reads the head of the record of the grid job that a text refers to, and returns the head and the parsed
// reference. If the reference is to local jobs that do not exist and the grid job is over, the error is of kind Gone.
// All other errors come from unknown.
func (o *offline) head(text string) (head.Head, jjm.Ref, error) {
	ref, err := o.ref(text)
	var h head.Head
	if err == nil {
		h, err = head.Read(o.dir, ref.Grid)
	}
	switch {
	case err != nil:
		return h, ref, o.unknown(err)
	case !ref.Locals || ref.Last < 0 || int(ref.First) < h.Jobs:
		return h, ref, nil
	}
	err = jjm.Errorf(jjm.Gone, "%s: grid job %s has %s, numbered from 0", ref, ref.Grid, jjm.Count(h.Jobs, "local job"))
	if !h.Grid.Status.Final() { // more local jobs may have been made
		err = o.unknown(err)
	}
	return h, ref, err
}

// history returns the last changes in the record of a job, oldest first. For local jobs, it returns only the changes of
// these local jobs. If limit is not 0, it returns at most limit changes. It prints a message if the record lacks older
// changes, which only the daemon knows.
func (o *offline) history(text string, limit int) ([]jjm.JournalEntry, error) {
	_, ref, err := o.head(text)
	if err != nil {
		return nil, err
	}
	h, err := head.ReadHistory(o.dir, ref.Grid)
	if err != nil {
		return nil, o.unknown(err)
	}
	all := h.Changes[:0]
	for _, e := range h.Changes {
		if !ref.Locals || e.First >= 0 && e.Last >= ref.First && (ref.Last < 0 || e.First <= ref.Last) {
			all = append(all, e)
		}
	}
	o.say(h.Written)
	cut := limit > 0 && len(all) > limit
	if cut {
		all = all[len(all)-limit:]
	}
	if h.Older && !cut {
		o.c.say("these are the last changes: the daemon tells older ones")
	}
	return all, nil
}

// mostScanned bounds the heads that a list reads. Reading this many takes a few seconds.
const mostScanned = 20_000

// list returns the statuses of the grid jobs that l selects among the readable records, newest first, at most l.Limit.
// It reads at most o.most records. bad is the number of records that could not be read; list prints an error for each
// of them.
func (o *offline) list(l wire.List) (found []wire.Status, bad int, err error) {
	if err := checkStatus(l.Status); err != nil {
		return nil, 0, err
	}
	want, err := o.choose(l)
	if err != nil {
		return nil, 0, err
	}
	ids, err := o.ids(jjm.GridID(l.Before))
	if err != nil {
		return nil, 0, err
	}
	var asOf jjm.Time
	for i, id := range ids {
		if i == o.most || len(found) == l.Limit {
			break
		}
		h, ok, err := o.readable(id)
		if ok {
			ok, err = want.has(&h)
		}
		if err != nil {
			bad++
			o.c.say("jjm %s: %v", o.name, err)
		}
		if ok {
			asOf = max(asOf, h.Written)
			found = append(found, client.StatusFromRecord(o.dir, &h))
		}
	}
	o.say(asOf)
	if len(ids) > o.most && len(found) < l.Limit {
		o.c.say("only the newest %d records were looked at; for the next ones: --before %s", o.most, ids[o.most-1])
	}
	return found, bad, nil
}

// checkStatus returns an error unless a text has statuses of grid jobs, separated by commas, or is empty. The daemon
// checks the same.
func checkStatus(words string) error {
	if _, err := jjm.GridStatuses(words); err != nil {
		return usage("--status: %w", err)
	}
	return nil
}

// selects reports whether the status, type and owner in l match the grid job of a head. Without l.All, it returns false
// for grid jobs that are over. It does not look at the other members of l.
func selects(l wire.List, h *head.Head) bool {
	g := &h.Grid
	statuses, err := jjm.GridStatuses(l.Status)
	return err == nil && (len(statuses) == 0 || slices.Contains(statuses, g.Status)) && (l.All || !g.Status.Final()) &&
		(l.Type == "" || g.Spec.Type == l.Type) && (l.Owner == "" || g.Owner.User == l.Owner)
}

// ids returns the ids of the grid jobs that have records, newest first. If below is not 0, it returns only ids smaller
// than below.
func (o *offline) ids(below jjm.GridID) ([]jjm.GridID, error) {
	ids, err := head.IDs(o.dir)
	if err != nil {
		return nil, o.unknown(err)
	}
	return slices.DeleteFunc(ids, func(id jjm.GridID) bool { return below > 0 && id >= below }), nil
}

// readable reads the head of a record. If this account may not read the record, or it no longer exists, readable
// returns false and no error.
func (o *offline) readable(id jjm.GridID) (h head.Head, ok bool, err error) {
	h, err = head.Read(o.dir, id)
	switch jjm.KindOf(err) {
	case jjm.Gone, jjm.Denied:
		return h, false, nil
	}
	return h, err == nil, err
}

// mostLocals is the greatest number of local jobs in an answer. It is the same as the daemon's.
const mostLocals = 100_000

// status returns the status of each reference, in order. If there are several references, an error about one reference
// is in the Lookup of its status. If there is only one, status returns its error.
func (o *offline) status(refs []string) ([]wire.Status, error) {
	out := make([]wire.Status, len(refs))
	var asOf jjm.Time
	for i, text := range refs {
		st, id, err := o.statusOf(text)
		if err != nil && len(refs) == 1 {
			return nil, err
		}
		if err != nil {
			st = wire.Status{Lookup: wire.Lookup{ID: id, Error: wire.ErrorOf(err)}}
		}
		out[i] = st
		asOf = max(asOf, st.Lookup.AsOf)
	}
	o.say(asOf)
	return out, nil
}

// latest returns the states of grid jobs, for jjm wait. If a reference has no state in the records, latest returns the
// error about it.
func (o *offline) latest(refs []string) ([]wire.Status, error) {
	states, err := o.status(refs)
	for i := range states {
		if e := states[i].Lookup.Error; e != nil && err == nil {
			err = e.Err()
		}
	}
	return states, err
}

// statusOf returns the status of the grid job that a text refers to, with the local jobs if the text refers to local
// jobs, and the id of the grid job, 0 if the text has none.
func (o *offline) statusOf(text string) (wire.Status, jjm.GridID, error) {
	h, ref, err := o.head(text)
	if err != nil {
		return wire.Status{}, ref.Grid, err
	}
	st := client.StatusFromRecord(o.dir, &h)
	if !ref.Locals {
		return st, ref.Grid, nil
	}
	st.Locals, err = head.Locals(o.dir, ref, mostLocals)
	switch {
	case err != nil:
		return st, ref.Grid, o.unknown(err)
	case len(st.Locals) == 0 && ref.Last >= 0:
		return st, ref.Grid, o.unknown(jjm.Errorf(jjm.Gone, "%s is not in it", ref))
	}
	return st, ref.Grid, nil
}

// files prints where the outputs of a grid job are, for a command that needs the daemon to fetch them: the path of the
// tar, and whether this account may read the tar now, or the path of the record if there is no tar yet. If the record
// cannot be read, files prints nothing, because the error about the missing daemon is printed anyway.
func (o *offline) files(text string) {
	h, _, err := o.head(text)
	if err != nil {
		return
	}
	switch tar := h.Tar; {
	case tar != "" && opens(tar):
		o.c.say("the outputs of grid job %s are in %s: tar -tf lists them, tar -xf takes them", h.Grid.ID, tar)
	case tar != "":
		o.c.say("the outputs of grid job %s are in %s, which this account may not read now", h.Grid.ID, tar)
	default:
		o.c.say("grid job %s has no tar yet; its record is %s", h.Grid.ID, head.Path(o.dir, h.Grid.ID))
	}
}

// opens reports whether this account can read a file.
func opens(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}
