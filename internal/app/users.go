package app

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/sys/asuser"
	"jjm/internal/sys/run"
	"jjm/internal/sys/tree"
	"jjm/sandbox"
)

// The values of run_as.
const (
	runAsService = "service"
	runAsOwner   = "owner"
)

// users implements engine.Users: the engine uses it to do work as the owners of jobs, through their helper processes.
type users struct{ pool *asuser.Pool }

var _ engine.Users = users{}

// Area, Open, OpenTree and Runner implement engine.Users.
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

// identity returns how the daemon runs jobs: the account that runs all jobs (the daemon's own), or, with run_as =
// "owner", nil and the helpers of the owners. The helpers end when the daemon closes.
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

// checkRunAs returns a problem if run_as has an unknown value, or a value that this account cannot carry out.
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

// Advice returns notes on settings that are not mistakes but may surprise.
func (c *Config) Advice() jjm.Problems {
	return slices.Concat(c.adviceOnWork(), c.adviceOnReach(), c.adviceOnRunAs(), c.adviceOnTypes(), c.adviceOnClusters())
}

// adviceOnWork returns a note if the path of the work areas has characters at which a shell splits or expands words.
// The paths in $GBS_LOG and $JJM_PROGRESS are below it, and many scripts do not quote them.
func (c *Config) adviceOnWork() jjm.Problems {
	if !strings.ContainsAny(c.Work, " \t\n*?[") {
		return nil
	}
	field := "work"
	if c.Work == filepath.Join(c.State, "work") {
		field = "state"
	}
	return jjm.Problems{{Field: field, Text: fmt.Sprintf(
		"%q has blanks or characters that a shell expands, and jobs fail that call $GBS_LOG without quotes: "+
			`set work to a path without them, or let all jobs write "$GBS_LOG"`, c.Work)}}
}

// adviceOnTypes returns a note if the configured folder of job types is missing. The default folder may be missing.
func (c *Config) adviceOnTypes() jjm.Problems {
	if c.JobTypes == filepath.Join(c.State, ownTypes) || !missing(c.JobTypes) {
		return nil
	}
	return jjm.Problems{{Field: "job_types", Text: c.JobTypes + " is not there: the site has no job types of its own. Make " +
		"the folder, or correct the path"}}
}

func (c *Config) adviceOnRunAs() jjm.Problems {
	if c.RunAs != runAsService || os.Geteuid() != 0 || c.Gate.Mode == "0600" {
		return nil
	}
	return jjm.Problems{{Field: "run_as", Text: fmt.Sprintf("with %q and a daemon of root, grid jobs of other accounts are refused: "+
		"set %q; or gate.mode = \"0600\", if root alone uses it", runAsService, runAsOwner)}}
}

// clusterMode returns the mode of an adapter's folder. Commands that run as owners must be able to open by name the
// files that the adapter puts there.
func (c *Config) clusterMode() os.FileMode {
	if c.RunAs == runAsOwner {
		return 0o711
	}
	return 0o700
}
