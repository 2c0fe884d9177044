package asuser

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"jjm"
)

// Find gives an account by its name. The error is of kind Invalid if the machine
// knows none.
func Find(ctx context.Context, name string) (jjm.Owner, error) {
	f := strings.Split(strings.TrimSpace(ask(ctx, "getent", "passwd", "--", name)), ":")
	if len(f) != 7 || f[0] != name {
		return jjm.Owner{}, jjm.Errorf(jjm.Invalid, "%.40q is no account of this machine", name)
	}
	uid, err1 := strconv.Atoi(f[2])
	gid, err2 := strconv.Atoi(f[3])
	if err := errors.Join(err1, err2); err != nil {
		return jjm.Owner{}, jjm.Errorf(jjm.Invalid, "account %.40q: %w", name, err)
	}
	return jjm.Owner{User: name, UID: uid, GID: gid}, nil
}

// Become makes the whole process an account's, for good: its rights, groups,
// environment and umask, as a helper has them. Only root can, and only an ordinary
// account will do. After an error the process must end: it may be half of each.
func Become(ctx context.Context, o jjm.Owner) error {
	a, err := lookup(ctx, o)
	if err != nil {
		return err
	}
	if err := a.numbers().Become(); err != nil {
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
