package gatekeeper

import (
	"fmt"
	"slices"

	"jjm"
	"jjm/gate/client"
	"jjm/jobfile"
	"jjm/wire"
	"jjm/wire/spool"
	"jjm/xmldb/head"
)

// What is done while the daemon is away.

// ownKey returns the request key in a job file, since the handle follows from it.
func ownKey(job Job) string {
	doc, _ := jobfile.Parse(job.Name, []byte(job.Text))
	return doc.Spec.Key
}

// leave writes a submission to the spool, unless the grid job is there already
// or waits there. down is why the daemon did not take it.
func (d *Door) leave(s *wire.Submit, down error) (Receipt, error) {
	h := jjm.HandleOf(d.UID, s.Key)
	waiting := d.waiting(h)
	existed := waiting.last == spool.VerbSubmit
	if waiting.last == spool.VerbKill {
		existed = !s.Anew
	}
	if id, err := head.ByHandle(d.Records, h); waiting.last == "" && err == nil {
		known, err := head.Read(d.Records, id)
		existed = err == nil && !(s.Anew && known.Grid.Kill)
	}
	if existed {
		return Receipt{Handle: h, Existed: true, Spooled: true}, nil
	}
	if err := d.forSpool(s); err != nil {
		return Receipt{}, fmt.Errorf("%w (%w)", err, down)
	}
	if err := spool.Put(d.Spool, note(spool.VerbSubmit, h, "", s), d.Now()); err != nil {
		return Receipt{}, fmt.Errorf("%w (%w)", err, down)
	}
	return Receipt{Handle: h, Spooled: true}, nil
}

// forSpool takes away the credentials that the jobs do not ask for. The spool of
// a daemon that is not root can be read by a group: no credential is left there.
func (d *Door) forSpool(s *wire.Submit) error {
	if len(s.Credentials) == 0 {
		return nil
	}
	doc, _ := jobfile.Parse(s.Name, []byte(s.Text)) // mistakes are told later
	s.Credentials = slices.DeleteFunc(slices.Clone(s.Credentials), func(c jjm.Credential) bool {
		return !slices.Contains(doc.Spec.Credentials, c.Kind)
	})
	if len(s.Credentials) > 0 && spool.Readable(d.Spool) {
		return jjm.Errorf(jjm.Busy, "spool %s: others can read it: the %s is given to the daemon only; submit it again",
			d.Spool, s.Credentials[0].Kind)
	}
	return nil
}

// leaveKill writes a kill to the spool, unless the record says that it is over.
// Only a handle will do there: the number of a grid job was told by a daemon, so
// it has a record, and its key.
func (d *Door) leaveKill(ref string, down error) (over bool, err error) {
	l, err := d.lastKnown(ref, d.waiting)
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
			return false, jjm.Errorf(jjm.Busy, "kill %s: %w; and it has no request key by which to leave word", ref, down)
		}
		h, rest = jjm.HandleOf(known.Grid.Owner.UID, known.Grid.Spec.Key), ref[len(r.Grid.String()):]
	}
	if w := d.waiting(h); w.last == spool.VerbKill && rest == "" && w.whole {
		return false, nil
	}
	if err := spool.Put(d.Spool, note(spool.VerbKill, h, rest, nil), d.Now()); err != nil {
		return false, fmt.Errorf("kill %s: %w (%w)", ref, err, down)
	}
	return false, nil
}

// waits is what waits in the spool about one handle.
type waits struct {
	last  string // the verb of the last entry, "" if there is none
	whole bool   // a kill of the whole grid job
}

// waiting looks what waits in the spool under a handle.
func (d *Door) waiting(h jjm.Handle) waits { return d.box()(h) }

// box reads the names in the account's box once, for questions about many handles.
// Root, who asks for all, reads every box.
func (d *Door) box() func(jjm.Handle) waits {
	by := map[jjm.Handle]lies{}
	in, err := spool.Open(d.Spool)
	if err != nil {
		return func(jjm.Handle) waits { return waits{} }
	}
	defer in.Close()
	err = in.Each(d.UID, func(b *spool.Box) error {
		names, _, _, err := b.List(2 * spool.MaxEntries)
		for _, name := range names {
			if before, ok := by[name.Handle]; !ok || before.uid != b.UID || before.name.Seq < name.Seq {
				by[name.Handle] = lies{b.Name(), b.UID, name}
			}
		}
		return err
	})
	return func(h jjm.Handle) waits {
		at, ok := by[h]
		if err != nil || !ok {
			return waits{}
		}
		return at.read(d.Spool)
	}
}

// lies is where an entry lies: the last one about its handle.
type lies struct {
	box  string
	uid  int
	name spool.Name
}

func (l lies) read(dir string) waits {
	in, err := spool.Open(dir)
	if err != nil {
		return waits{}
	}
	defer in.Close()
	b, err := in.Named(l.box, l.uid)
	if err != nil {
		return waits{}
	}
	defer b.Close()
	n, _, err := b.Read(l.name)
	if err != nil {
		return waits{}
	}
	return waits{last: n.Verb, whole: n.Verb == spool.VerbKill && n.Rest == ""}
}

// remember answers lookups while the daemon is away: from the spool what waits
// there, else from the record.
func (d *Door) remember(refs []string, out []wire.Lookup, down error) {
	waiting := d.box()
	for i, ref := range refs {
		l, err := d.lastKnown(ref, waiting)
		if err != nil {
			l = failedLookup(ref, jjm.Errorf(jjm.Busy, "lookup %s: %w; and %w", ref, down, err))
		}
		out[i] = l
	}
}

func (d *Door) lastKnown(ref string, waiting func(jjm.Handle) waits) (wire.Lookup, error) {
	h, _, ok := jjm.CutHandle(ref)
	if !ok {
		r, err := jjm.ParseRef(ref)
		if err != nil {
			return wire.Lookup{}, err
		}
		return fromHead(d.Records, r.Grid)
	}
	if waiting(h).last == spool.VerbSubmit {
		return wire.Lookup{Handle: h, Status: jjm.Registered.String(), GRAM: jjm.GRAMUnsubmitted,
			Message: "accepted; the daemon is away", Master: "new", Stale: true, AsOf: jjm.At(d.Now())}, nil
	}
	id, err := head.ByHandle(d.Records, h)
	if err != nil {
		return wire.Lookup{}, err
	}
	l, err := fromHead(d.Records, id)
	l.Handle = h
	return l, err
}

func fromHead(dir string, id jjm.GridID) (wire.Lookup, error) {
	h, err := head.Read(dir, id)
	if err != nil {
		return wire.Lookup{}, err
	}
	return client.FromRecord(h), nil
}

// failedLookup is an answer that tells nothing of the grid job.
func failedLookup(ref string, err error) wire.Lookup {
	l := wire.Lookup{Error: wire.ErrorOf(err)}
	if h, _, ok := jjm.CutHandle(ref); ok {
		l.Handle = h
	} else if r, err := jjm.ParseRef(ref); err == nil {
		l.ID = r.Grid
	}
	return l
}
