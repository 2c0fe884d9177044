package sandbox

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"jjm"
)

const maxClaim = 64 << 10

// Claim takes an attempt: of all who claim a position, on whatever machine,
// exactly one wins, for good. The holder is returned to winner and losers
// alike. A claimant whose nonce the holder carries has won, so that a claim
// may be repeated after a lost answer. An error means that nothing is known.
//
// Nothing is synced: a power failure may leave a claim empty, but everything
// that could hold it is dead then too. A claim that cannot be decoded counts as
// held, by a wrapper that is not known.
//
// The claim is a file written aside and given its name by link(2), which is
// atomic on NFS too, where O_EXCL once was not (open(2), NOTES, O_EXCL).
func (a *Area) Claim(tag jjm.Tag, pos int32, c jjm.Claim) (holder jjm.Claim, won bool, err error) {
	if err := checkTag(tag); err != nil {
		return holder, false, err
	}
	if c.Nonce == "" {
		return holder, false, jjm.Errorf(jjm.Invalid, "sandbox: claim position %d of bulk %s: the claim needs a nonce", pos,
			tag)
	}
	content, err := json.Marshal(c)
	if err != nil {
		return holder, false, wrap(err, "encode claim")
	}
	name := posFile(tag, "claims", pos, "")
	tmp := tmpName(BulkDir(tag) + "/claims")
	err = a.create(tmp, fileMode, quick, func(f *os.File) error {
		_, err := f.Write(append(content, '\n'))
		return err
	})
	if err != nil {
		return holder, false, wrap(err, "write claim %s", name)
	}
	linkErr := a.fs.Link(tmp, name)
	a.discard(tmp)
	if linkErr == nil {
		return c, true, nil
	}
	// The file may be there, ours included: the reply of a network file system
	// can be lost.
	got, err := a.ReadClaim(tag, pos)
	switch {
	case err != nil:
		return holder, false, err
	case got == nil:
		return holder, false, wrap(linkErr, "link claim %s", name)
	}
	return *got, got.Nonce == c.Nonce, nil
}

// RestoreClaims makes the claims folder of a bulk again after somebody removed
// it: without the folder nobody could give up on what has not started. It
// refuses while the folder of the grid job is missing too, for then the file
// system may only be away.
func (a *Area) RestoreClaims(tag jjm.Tag, grid jjm.GridID) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	if _, err := a.fs.Stat(gridDir(grid)); err != nil {
		return wrap(err, "restore claims of bulk %s: look at the folder of grid job %s", tag, grid)
	}
	return wrap(a.fs.MkdirAll(BulkDir(tag)+"/claims", dirMode), "restore claims of bulk %s", tag)
}

// ReadClaim returns the claim of a position, or nil if nobody has it. Of one that
// cannot be decoded only Holder is set, to jjm.HolderWrapper.
func (a *Area) ReadClaim(tag jjm.Tag, pos int32) (*jjm.Claim, error) {
	if err := checkTag(tag); err != nil {
		return nil, err
	}
	name := posFile(tag, "claims", pos, "")
	b, err := a.readBounded(name, maxClaim)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, wrap(err, "read claim %s", name)
	}
	c := new(jjm.Claim)
	if err := json.Unmarshal(b, c); err != nil {
		return &jjm.Claim{Holder: jjm.HolderWrapper}, nil
	}
	return c, nil
}
