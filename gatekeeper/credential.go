package gatekeeper

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"

	"jjm"
	"jjm/gate/client"
	"jjm/wire"
)

// maxCredential is the longest file of a credential, in bytes: what the daemon
// takes (jjm.CheckCredentials).
const maxCredential = 512 << 10

// ReadCredential reads the file in which a gatekeeper keeps the credential of a
// job, with the rights of its owner (nil: whoever runs the process). The file is
// refused, as Denied, unless it is a plain one of that account, under no other
// name, that nobody else may read or write: a link could name the credential of
// somebody else, and one that others wrote is theirs. What is in the file is in
// no error.
func ReadCredential(kind, name string, owner *jjm.Owner) (jjm.Credential, error) {
	c := jjm.Credential{Kind: kind}
	err := As(owner, func() error {
		f, err := openPrivate(name, owner)
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxCredential+1))
		c.Secret = jjm.Secret(text)
		return err
	})
	if err == nil {
		if ps := jjm.CheckCredentials([]jjm.Credential{c}); len(ps) > 0 {
			err = jjm.Errorf(jjm.Invalid, "%s: %s", name, ps[0].Text)
		}
	}
	if err != nil {
		return jjm.Credential{}, fmt.Errorf("%s: %w", kind, err)
	}
	return c, nil
}

// openPrivate opens a file that is an account's own and closed to all others.
func openPrivate(name string, owner *jjm.Owner) (*os.File, error) {
	// A pipe must not hold us; a link's target is not what was named.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, jjm.Errorf(jjm.Denied, "%w: want the owner's own file, not a link", err)
	}
	info, err := f.Stat()
	if err == nil {
		err = checkPrivate(name, info, owner)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func checkPrivate(name string, info os.FileInfo, owner *jjm.Owner) error {
	uid := os.Geteuid()
	if owner != nil {
		uid = owner.UID
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !info.Mode().IsRegular():
		return jjm.Errorf(jjm.Denied, "%s is not a file: want a regular one", name)
	case int(st.Uid) != uid:
		return jjm.Errorf(jjm.Denied, "%s belongs to uid %d: want a file of uid %d, whose job it is", name, st.Uid, uid)
	case st.Nlink != 1:
		return jjm.Errorf(jjm.Denied, "%s has %d names (hard links): want a file with one, for instance a copy", name,
			st.Nlink)
	case info.Mode().Perm()&0o077 != 0:
		return jjm.Errorf(jjm.Denied, "%s may be used by others (mode %04o): chmod 600", name, info.Mode().Perm())
	}
	return nil
}

// Stamp tells one content of a file from a later one, without reading it.
type Stamp string

// stampOf returns the stamp of a file; a link has that of itself.
func stampOf(name string, owner *jjm.Owner) (stamp Stamp, err error) {
	err = As(owner, func() error {
		info, err := os.Lstat(name)
		if err != nil {
			return err
		}
		st, _ := info.Sys().(*syscall.Stat_t)
		stamp = Stamp(fmt.Sprintf("%d-%d-%d", info.ModTime().UnixNano(), info.Size(), st.Ino))
		return nil
	})
	return stamp, err
}

// Refresh returns the jobs of a grid job the credential in a gatekeeper's file
// anew, if the file is not what it was at a stamp; "" stands for never. It gives
// the stamp for the next call. It is cheap while nothing changes, and takes what
// the daemon has no use for - the jobs did not ask, the grid job is over - as
// done. After an error the stamp is the old one: the next call tries again.
func (d *Door) Refresh(ctx context.Context, ref, kind, name string, owner *jjm.Owner, seen Stamp) (Stamp, error) {
	now, err := stampOf(name, owner)
	if err != nil || now == seen {
		return seen, err
	}
	c, err := ReadCredential(kind, name, owner)
	if err != nil {
		return seen, err
	}
	_, err = client.Call(ctx, d.daemon(), wire.VerbRenew(),
		wire.RenewRequest{One: wire.Of(ref), Credentials: []jjm.Credential{c}})
	if err != nil && (jjm.KindOf(err) != jjm.Conflict || IsAway(err)) {
		return seen, fmt.Errorf("renew the %s: %w", kind, err)
	}
	return now, nil
}

// Remark puts something that the gatekeeper noticed into a grid job's history; news is
// false if the last remark said so already. Administrators alone may.
func (d *Door) Remark(ctx context.Context, ref, text string) (news bool, err error) {
	a, err := client.Call(ctx, d.daemon(), wire.VerbRemark(), wire.RemarkRequest{One: wire.Of(ref), Remark: text})
	return a.News, err
}
