package gatekeeper

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// maxCredential is the maximum length of a credential file in bytes. The daemon accepts no longer credential
// (jjm.CheckCredentials).
const maxCredential = 512 << 10

// ReadCredential reads the file in which a gatekeeper keeps a job's credential, with the
// rights of the owner (nil: the account of the process).
//
// The error is of kind Denied unless the name is a regular file that belongs to the owner, has no further hard link,
// and cannot be read or written by others. A link could lead to another user's credential, and a file that others can
// write is not trusted. No error contains a part of the file's content.
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

// openPrivate opens a file that belongs to the owner and that no other account can read or write.
func openPrivate(name string, owner *jjm.Owner) (*os.File, error) {
	// O_NONBLOCK: opening a pipe must not block. O_NOFOLLOW: if the name is a link, its target is not the file that was
	// named.
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

// checkPrivate returns an error of kind Denied unless the file is a regular file that belongs to the owner (nil: the
// account of the process), has no further hard link, and cannot be read or written by other accounts.
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

// Stamp identifies the content of a file without reading the file. It changes when the file changes.
type Stamp string

// stampOf returns the stamp of a file, examined with the rights of the owner. If the name is a link, it is the stamp of
// the link, not of its target.
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

// Refresh sends the credential in a gatekeeper's file to the grid job if the file has changed since the stamp seen (""
// for the first call). It returns the stamp for the next call. If the file has not changed, the call costs one
// lstat(2).
//
// If the daemon does not need the credential, because the jobs did not request it or the grid job is over, Refresh
// returns no error. With an error it returns seen, so that the next call tries again.
func (d *Client) Refresh(ctx context.Context, ref, kind, name string, owner *jjm.Owner, seen Stamp) (Stamp, error) {
	now, err := stampOf(name, owner)
	if err != nil || now == seen {
		return seen, err
	}
	c, err := ReadCredential(kind, name, owner)
	if err != nil {
		return seen, err
	}
	_, err = client.Call(ctx, d.daemon(), wire.VerbRenew(),
		wire.RenewRequest{One: wire.OneRef(ref), Credentials: []jjm.Credential{c}})
	if err != nil && (jjm.KindOf(err) != jjm.Conflict || IsUnreachable(err)) {
		return seen, fmt.Errorf("renew the %s: %w", kind, err)
	}
	return now, nil
}

// Remark adds an observation of the gatekeeper to the history of a grid job. news is false if the text equals the
// last remark. Only administrators may call it.
func (d *Client) Remark(ctx context.Context, ref, text string) (news bool, err error) {
	a, err := client.Call(ctx, d.daemon(), wire.VerbRemark(), wire.RemarkRequest{One: wire.OneRef(ref), Remark: text})
	return a.News, err
}
