package server

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/sys/asuser"
)

// Config holds the settings of the server. The zero value of a setting stands for its default.
type Config struct {
	// Mode is the mode of the socket file, in octal: "0666" (every local account may connect, and each request is
	// authorised separately), "0660" or "0600". The default is 0666 if the daemon is root. The jobs of an ordinary
	// account's daemon run as that account, so other accounts may connect only if the configuration permits it. The
	// default is then 0660 if Group is set, otherwise 0600.
	Mode string `toml:"mode"`
	// Group is the group of the socket file, for mode 0660; default: the daemon's own group.
	Group string `toml:"group"`
	// Admins are the accounts that may act on the jobs of every account, in addition to root. With mode 0600 the daemon's
	// own account is an administrator too. With a wider mode it must not be an administrator, and must not be named here,
	// because the jobs of other accounts run as that account.
	Admins []string `toml:"admins"`
	// Connections is the greatest number of simultaneous connections of ordinary accounts; default 1024. The same number
	// is reserved for root and the administrators. PerUser is the greatest number of connections of one ordinary account;
	// default half of Connections. An account may also not have more connections than are free at the moment.
	Connections int `toml:"connections"`
	PerUser     int `toml:"per_user"`
	// RequestTime is the longest time for sending a request (default 5s). AnswerTime is the longest time for carrying
	// out a verb (25s, because gatekeepers wait at most 30 s). WriteTime is the longest time in which a client reads no
	// byte of its answer (10s). Drain is the longest time for which running requests continue when the daemon stops
	// (5s).
	RequestTime jjm.Duration `toml:"request_time"`
	AnswerTime  jjm.Duration `toml:"answer_time"`
	WriteTime   jjm.Duration `toml:"write_time"`
	Drain       jjm.Duration `toml:"drain"`
	// MemoryMB limits the memory of all long requests and answers together, in MiB; default 512. Short requests and
	// answers are not counted. A quarter is reserved for administrators, and any other account may take at most half of
	// the rest.
	MemoryMB int `toml:"memory_mb"`

	// Version is the version of the daemon, for errors about unknown verbs.
	Version string `toml:"-"`
	// Observe is called after each request with the name of its verb and its error, nil for a success. The verb is ""
	// if the request had no readable verb. Observe must not block; it may be nil.
	Observe func(verb string, err error) `toml:"-"`
	// UserName returns the name of an account; by default the name in the account database.
	UserName func(uid int) string `toml:"-"`
}

// WithDefaults returns c with the default in place of each setting that has its zero value.
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

// defaultMode returns the default of Mode for a daemon of this account. Unless the daemon is root, other accounts may
// not connect, except the configured group, because their jobs would run as the daemon's account.
func defaultMode(uid int, group string) string {
	switch {
	case uid == 0:
		return "0666"
	case group != "":
		return "0660"
	}
	return "0600"
}

// Check returns every mistake in the settings, with the name of the wrong setting.
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

// jobsRunAs reports whether the jobs of other accounts run as uid. This is so if uid is own, the daemon's account, this
// account is not root, and other accounts may connect.
func (c Config) jobsRunAs(uid, own int) bool {
	return own != 0 && c.Open() && uid == own
}

func (c Config) fileMode() (fs.FileMode, error) {
	n, err := strconv.ParseUint(c.Mode, 8, 32)
	if err != nil || n&^0o666 != 0 || n&0o600 != 0o600 {
		return 0, jjm.Errorf(jjm.Invalid, "mode %.20q: want 0666, 0660 or 0600", c.Mode)
	}
	return fs.FileMode(n), nil
}

// groupID returns the number of the configured group, or -1 if no group is configured. The error is of kind Invalid if
// the group does not exist.
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

// Access returns the mode of the socket file, and the number of its group. The group -1 means the daemon's own group.
// The error is of kind Invalid if a setting is wrong.
func (c Config) Access() (mode fs.FileMode, group int, err error) {
	c = c.WithDefaults()
	if mode, err = c.fileMode(); err != nil {
		return 0, 0, err
	}
	group, err = c.groupID()
	return mode, group, err
}

// userName returns the name of an account from the account database, or the number if the account is unknown.
func userName(uid int) string { return asuser.NameOf(context.Background(), uid) }

// AdminUIDs returns the uids of the configured administrators. It leaves out names that no account has; Check reports
// these.
func (c Config) AdminUIDs() []int {
	var uids []int
	for _, admin := range c.Admins {
		if o, err := asuser.Find(context.Background(), admin); err == nil {
			uids = append(uids, o.UID)
		}
	}
	return uids
}
