package sandbox

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"

	"jjm/internal/jjm"
)

// maxClaim is the largest size of a claim in bytes. The size is limited because the file may have been written by the
// job.
const maxClaim = 64 << 10

// Claim claims an attempt. Exactly one claimant of a position wins, among all machines and permanently; the winner and
// the losers receive the holder. A claimant whose nonce is the holder's nonce is the winner; a claim can therefore be
// repeated after a lost answer. After an error it is unknown who holds the claim.
//
// Nothing is synced: after a power failure a claim may be empty, but then all processes that could hold it are dead
// too. A claim that cannot be decoded counts as held by an unknown wrapper.
//
// The claim is written to a temporary file, which then gets its name by link(2): link is atomic on NFS too, where
// O_EXCL was not always atomic (open(2), NOTES, O_EXCL).
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
		return holder, false, a.wrap(err, "encode claim")
	}
	name := posFile(tag, "claims", pos, "")
	tmp := tmpName(BulkDir(tag) + "/claims")
	err = a.create(tmp, fileMode, quick, func(f *os.File) error {
		_, err := f.Write(append(content, '\n'))
		return err
	})
	if err != nil && a.spoiled(name) {
		return jjm.Claim{Holder: jjm.HolderWrapper}, false, nil
	}
	if err != nil {
		return holder, false, a.wrap(err, "write claim %s", name)
	}
	linkErr := a.fs.Link(tmp, name)
	a.discard(tmp)
	if linkErr == nil {
		return c, true, nil
	}
	// The claim may exist, perhaps as our own claim: a network file system can lose the reply to link.
	got, err := a.ReadClaim(tag, pos)
	switch {
	case err != nil:
		return holder, false, err
	case got == nil:
		return holder, false, a.wrap(linkErr, "link claim %s", name)
	}
	return *got, got.Nonce == c.Nonce, nil
}

// RestoreClaims creates the claims folder of a bulk again after it was removed. Without that folder the daemon could
// not give up on attempts that have not started. If the folder of the grid job is missing too, RestoreClaims returns an
// error, because the file system may only be unmounted.
func (a *Area) RestoreClaims(tag jjm.Tag, grid jjm.GridID) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	if _, err := a.fs.Stat(GridDir(grid)); err != nil {
		return a.wrap(err, "restore claims of bulk %s: look at the folder of grid job %s", tag, grid)
	}
	return a.wrap(a.fs.MkdirAll(BulkDir(tag)+"/claims", dirMode), "restore claims of bulk %s", tag)
}

// ReadClaim returns the claim of a position, nil if there is none. If the claim cannot be decoded, or is not a readable
// file (the job may have replaced it by a pipe), only Holder is set, to jjm.HolderWrapper.
func (a *Area) ReadClaim(tag jjm.Tag, pos int32) (*jjm.Claim, error) {
	if err := checkTag(tag); err != nil {
		return nil, err
	}
	name := posFile(tag, "claims", pos, "")
	b, err := a.readBounded(name, maxClaim)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil && a.spoiled(name) {
		return &jjm.Claim{Holder: jjm.HolderWrapper}, nil
	}
	if err != nil {
		return nil, a.wrap(err, "read claim %s", name)
	}
	c := new(jjm.Claim)
	if err := json.Unmarshal(b, c); err != nil {
		return &jjm.Claim{Holder: jjm.HolderWrapper}, nil
	}
	return c, nil
}

// spoiled reports whether a claim cannot be read until its owner repairs it: the claim is not a regular file, is too
// long, or is not readable for its owner, or the folder of claims is no folder.
func (a *Area) spoiled(name string) bool {
	if st, err := a.fs.Lstat(path.Dir(name)); err == nil && !st.IsDir() {
		return true
	}
	st, err := a.fs.Lstat(name)
	return err == nil && (!st.Mode().IsRegular() || st.Size() > maxClaim || st.Mode().Perm()&0o400 == 0)
}
