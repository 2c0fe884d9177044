// Package asuser does things as another account, for a daemon that runs as root:
// it runs commands and works on files through one helper process per account.
//
// A helper is this program executed again, with a clean environment, which then
// becomes the account: its user, its groups, its umask. So the account never owns
// a process between fork(2) and execve(2), which would hold a copy of all that the
// daemon has open, and for which the daemon would wait; and what it owns is closed
// to it from the first moment: it cannot trace it or take the socket out of it. It
// has no privilege that could be abused, and the
// daemon never resolves a path that the account could have prepared: it asks the
// helper, which may only do what its account may, and gets open files back. So
// links, races and permissions are the kernel's business, not jjm's.
//
// # Promises
//
// A helper belongs to its account, so its account may do anything to it: kill
// it, stop it, make it lie. It then spoils what is its own and nothing else:
//
//   - What it sends is bounded and checked, by a process in between, the guard:
//     an open file must be a regular file, or a folder where one was asked for,
//     on the mount that the area is on. A descriptor of a file system of the
//     account's own making (FUSE) reaches the guard and no farther: looking at it
//     could block, closing it could block for good, and so could then the end of
//     the daemon. An account that leaves guards hanging gets no more helpers.
//   - Access lists are set by the helper, on what is the account's own.
//   - Who does not answer is found out within [Limits.Silence], killed, and the
//     account is set aside for a while: what is asked for it meanwhile is
//     answered Busy at once, so that others do not wait behind it.
//   - Inputs and the output of commands come through pipes of the daemon's, which
//     are read with deadlines.
//
// A helper that died is replaced at the next request. It ends by itself when the
// daemon ends, when it has been idle, and when it grew old.
package asuser

import (
	"cmp"
	"context"
	"fmt"
	"os/user"
	"strconv"
	"strings"
	"time"

	"jjm"
	"jjm/run"
)

// Limits bound helpers. The zero value of each means its default.
type Limits struct {
	// Silence is how long a helper that has something to do may say nothing
	// (5s): it answers pings whatever else it does.
	Silence time.Duration
	// Act is how long one act on files may take (20s); the removal of a tree may
	// take thirty times as long.
	Act time.Duration
	// Aside is how long an account is set aside after its helper hung (30s); each
	// further time twice as long, up to sixteen times.
	Aside time.Duration
	// Idle is when a helper that has nothing to do ends (1m), Life when it is
	// replaced by a fresh one (1h).
	Idle, Life time.Duration
	// Helpers is how many there may be at once (200); beyond, those that have
	// been idle longest end.
	Helpers int
}

func (l Limits) withDefaults() Limits {
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&l.Silence, 5*time.Second)
	set(&l.Act, 20*time.Second)
	set(&l.Aside, 30*time.Second)
	set(&l.Idle, time.Minute)
	set(&l.Life, time.Hour)
	if l.Helpers == 0 {
		l.Helpers = 200
	}
	return l
}

// account is what a helper becomes.
type account struct {
	uid, gid int
	groups   []uint32
	name     string
	home     string
}

// lookupTime bounds the account database, which may be far away.
const lookupTime = 5 * time.Second

// lookup asks the machine for an account: getent(1) and id(1) know those of
// directory services too, which a program without cgo does not.
func lookup(ctx context.Context, o jjm.Owner) (account, error) {
	if o.UID == 0 {
		return account{}, jjm.Errorf(jjm.Denied, "work is done as its owner, and never as root: use an ordinary account")
	}
	a := account{uid: o.UID, gid: o.GID, name: o.User, home: "/"}
	if u, err := user.LookupId(strconv.Itoa(o.UID)); err == nil {
		gid, err := strconv.Atoi(u.Gid)
		if err != nil {
			return account{}, jjm.Errorf(jjm.Invalid, "account %s has group %q", u.Username, u.Gid)
		}
		a.name, a.gid, a.home = u.Username, gid, u.HomeDir
	} else if f, ok := getent(ctx, o.UID); ok {
		a = f
	} else {
		return account{}, jjm.Errorf(jjm.Denied, "uid %d (%s) is no account of this machine: work cannot be done as it",
			o.UID, o.User)
	}
	a.groups = groupsOf(ctx, a)
	return a, nil
}

// getent finds an account that only the name service switch knows.
func getent(ctx context.Context, uid int) (account, bool) {
	f := strings.Split(strings.TrimSpace(ask(ctx, "getent", "passwd", strconv.Itoa(uid))), ":")
	if len(f) != 7 {
		return account{}, false
	}
	got, err1 := strconv.Atoi(f[2])
	gid, err2 := strconv.Atoi(f[3])
	return account{uid: uid, gid: gid, name: f[0], home: f[5]}, err1 == nil && err2 == nil && got == uid
}

// groupsOf returns all groups of an account, at least its own.
func groupsOf(ctx context.Context, a account) []uint32 {
	groups := []uint32{uint32(a.gid)}
	for _, word := range strings.Fields(ask(ctx, "id", "-G", "--", a.name)) {
		if n, err := strconv.ParseUint(word, 10, 32); err == nil && uint32(n) != groups[0] {
			groups = append(groups, uint32(n))
		}
	}
	return groups
}

// ask runs a command that looks something up; "" if it finds nothing.
func ask(ctx context.Context, argv ...string) string {
	out, err := run.Run(run.Through(ctx, nil),
		run.Cmd{Argv: argv, Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, Deadline: lookupTime})
	if err != nil || out.Exit != 0 {
		return ""
	}
	return string(out.Stdout)
}

// numbers is what the kernel knows of the account.
func (a account) numbers() run.Account {
	return run.Account{UID: a.uid, GID: a.gid, Groups: a.groups}
}

// environ is the whole environment of a helper.
func (a account) environ() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "HOME=" + a.home, "USER=" + a.name,
		"LOGNAME=" + a.name}
}

// mine returns a command the account's names in place of the daemon's, and its home
// unless the site has one for the command: what the account put there is not to
// configure it.
func (a account) mine(env []string, home string) []string {
	out := []string{"HOME=" + cmp.Or(home, a.home), "USER=" + a.name, "LOGNAME=" + a.name}
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if name != "HOME" && name != "USER" && name != "LOGNAME" {
			out = append(out, v)
		}
	}
	return out
}

func (a account) String() string { return fmt.Sprintf("%s (uid %d)", a.name, a.uid) }
