package asuser

import (
	"context"
	"errors"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// Find returns the account that has a certain name or number on this machine. It uses getent(1), which also finds
// accounts of directory services; their names look like DOMAIN\\user or user@realm and may ignore case. Owner.User is
// the name as the machine returns it. The error is of kind Invalid if no account has the name or number, and Busy if
// the account database does not answer.
func Find(ctx context.Context, name string) (jjm.Owner, error) {
	cmd := run.Cmd{Argv: []string{"getent", "passwd", "--", name}, Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"},
		Deadline: lookupTime}
	out, err := run.Run(run.WithRunner(ctx, nil), cmd)
	switch {
	case err != nil:
		return jjm.Owner{}, jjm.Errorf(jjm.Busy, "account %.80q: getent: %w: try again when the account database answers",
			name, err)
	case out.Exit == notThere:
		return jjm.Owner{}, jjm.Errorf(jjm.Invalid,
			"%.80q is no account of this machine (getent passwd): want a name that it knows, or a number", name)
	case out.Exit != 0:
		return jjm.Owner{}, jjm.Errorf(jjm.Busy,
			"account %.80q: getent: exit %d: try again when the account database answers", name, out.Exit)
	}
	f := strings.Split(strings.TrimSpace(string(out.Stdout)), ":")
	if len(f) != 7 {
		return jjm.Owner{}, jjm.Errorf(jjm.Internal, "account %.80q: getent says %.80q: want seven fields (passwd(5))", name,
			out.Stdout)
	}
	uid, err1 := strconv.Atoi(f[2])
	gid, err2 := strconv.Atoi(f[3])
	if err := errors.Join(err1, err2); err != nil {
		return jjm.Owner{}, jjm.Errorf(jjm.Invalid, "account %.80q: %w", name, err)
	}
	return jjm.Owner{User: f[0], UID: uid, GID: gid}, nil
}

// notThere is the exit code of getent(1) for a key that is not in the database.
const notThere = 2

// NameOf returns the name of an account, or its number if it has no name or the account
// database does not answer.
func NameOf(ctx context.Context, uid int) string {
	number := strconv.Itoa(uid)
	if u, err := user.LookupId(number); err == nil { // in passwd(5): no command is needed
		return u.Username
	}
	if o, err := Find(ctx, number); err == nil && o.UID == uid {
		return o.User
	}
	return number
}

// Become changes the whole process to the account of o, irrevocably, with the rights, groups, environment and umask of
// a helper. Only root can do this. The error is of kind Denied if o is root. After an error the process must end,
// because only some of its ids may have changed.
func Become(ctx context.Context, o jjm.Owner) error {
	a, err := lookup(ctx, o)
	if err != nil {
		return err
	}
	if err := a.ids().Become(); err != nil {
		return jjm.Errorf(jjm.Denied, "%w", err)
	}
	syscall.Umask(0o022)
	os.Clearenv()
	for _, v := range a.environ() {
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return os.Chdir("/")
}
