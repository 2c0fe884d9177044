package sandbox

import (
	"context"
	"time"

	"jjm/internal/jjm"
)

// PutFragment stores the fragment of XML that the attempt at a position adds to its record. It replaces an earlier
// fragment. Nothing is synced.
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

// ReadFragment returns the fragment that the attempt at a position adds to its record, nil if there is none.
func (a *Area) ReadFragment(tag jjm.Tag, pos int32) ([]byte, error) {
	return a.one(fragments, tag, pos)
}

// FragmentsChanged returns the time at which a fragment was last stored in a bulk, by the clock of the file system;
// zero if the bulk has no folder for fragments.
func (a *Area) FragmentsChanged(tag jjm.Tag) (time.Time, error) { return a.changed(fragments, tag) }

// Fragments calls the function take for each fragment of the bulk that was written at or after since, by the clock of
// the file system. It returns the position at which to continue, or All. It skips files that are not regular, empty or
// too long.
func (a *Area) Fragments(ctx context.Context, tag jjm.Tag, look Look, since time.Time,
	take func(pos int32, xml []byte)) (next int32, err error) {
	return a.latest(ctx, fragments, tag, look, since, take)
}
