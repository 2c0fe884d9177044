package app

import (
	"fmt"
	"io"
	"os"

	"jjm"
	"jjm/engine"
	"jjm/internal/tree"
	"jjm/run"
	"jjm/run/asuser"
	"jjm/sandbox"
)

// The values of run_as.
const (
	runAsService = "service"
	runAsOwner   = "owner"
)

// users are the helpers as the engine sees them.
type users struct{ pool *asuser.Pool }

var _ engine.Users = users{}

// Area, Open and Runner implement engine.Users.
func (u users) Area(o jjm.Owner, root string) (sandbox.FS, error) {
	f, err := u.pool.For(o).Area(root)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (u users) Open(o jjm.Owner, path string) (io.ReadCloser, error) { return u.pool.For(o).Open(path) }

func (u users) OpenTree(o jjm.Owner, path string, most tree.Most) (*tree.Source, error) {
	return u.pool.For(o).OpenTree(path, most)
}

func (u users) Runner(o jjm.Owner) run.Runner { return u.pool.For(o) }

// identity returns as whom jobs run: as the daemon's account, or as their owners
// through helpers, which end when the daemon closes.
func (a *App) identity() (*jjm.Owner, engine.Users) {
	if a.config.RunAs != runAsOwner {
		return ownAccount(), nil
	}
	if a.helpers == nil {
		a.helpers = asuser.NewPool(asuser.Limits{}, a.log)
		a.onClose("helpers of owners", a.helpers.Close)
	}
	return nil, users{a.helpers}
}

// checkRunAs finds a run_as that is none, or that this account cannot do.
func (c *Config) checkRunAs() jjm.Problems {
	switch {
	case c.RunAs == runAsService, c.RunAs == runAsOwner && os.Geteuid() == 0:
		return nil
	case c.RunAs == runAsOwner:
		return jjm.Problems{{Field: "run_as",
			Text: fmt.Sprintf(
				"%q: only a daemon that runs as root can do things as the owners: start it as root, or set run_as = %q", c.RunAs,
				runAsService)}}
	}
	return jjm.Problems{{Field: "run_as", Text: fmt.Sprintf("%.40q: want %q or %q", c.RunAs, runAsService, runAsOwner)}}
}

// clusterMode is the mode of an adapter's folder: commands that run as owners
// read by name what it leaves there for them.
func (c *Config) clusterMode() os.FileMode {
	if c.RunAs == runAsOwner {
		return 0o711
	}
	return 0o700
}
