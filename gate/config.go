package gate

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"time"

	"jjm"
	"jjm/run/asuser"
)

// Config holds the settings of the gate. The zero value of each means its
// default.
type Config struct {
	// Mode of the socket file, octal: "0666" (any local account may ask, what it
	// may do is decided per request), "0660" or "0600". Default: 0666 if the
	// daemon is root, which runs nobody else's jobs. The jobs of an ordinary
	// account's daemon run as that account, so it lets others in only where that
	// is said: 0660 with a Group, else 0600.
	Mode string `toml:"mode"`
	// Group is the group of the socket file, for mode 0660; default: the
	// daemon's own.
	Group string `toml:"group"`
	// Admins are accounts that may act on everybody's jobs, besides root and,
	// with mode 0600 only, the daemon's own: with a wider one the jobs of others
	// run as the daemon's account, which must not be named here then.
	Admins []string `toml:"admins"`
	// Connections is the most connections of ordinary accounts at once; default 1024.
	// Root, the daemon's own while it is an administrator, and administrators have as
	// many seats of their own. PerUser is the most of one ordinary account, default
	// half; it never has more than are free.
	Connections int `toml:"connections"`
	PerUser     int `toml:"per_user"`
	// RequestTime is how long a client may take to send its request (5s),
	// AnswerTime how long the service may take (25s: gatekeepers wait 30 s at
	// worst), WriteTime how long a client may leave an answer without taking a
	// byte of it (10s), Drain how long running requests may go on when the
	// daemon stops (5s).
	RequestTime jjm.Duration `toml:"request_time"`
	AnswerTime  jjm.Duration `toml:"answer_time"`
	WriteTime   jjm.Duration `toml:"write_time"`
	Drain       jjm.Duration `toml:"drain"`
	// MemoryMB is what long requests and answers may hold together; default
	// 512. Short ones always pass. A quarter is for administrators alone, and no
	// other account takes more than half of the rest.
	MemoryMB int `toml:"memory_mb"`

	// Version is the daemon's, named where a client asks for what it does not know.
	Version string `toml:"-"`
	// UserName returns the name of an account; default: the account database.
	UserName func(uid int) string `toml:"-"`
}

// WithDefaults returns c with its unset values filled in.
func (c Config) WithDefaults() Config {
	number := func(n *int, def int) {
		if *n == 0 {
			*n = def
		}
	}
	duration := func(d *jjm.Duration, def time.Duration) {
		if *d == 0 {
			*d = jjm.Duration(def)
		}
	}
	if c.Mode == "" {
		c.Mode = defaultMode(os.Geteuid(), c.Group)
	}
	number(&c.Connections, 1024)
	number(&c.PerUser, max(c.Connections/2, 1))
	number(&c.MemoryMB, 512)
	duration(&c.RequestTime, 5*time.Second)
	duration(&c.AnswerTime, 25*time.Second)
	duration(&c.WriteTime, 10*time.Second)
	duration(&c.Drain, 5*time.Second)
	if c.UserName == nil {
		c.UserName = userName
	}
	return c
}

// defaultMode keeps other accounts from running jobs as the daemon's.
func defaultMode(uid int, group string) string {
	switch {
	case uid == 0:
		return "0666"
	case group != "":
		return "0660"
	}
	return "0600"
}

// Check finds every mistake in the settings.
func (c Config) Check() jjm.Problems {
	c = c.WithDefaults()
	var ps jjm.Problems
	bad := func(field, text string) { ps = append(ps, jjm.Problem{Field: field, Text: text}) }
	if _, err := c.fileMode(); err != nil {
		bad("mode", err.Error())
	}
	if _, err := c.groupID(); err != nil {
		bad("group", err.Error())
	}
	for _, admin := range c.Admins {
		known, err := asuser.Find(context.Background(), admin)
		switch {
		case err != nil:
			bad("admins", err.Error())
		case c.jobsRunAs(known.UID, os.Geteuid()):
			bad("admins", fmt.Sprintf("%s is the daemon's own account, and mode %s lets others run jobs as it, which would be "+
				"administrators: name accounts of people instead, or set mode = \"0600\"", admin, c.Mode))
		}
	}
	for _, n := range []struct {
		field string
		value int
	}{{"connections", c.Connections}, {"per_user", c.PerUser}, {"memory_mb", c.MemoryMB}} {
		if n.value < 1 {
			bad(n.field, "want at least 1, or nothing for the default")
		}
	}
	return ps
}

// jobsRunAs reports whether the jobs of other accounts run as uid: it is the
// daemon's own, that of no root, and the socket is open to others.
func (c Config) jobsRunAs(uid, own int) bool {
	return own != 0 && c.open() && uid == own
}

func (c Config) fileMode() (fs.FileMode, error) {
	n, err := strconv.ParseUint(c.Mode, 8, 32)
	if err != nil || n&^0o666 != 0 || n&0o600 != 0o600 {
		return 0, jjm.Errorf(jjm.Invalid, "mode %.20q: want 0666, 0660 or 0600", c.Mode)
	}
	return fs.FileMode(n), nil
}

// groupID returns the group's number, -1 for "leave it".
func (c Config) groupID() (int, error) {
	if c.Group == "" {
		return -1, nil
	}
	g, err := user.LookupGroup(c.Group)
	if err != nil {
		return 0, jjm.Errorf(jjm.Invalid, "group %.40q: %w: want the name of a group", c.Group, err)
	}
	return strconv.Atoi(g.Gid)
}

// Access returns the mode of the socket and the group that may use it, -1 for the
// daemon's own.
func (c Config) Access() (mode fs.FileMode, group int, err error) {
	c = c.WithDefaults()
	if mode, err = c.fileMode(); err != nil {
		return 0, 0, err
	}
	group, err = c.groupID()
	return mode, group, err
}

// userName asks the machine; an account without a name is its number.
func userName(uid int) string { return asuser.NameOf(context.Background(), uid) }

// AdminUIDs returns the numbers of the administrators' accounts; those that Check
// complains of are left out.
func (c Config) AdminUIDs() []int {
	var uids []int
	for _, admin := range c.Admins {
		if o, err := asuser.Find(context.Background(), admin); err == nil {
			uids = append(uids, o.UID)
		}
	}
	return uids
}
