package app

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"jjm/internal/api/server"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/publish/web"
	"jjm/internal/sys/asuser"
)

// watchEvery is the time between two checks for changes of a watched web page.
const watchEvery = 2 * time.Second

// paging holds the web page and its listener. Both are nil if the configuration does not set web.listen.
type paging struct {
	page  *web.Page
	pages net.Listener
}

// preflightWeb returns the problems of the web page's settings that do not suit this machine and account.
func (c *Config) preflightWeb() (problems jjm.Problems) {
	bad := func(field string, format string, args ...any) {
		problems = append(problems, jjm.Problem{Field: "web." + field, Text: fmt.Sprintf(format, args...)})
	}
	if c.Web.Socket() {
		if err := checkFolder(filepath.Dir(c.Web.Listen)); err != nil {
			bad("listen", "%v: make it a folder that this account can write, or set web.listen to a socket in another one", err)
		}
	}
	if filepath.IsAbs(c.Web.Tokens) {
		if err := web.ReadTokens(c.Web.Tokens); err != nil {
			bad("tokens", "%v", err)
		}
	}
	return problems
}

// openPage opens the listener of the web page. The error is of kind Invalid if the address cannot be used.
func (a *App) openPage(ctx context.Context, b brokers) (err error) {
	c := a.config.Web
	if c.Listen == "" {
		return nil
	}
	proxy := -1
	if c.Proxy != "" {
		owner, err := asuser.Find(ctx, c.Proxy)
		if err != nil {
			return jjm.Errorf(jjm.Invalid, "web.proxy: %w", err)
		}
		proxy = owner.UID
	}
	if c.Socket() {
		a.pages, err = server.Listen(c.Listen, server.Config{Mode: "0666"})
	} else {
		a.pages, err = net.Listen("tcp", c.Listen)
	}
	if err != nil {
		return jjm.Errorf(jjm.Invalid, "web.listen: %w: free the address, or set web.listen to another one", err)
	}
	a.onClose("web page", func() error { return ignoreClosed(a.pages.Close()) })
	a.page = web.New(c, web.Deps{Site: a.config.Advertise.Site, Verbs: served(a.opts.Version, a.engine, b),
		Counts: a.engine.Counts, Account: a.accountNamed, ProxyUID: proxy, Now: time.Now, Log: a.log, Every: watchEvery})
	return nil
}

// accountNamed returns the account with a name. The account has the same rights as at the socket.
func (a *App) accountNamed(ctx context.Context, name string) (wire.Caller, error) {
	owner, err := asuser.Find(ctx, name)
	if err != nil {
		return wire.Caller{}, err
	}
	return a.server.CallerOf(owner.UID, owner.GID), nil
}

// pageTrouble returns the problem of the web page, "" if there is none or no page.
func (a *App) pageTrouble() string {
	if a.page == nil {
		return ""
	}
	return a.page.Trouble()
}

// servePage serves the web page until ctx ends. If the listener fails, the daemon continues without it.
func (a *App) servePage(ctx context.Context) {
	if a.page == nil {
		return
	}
	a.log.Info("the web page is served", "listen", a.config.Web.Listen)
	if err := a.page.Serve(ctx, a.pages); err != nil {
		a.log.Error("the web page is no longer served before a restart", "error", err)
	}
}
