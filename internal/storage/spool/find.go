package spool

import (
	"errors"
	"io/fs"
	"time"

	"jjm/internal/jjm"
)

// Submitted returns the time of the oldest submission with a handle among the entries of an account, or for root (uid
// 0) of all accounts. found is false if there is none. Submitted reads at most MaxEntries entries of each account. A
// missing spool has no entries.
func Submitted(dir string, uid int, h jjm.Handle) (since time.Time, found bool, err error) {
	in, err := Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return since, false, nil
	}
	if err != nil {
		return since, false, err
	}
	defer func() { _ = in.Close() }()
	err = in.Each(uid, func(b *Box) error {
		names, _, _, err := b.List(MaxEntries)
		for _, n := range names {
			if n.Handle != h || n.Verb != VerbSubmit || found {
				continue
			}
			if _, _, err := b.Read(n); err == nil { // other accounts may use the name of a handle
				since, found = time.Unix(0, n.Seq), true
			}
		}
		return err
	})
	return since, found, err
}
