package spool

import (
	"errors"
	"io/fs"
	"time"
)

// Waiting counts the entries that wait in a spool.
type Waiting struct {
	Entries int
	More    bool      // whether there are more entries than were counted
	Oldest  time.Time // time in the oldest entry's sequence, chosen by its account; zero without entries
}

// Count counts the entries in the boxes of an account, or for root (uid 0) in all boxes, and stops after about most
// entries. A missing spool has no entries.
func Count(dir string, uid, most int) (w Waiting, err error) {
	in, err := Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return w, in.Each(uid, func(b *Box) error {
		if w.Entries >= most {
			w.More = true
			return nil
		}
		names, _, more, err := b.List(most - w.Entries)
		w.Entries, w.More = w.Entries+len(names), w.More || more
		for _, n := range names {
			if at := time.Unix(0, n.Seq); w.Oldest.IsZero() || at.Before(w.Oldest) {
				w.Oldest = at
			}
		}
		return err
	})
}
