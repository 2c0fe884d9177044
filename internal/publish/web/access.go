package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/publish/connections"
)

// viewer is the reader of a page. A reader without an account sees only counts.
type viewer struct {
	wire.Caller
	known bool
}

// nobody returns the caller for a reader without an account. No account has its uid.
func nobody() viewer { return viewer{Caller: wire.Caller{UID: -1, GID: -1}} }

// key returns the account of the reader, by which listeners are counted; "" for a reader without an account.
func (v viewer) key() string {
	if !v.known {
		return ""
	}
	return fmt.Sprint(v.UID)
}

// gatekeeper identifies the reader of a page.
type gatekeeper struct {
	header   string
	proxyUID int // -1 if there is no proxy
	tokens   tokens
	accounts accounts
}

// peerKey is the key of the peer's uid in the context of a connection.
type peerKey struct{}

// withPeer adds the uid of the process at the other end of a Unix socket to the context of its connection.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if limited, ok := c.(*connections.Connection); ok {
		c = limited.Conn
	}
	if conn, ok := c.(*net.UnixConn); ok {
		if uid, err := peerUID(conn); err == nil {
			return context.WithValue(ctx, peerKey{}, uid)
		}
	}
	return ctx
}

// peerUID returns the account at the other end of a Unix socket, as the kernel reports it (SO_PEERCRED, unix(7)).
func peerUID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, credErr); err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}

// viewer returns the reader of a request. A token outranks the header of the proxy. The error is of kind Denied if the
// token is unknown, Invalid if the proxy names several accounts, and Busy if the account database does not answer.
func (g *gatekeeper) viewer(r *http.Request) (viewer, error) {
	if scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		user, err := g.tokens.user(strings.TrimSpace(given))
		if err != nil {
			return nobody(), err
		}
		return g.account(r.Context(), user)
	}
	uid, isSocket := r.Context().Value(peerKey{}).(int)
	if g.header == "" || !isSocket || uid != g.proxyUID {
		return nobody(), nil
	}
	switch named := r.Header.Values(g.header); {
	case len(named) > 1:
		return nobody(), jjm.Errorf(jjm.Invalid, "the proxy sent several headers %s: let it replace the header of clients",
			g.header)
	case len(named) == 0 || named[0] == "" || numeral(named[0]) || len(named[0]) > 256:
		return nobody(), nil
	default:
		return g.account(r.Context(), named[0])
	}
}

// account returns the reader whose account has the given name. If no account has the name, the reader sees only counts.
func (g *gatekeeper) account(ctx context.Context, name string) (viewer, error) {
	c, err := g.accounts.find(ctx, name)
	switch jjm.KindOf(err) {
	case jjm.Invalid:
		return nobody(), nil
	default:
		if err != nil {
			return nobody(), err
		}
	}
	return viewer{c, true}, nil
}

// The cache of accounts holds at most mostAccounts names, each for accountLifetime.
const (
	mostAccounts    = 1024
	accountLifetime = time.Minute
)

// accounts remembers accounts for a short time, because the account database may be on another machine and slow.
type accounts struct {
	lookup func(context.Context, string) (wire.Caller, error)
	now    func() time.Time

	mu    sync.Mutex
	known map[string]knownAccount
}

type knownAccount struct {
	caller wire.Caller
	err    error
	until  time.Time
}

// find returns the account with a name. It returns the errors of Deps.Account.
func (a *accounts) find(ctx context.Context, name string) (wire.Caller, error) {
	now := a.now()
	a.mu.Lock()
	k, ok := a.known[name]
	a.mu.Unlock()
	if ok && now.Before(k.until) {
		return k.caller, k.err
	}
	c, err := a.lookup(ctx, name)
	if err != nil && jjm.KindOf(err) != jjm.Invalid {
		return c, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.known) >= mostAccounts {
		clear(a.known)
	}
	a.known[name] = knownAccount{c, err, now.Add(accountLifetime)}
	return c, err
}
