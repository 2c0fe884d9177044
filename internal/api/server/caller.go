package server

import (
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The cache of account names holds at most maxNames names, each for nameLifetime. It is needed because the account
// database may be slow, for example if it is on another machine.
const (
	maxNames     = 4096
	nameLifetime = time.Minute
)

// callers finds the name and the rights of the account at the other end of a connection. Several goroutines may use it.
type callers struct {
	admins []string
	lookup func(uid int) string
	own    int // the uid of the daemon if its account is an administrator, otherwise nobody
	now    func() time.Time
	// adminUIDs are the uids of the configured administrators, looked up once at the start.
	adminUIDs []int

	mu    sync.Mutex
	names map[int]knownName
}

type knownName struct {
	name  string
	until time.Time
}

func newCallers(cfg Config) *callers {
	return &callers{admins: cfg.Admins, lookup: cfg.UserName, own: cfg.ownAdmin(os.Geteuid()), now: time.Now,
		adminUIDs: cfg.AdminUIDs(), names: make(map[int]knownName)}
}

// nobody is a uid that no account has.
const nobody = -1

// ownAdmin returns uid, the daemon's own, if this account is an administrator, and otherwise nobody. The jobs of all
// accounts run as the daemon's account, unless the daemon is root. If other accounts may connect, their jobs could then
// act as the daemon's account, so this account must not be an administrator.
func (c Config) ownAdmin(uid int) int {
	if uid != 0 && c.Open() {
		return nobody
	}
	return uid
}

// Open reports whether accounts other than root and the daemon's own may connect. If Mode is wrong, it returns true.
func (c Config) Open() bool {
	mode, err := c.fileMode()
	return err != nil || mode&0o066 != 0
}

// credentials returns the uid, gid and pid of the process at the other end of a connection, as the kernel reports them.
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

// caller returns the Caller for a connected process.
func (c *callers) caller(cred *unix.Ucred) Caller {
	known := c.account(int(cred.Uid), int(cred.Gid))
	known.PID = int(cred.Pid)
	return known
}

// account returns the Caller for an account, without a process id.
func (c *callers) account(uid, gid int) Caller {
	name := c.name(uid)
	return Caller{UID: uid, GID: gid, User: name, Admin: c.trusted(uid) || slices.Contains(c.admins, name)}
}

// CallerOf returns the Caller for an account that is not connected, such as the owner of a request in the spool.
func (s *Server) CallerOf(uid, gid int) Caller { return s.callers.account(uid, gid) }

// trusted reports whether uid is root, or the daemon's own account if that is an administrator.
func (c *callers) trusted(uid int) bool { return uid == 0 || uid == c.own }

// hasReserved reports whether the account uid may use the reserved connections. It never waits for the account
// database. For one uid it always returns the same result, because connections.remove must change the same count as
// connections.add.
func (c *callers) hasReserved(uid int) bool {
	return c.trusted(uid) || slices.Contains(c.adminUIDs, uid)
}

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
	if len(c.names) >= maxNames {
		clear(c.names)
	}
	c.names[uid] = knownName{name, now.Add(nameLifetime)}
	return name
}
