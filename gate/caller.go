package gate

import (
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// namesKept bounds the cache of account names, namesFresh its age: an account
// database may be far away and slow.
const (
	namesKept  = 4096
	namesFresh = time.Minute
)

// callers tells who is at the other end of a connection.
type callers struct {
	admins []string
	lookup func(uid int) string
	own    int // the daemon's uid, -1 if it is an account like any other
	now    func() time.Time
	// seats are the numbers of administrators' accounts: to know them takes no look-up.
	seats []int

	mu    sync.Mutex
	names map[int]knownName
}

type knownName struct {
	name  string
	until time.Time
}

func newCallers(cfg Config) *callers {
	return &callers{admins: cfg.Admins, lookup: cfg.UserName, own: cfg.ownAdmin(os.Geteuid()), now: time.Now,
		seats: cfg.AdminUIDs(), names: make(map[int]knownName)}
}

// nobody is the uid that no account has.
const nobody = -1

// ownAdmin returns the daemon's own uid where it is an administrator's, else nobody.
// The jobs of an ordinary account's daemon run as that account: where others may
// ask, one of their jobs would be an administrator.
func (c Config) ownAdmin(uid int) int {
	if uid != 0 && c.open() {
		return nobody
	}
	return uid
}

// open reports whether other accounts may ask.
func (c Config) open() bool {
	mode, err := c.fileMode()
	return err != nil || mode&0o066 != 0
}

// credentials asks the kernel for the account and process that connected.
func credentials(conn *net.UnixConn) (*unix.Ucred, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("peer credentials: %w", err)
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err == nil {
		err = credErr
	}
	if err != nil {
		return nil, fmt.Errorf("peer credentials: %w", err)
	}
	return cred, nil
}

// caller completes what the kernel said.
func (c *callers) caller(cred *unix.Ucred) Caller {
	known := c.account(int(cred.Uid), int(cred.Gid))
	known.PID = int(cred.Pid)
	return known
}

// account tells who an account is.
func (c *callers) account(uid, gid int) Caller {
	name := c.name(uid)
	return Caller{UID: uid, GID: gid, User: name, Admin: c.trusted(uid) || slices.Contains(c.admins, name)}
}

// Account tells who an account is that the kernel names in another way than by
// a connection: as the owner of a file.
func (s *Server) Account(uid, gid int) Caller { return s.callers.account(uid, gid) }

// trusted reports whether uid is root's, or the daemon's own where nobody else may
// ask.
func (c *callers) trusted(uid int) bool { return uid == 0 || uid == c.own }

// seated reports whether connections of uid have the reserved seats. It answers at once
// and the same for ever.
func (c *callers) seated(uid int) bool { return c.trusted(uid) || slices.Contains(c.seats, uid) }

func (c *callers) name(uid int) string {
	now := c.now()
	c.mu.Lock()
	known, ok := c.names[uid]
	c.mu.Unlock()
	if ok && now.Before(known.until) {
		return known.name
	}
	name := c.lookup(uid)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.names) >= namesKept {
		clear(c.names)
	}
	c.names[uid] = knownName{name, now.Add(namesFresh)}
	return name
}
