// Package asuser runs commands and works on files as other accounts, for a daemon that runs as
// root. Each account has one helper process.
//
//	daemon (root) --- guard (root) --- helper (the account) --- commands of the account
//
// A helper is this program, executed again with a clean environment, which then becomes the account: its user, groups
// and umask. Between fork(2) and execve(2) a process has a copy of all descriptors of the daemon, and the daemon waits
// for it. Because a helper becomes the account only after execve(2), no process of the account is ever in this state.
// The account cannot trace its helper or take the socket out of the helper, and the helper has no privilege to abuse.
// The daemon never resolves a path that an account could have prepared: the helper resolves such paths with the rights
// of the account, and passes open files to the daemon. So the kernel checks links, races and permissions.
//
// # Promises
//
// The account may kill its helper, stop it or make it send wrong replies. That harms only the account's own work:
//
//   - The messages of the helper are bounded, and checked by the guard, a process of its own: an
//     open file must be a regular file, or a folder if a folder was requested, on the mount
//     of the work area. A descriptor of a file system that the account implements (FUSE)
//     ends in the guard. fstat(2) and close(2) of such a descriptor may block for ever, which
//     would prevent the daemon from ending. An account that leaves guards hanging gets no more
//     helpers.
//   - Access lists are set by the helper, on files of the account.
//   - A helper that does not answer is found within [Limits.Silence] and killed, and its
//     account is set aside for a while: requests for the account fail with Busy immediately, so
//     that requests for other accounts do not wait behind them.
//   - Inputs and the output of commands come through pipes that the daemon reads with
//     deadlines.
//
// A helper that died is replaced at the next request. A helper ends together with the daemon, after it has been idle,
// and at a maximum age, so that its groups do not become stale.
//
// Callers decide on the rights of each account: the package does everything that the account may do.
package asuser

import (
	"cmp"
	"context"
	"fmt"
	"os/user"
	"strconv"
	"strings"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// Limits are the limits of helpers. A zero means the default in parentheses.
type Limits struct {
	// Silence is the longest time for which a helper may send nothing during a request (5s). A helper answers pings during
	// every operation.
	Silence time.Duration
	// Act is the longest time of one operation on files (20s). The removal of a tree may take thirty times as long.
	Act time.Duration
	// Aside is the time for which an account is set aside after its helper hung (30s). Each further hang doubles the time,
	// up to sixteen times.
	Aside time.Duration
	// Idle is the time after which a helper without a request ends (1m). Life is the age at which a helper is replaced
	// (1h).
	Idle, Life time.Duration
	// Helpers is the intended maximum number of helpers (200). If there are more, helpers end after a sixteenth of Idle.
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

// account holds the facts of the account database about one account.
type account struct {
	uid, gid int
	groups   []uint32
	name     string
	home     string
}

// lookupTime bounds a query of the account database, which may be a directory service.
const lookupTime = 5 * time.Second

// lookup finds an account. It also calls getent(1) and id(1), because they find the accounts of directory services, and
// a program without cgo does not. The error is of kind Denied for root, and if the machine does not know the account.
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

// getent finds an account through the name service switch, by number.
func getent(ctx context.Context, uid int) (account, bool) {
	f := strings.Split(strings.TrimSpace(query(ctx, "getent", "passwd", strconv.Itoa(uid))), ":")
	if len(f) != 7 {
		return account{}, false
	}
	got, err1 := strconv.Atoi(f[2])
	gid, err2 := strconv.Atoi(f[3])
	return account{uid: uid, gid: gid, name: f[0], home: f[5]}, err1 == nil && err2 == nil && got == uid
}

// groupsOf returns all groups of an account, its primary group first.
func groupsOf(ctx context.Context, a account) []uint32 {
	groups := []uint32{uint32(a.gid)}
	for _, word := range strings.Fields(query(ctx, "id", "-G", "--", a.name)) {
		if n, err := strconv.ParseUint(word, 10, 32); err == nil && uint32(n) != groups[0] {
			groups = append(groups, uint32(n))
		}
	}
	return groups
}

// query runs a command as the daemon's account and returns its standard output, or "" if the command fails.
func query(ctx context.Context, argv ...string) string {
	out, err := run.Run(run.WithRunner(ctx, nil),
		run.Cmd{Argv: argv, Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, Deadline: lookupTime})
	if err != nil || out.Exit != 0 {
		return ""
	}
	return string(out.Stdout)
}

// ids returns the numbers by which the kernel identifies the account.
func (a account) ids() run.Account {
	return run.Account{UID: a.uid, GID: a.gid, Groups: a.groups}
}

// environ returns the whole environment of a helper.
func (a account) environ() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "HOME=" + a.home, "USER=" + a.name,
		"LOGNAME=" + a.name}
}

// environFor returns a command's environment with the names and the home of the account instead of the daemon's. If
// home is set, it is used instead of the account's home: the site sets it if files of the account must not configure
// the command.
func (a account) environFor(env []string, home string) []string {
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
