package gatekeeper

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/storage/spool"
	"jjm/xmldb/head"
)

// This file holds the functions that the Client uses while the daemon does not answer. They write requests to the
// spool, and take answers from the spool and the records.

// ownKey returns the request key in the job file. The handle is computed from this key.
func ownKey(job Job) string {
	doc, _ := jobfile.Parse(job.Name, []byte(job.Text))
	return doc.Spec.Key
}

// spoolSubmit writes a submission to the spool, unless the grid job already exists or the same submission waits in the
// spool. With s.Anew, a grid job that was killed, or whose kill waits in the spool, does not count as existing. down is
// the error of the daemon.
func (d *Client) spoolSubmit(s *wire.Submit, down error) (Receipt, error) {
	h := jjm.HandleOf(d.UID, s.Key)
	waiting := d.pending(h)
	existed := waiting.lastVerb == spool.VerbSubmit
	if waiting.lastVerb == spool.VerbKill {
		existed = !s.Anew
	}
	if id, err := head.ByHandle(d.Records, h); waiting.lastVerb == "" && err == nil {
		known, err := head.Read(d.Records, id)
		existed = err == nil && !(s.Anew && known.Told().Grid.Kill)
	}
	if existed {
		return Receipt{Handle: h, Existed: true, Spooled: true}, nil
	}
	if err := d.dropCredentials(s); err != nil {
		return Receipt{}, fmt.Errorf("%w (%w)", err, down)
	}
	if err := spool.Put(d.Spool, note(spool.VerbSubmit, h, "", s), d.Now()); err != nil {
		return Receipt{}, fmt.Errorf("%w (%w)", err, down)
	}
	return Receipt{Handle: h, Spooled: true}, nil
}

// dropCredentials removes the credentials that the job file does not request. If the daemon is not root, a group can
// read the spool, and a credential must not be written there: dropCredentials then returns an error if credentials are
// left.
func (d *Client) dropCredentials(s *wire.Submit) error {
	if len(s.Credentials) == 0 {
		return nil
	}
	doc, _ := jobfile.Parse(s.Name, []byte(s.Text)) // the daemon reports the mistakes later
	s.Credentials = slices.DeleteFunc(slices.Clone(s.Credentials), func(c jjm.Credential) bool {
		return !slices.Contains(doc.Spec.Credentials, c.Kind)
	})
	if len(s.Credentials) > 0 && spool.Readable(d.Spool) {
		return jjm.Errorf(jjm.Busy, "spool %s: others can read it, so the %s must not be written there: submit again when the daemon answers",
			d.Spool, s.Credentials[0].Kind)
	}
	return nil
}

// spoolKill writes a kill to the spool. It writes nothing if the record shows that the grid job is over, or if a kill
// of the whole grid job is already the last entry in the spool. The spool takes only handles. A grid job that the
// caller knows by its number was accepted by a daemon, so it has a record, from which the handle is computed. The error
// is of kind Busy if the record cannot be read or has no request key.
func (d *Client) spoolKill(ref string, down error) (over bool, err error) {
	l, err := d.lastKnown(ref, d.pending)
	if err == nil && Final(l) {
		return true, nil
	}
	h, rest, ok := jjm.CutHandle(ref)
	if !ok {
		r, err := jjm.ParseRef(ref)
		if err != nil {
			return false, err
		}
		known, err := head.Read(d.Records, r.Grid)
		if err != nil {
			return false, jjm.Errorf(jjm.Busy, "kill %s: %w; and %w", ref, down, err)
		}
		if known.Grid.Spec.Key == "" {
			return false, jjm.Errorf(jjm.Busy, "kill %s: %w; and a grid job without a request key cannot be killed through the spool", ref, down)
		}
		h, rest = jjm.HandleOf(known.Grid.Owner.UID, known.Grid.Spec.Key), ref[len(r.Grid.String()):]
	}
	if w := d.pending(h); w.lastVerb == spool.VerbKill && rest == "" && w.killsAll {
		return false, nil
	}
	if err := spool.Put(d.Spool, note(spool.VerbKill, h, rest, nil), d.Now()); err != nil {
		return false, fmt.Errorf("kill %s: %w (%w)", ref, err, down)
	}
	return false, nil
}

// pending describes the entries that wait in the spool for one handle.
type pending struct {
	lastVerb string // verb of the last entry, "" if there is none
	killsAll bool   // the last entry kills the whole grid job
}

// pending returns a description of the entries that wait in the spool for a handle.
func (d *Client) pending(h jjm.Handle) pending { return d.readBoxes()(h) }

// readBoxes reads the names of the entries in the account's boxes once. It returns a function that describes the
// entries that wait for a handle. For root it reads the boxes of all accounts. If the boxes cannot be read, the
// function returns a zero pending for every handle.
func (d *Client) readBoxes() func(jjm.Handle) pending {
	by := map[jjm.Handle]entryRef{}
	in, err := spool.Open(d.Spool)
	if err != nil {
		return func(jjm.Handle) pending { return pending{} }
	}
	defer in.Close()
	err = in.Each(d.UID, func(b *spool.Box) error {
		names, _, _, err := b.List(2 * spool.MaxEntries)
		for _, name := range names {
			if before, ok := by[name.Handle]; !ok || before.uid != b.UID || before.name.Seq < name.Seq {
				by[name.Handle] = entryRef{b.Name(), b.UID, name}
			}
		}
		return err
	})
	return func(h jjm.Handle) pending {
		at, ok := by[h]
		if err != nil || !ok {
			return pending{}
		}
		return at.read(d.Spool)
	}
}

// entryRef locates an entry of the spool.
type entryRef struct {
	box  string
	uid  int
	name spool.Name
}

// read reads the entry and describes it. If the entry cannot be read, for example because the daemon took it meanwhile,
// the result is zero.
func (l entryRef) read(dir string) pending {
	in, err := spool.Open(dir)
	if err != nil {
		return pending{}
	}
	defer in.Close()
	b, err := in.Named(l.box, l.uid)
	if err != nil {
		return pending{}
	}
	defer b.Close()
	n, _, err := b.Read(l.name)
	if err != nil {
		return pending{}
	}
	return pending{lastVerb: n.Verb, killsAll: n.Verb == spool.VerbKill && n.Rest == ""}
}

// lookupOffline answers lookups without the daemon: from the spool if a submission waits there, and otherwise from the
// record.
func (d *Client) lookupOffline(refs []string, out []wire.Lookup, down error) {
	waiting := d.readBoxes()
	for i, ref := range refs {
		l, err := d.lastKnown(ref, waiting)
		if err != nil {
			l = failedLookup(ref, jjm.Errorf(jjm.Busy, "lookup %s: %w; and %w", ref, down, err))
		}
		out[i] = l
	}
}

// lastKnown returns the last known state of a grid job without asking the daemon: from the submission that waits in the
// spool, and otherwise from the record. The error is of kind Invalid if ref is no handle or id; otherwise it is the
// error of reading the record.
func (d *Client) lastKnown(ref string, waiting func(jjm.Handle) pending) (wire.Lookup, error) {
	h, _, ok := jjm.CutHandle(ref)
	if !ok {
		r, err := jjm.ParseRef(ref)
		if err != nil {
			return wire.Lookup{}, err
		}
		return fromHead(d.Records, r.Grid)
	}
	if waiting(h).lastVerb == spool.VerbSubmit {
		return wire.Lookup{Handle: h, Status: jjm.Registered.String(), GRAM: jjm.GRAMUnsubmitted,
			Message: "accepted; the daemon does not answer", Master: "new", Stale: true, AsOf: jjm.At(d.Now())}, nil
	}
	id, err := head.ByHandle(d.Records, h)
	if err != nil {
		return wire.Lookup{}, err
	}
	l, err := fromHead(d.Records, id)
	l.Handle = h
	return l, err
}

// fromHead returns the state that the record of a grid job contains.
func fromHead(dir string, id jjm.GridID) (wire.Lookup, error) {
	h, err := head.Read(dir, id)
	if err != nil {
		return wire.Lookup{}, err
	}
	return client.FromRecord(h), nil
}

// failedLookup returns an answer that has an error and no information about the grid job.
func failedLookup(ref string, err error) wire.Lookup {
	l := wire.Lookup{Error: wire.ErrorOf(err)}
	if h, _, ok := jjm.CutHandle(ref); ok {
		l.Handle = h
	} else if r, err := jjm.ParseRef(ref); err == nil {
		l.ID = r.Grid
	}
	return l
}

// LastKnown returns what the spool and the records know of a grid job, without asking the daemon.
func (d *Client) LastKnown(ref string) wire.Lookup {
	l, err := d.lastKnown(ref, d.pending)
	if err != nil {
		return failedLookup(ref, err)
	}
	return l
}

// Withdraw removes the entries about a grid job from the account's spool, and returns how many it removed. The number
// may include an entry that the daemon takes at the same time, so the caller must then ask the daemon.
func (d *Client) Withdraw(h jjm.Handle) (removed int, err error) {
	in, err := spool.Open(d.Spool)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer in.Close()
	boxes, err := in.BoxesOf(d.UID)
	if err != nil {
		return 0, err
	}
	for _, b := range boxes {
		names, _, _, lerr := b.List(2 * spool.MaxEntries)
		for _, name := range names {
			if name.Handle == h && b.Remove(name.String()) == nil {
				removed++
			}
		}
		err = errors.Join(err, lerr, b.Close())
	}
	return removed, err
}
