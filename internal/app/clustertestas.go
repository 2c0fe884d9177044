package app

import (
	"context"
	"os"
	"path/filepath"

	"jjm/internal/jjm"
	"jjm/internal/sys/asuser"
)

// become changes the process to the account that runs the jobs of the test. If jobs run as their owners, a test as root
// would not test a real case, so an account must be named. become makes the account's folder in the work area, as for
// its first grid job. The state is then also in that folder, because the account cannot enter the daemon's own state
// folder.
func (t *ClusterTest) become(ctx context.Context, name string) error {
	config := &t.app.config
	if name == "" || name == t.Owner.User {
		if config.RunAs == runAsOwner && t.Owner.UID == 0 {
			return jjm.Errorf(jjm.Invalid,
				"run_as = %q: no job ever runs as root: name an account whose jobs to test, with --as USER", runAsOwner)
		}
		return nil
	}
	if os.Geteuid() != 0 {
		return jjm.Errorf(jjm.Denied, "--as %s: only root can test as another account: this is %s", name, t.Owner.User)
	}
	owner, err := asuser.Find(ctx, name)
	if err != nil {
		return jjm.Errorf(jjm.Invalid, "--as: %w", err)
	}
	if config.RunAs == runAsOwner {
		// The engine uses the same path (package internal/engine/floor/areas).
		area := filepath.Join(config.Work, name)
		pool := asuser.NewPool(asuser.Limits{}, t.app.log)
		defer func() { _ = pool.Close() }()
		if err := os.MkdirAll(config.Work, 0o755); err != nil {
			return jjm.Errorf(jjm.Invalid, "--as %s: %w", name, err)
		}
		if _, err := pool.For(owner).Area(area); err != nil {
			return jjm.Errorf(jjm.KindOf(err), "--as %s: %w", name, err)
		}
		config.State, config.Work = area, area
	}
	if err := asuser.Become(ctx, owner); err != nil {
		return jjm.Errorf(jjm.Invalid, "--as %s: %w", name, err)
	}
	t.Owner = owner
	return nil
}
