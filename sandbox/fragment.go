package sandbox

import (
	"context"
	"time"

	"jjm"
)

// PutFragment publishes what the attempt at a position adds to its record, in place of
// what it added before. Nothing is synced.
func (a *Area) PutFragment(tag jjm.Tag, pos int32, xml []byte) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	if len(xml) == 0 || len(xml) > jjm.MaxFragment {
		return jjm.Errorf(jjm.Invalid, "sandbox: a fragment of %d bytes: want at least one, and at most %d", len(xml),
			jjm.MaxFragment)
	}
	return a.put(fragments, tag, pos, xml)
}

// ReadFragment returns what the attempt at a position adds to its record, nil if that is
// nothing.
func (a *Area) ReadFragment(tag jjm.Tag, pos int32) ([]byte, error) {
	return a.one(fragments, tag, pos)
}

// FragmentsChanged is when a fragment was last put in a bulk, by the clock of the file
// system; zero in one that has no folder for them.
func (a *Area) FragmentsChanged(tag jjm.Tag) (time.Time, error) { return a.changed(fragments, tag) }

// Fragments hands the fragments of the positions whose file was written at or after since,
// by the clock of the file system, to take, one after the other. It returns the position
// at which to go on, or All. What is no regular file, or too long, is passed over.
func (a *Area) Fragments(ctx context.Context, tag jjm.Tag, look Look, since time.Time,
	take func(pos int32, xml []byte)) (next int32, err error) {
	return a.latest(ctx, fragments, tag, look, since, take)
}
