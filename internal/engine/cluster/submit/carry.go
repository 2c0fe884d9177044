package submit

import (
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"jjm/adapters"
	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/jjm"
	"jjm/sandbox"
)

// carrier says what goes with the bulks of a cluster.
type carrier struct {
	b   *base.Base
	sys *system.System
}

// order returns what the adapter of this cluster needs to submit a bulk: the command of the wrapper and its folder. If
// workers do not see the work area, it also names the files that the batch system has to carry.
func (c *carrier) order(ar *areas.Area, b *jjm.Bulk) (adapters.Bulk, error) {
	out := adapters.Bulk{
		Tag: b.Tag, Owner: c.sys.Account(b.Owner), Request: b.Request, N: len(b.Members),
		Argv: []string{filepath.Join(ar.Bin, sandbox.WrapperName), "run", ar.Root(), string(b.Tag)},
		Dir:  filepath.Join(ar.Root(), sandbox.BulkDir(b.Tag)),
	}
	if c.sys.Adapter.Capabilities().SharedFS {
		return out, nil
	}
	return out, c.carried(ar, b, &out)
}

// carried adds to the order out what is needed if workers do not see the work area. The batch system then carries these
// files to the worker: the wrapper, the box (a file with the assignment and the job files), the sandbox packages, and
// files that other local jobs made. It carries one file with all results back, the parcel.
func (c *carrier) carried(ar *areas.Area, b *jjm.Bulk, out *adapters.Bulk) error {
	var grids []jjm.GridID
	for _, m := range b.Members {
		grids = append(grids, m.Grid)
	}
	box, err := ar.WriteBox(b.Tag, grids)
	if err != nil {
		return err
	}
	each, err := ar.GivenFolder(b.Tag)
	if err != nil {
		return err
	}
	out.Argv = []string{"./" + sandbox.WrapperName, "carry", string(b.Tag)}
	out.Transfer = &adapters.Transfer{
		In:   append([]string{filepath.Join(ar.Bin, sandbox.WrapperName), box.File}, box.Packages...),
		Each: each, Out: sandbox.ParcelName, Back: ar.BackDir(b.Tag), Proxy: c.proxy(b, box),
	}
	return nil
}

// leastProxy is how long a proxy certificate must still be valid at submission. Batch systems refuse proxies that
// expire sooner: HTCondor's CRED_MIN_TIME_LEFT is 2 minutes by default.
const leastProxy = 5 * time.Minute

// proxy returns the path of the proxy that the batch system is to carry and renew, "" if there is none. If the batch
// system would refuse a proxy because it expires soon, the jobs get it only in the box, where it is not renewed; proxy
// then returns "" and logs a warning.
func (c *carrier) proxy(b *jjm.Bulk, box sandbox.Box) string {
	// All members belong to one grid job (see shape), unless the cluster did not renew proxies when the bulk was
	// formed.
	grid := b.Members[0].Grid
	p, ok := box.Proxies[grid]
	mixed := slices.ContainsFunc(b.Members, func(m jjm.AttemptID) bool { return m.Grid != grid })
	if !ok || mixed || !c.sys.Adapter.Capabilities().RenewsProxies {
		return ""
	}
	if p.End.Before(c.b.Now().Add(leastProxy)) {
		c.b.Complain(slog.LevelWarn, "proxy/"+grid.String(),
			"a proxy that ends within minutes, or is no certificate, is not renewed for jobs that are submitted now",
			"job", grid, "cluster", c.sys.Name, "until", p.End)
		return ""
	}
	return p.File
}

// writeAssignment writes the assignment file of a bulk. If the workers do not see the work area, it also makes links to
// the files of other local jobs that the batch system is to carry with the bulk.
func (c *carrier) writeAssignment(ar *areas.Area, tag jjm.Tag, as []sandbox.Assignment) error {
	if err := ar.WriteAssignment(tag, as); err != nil {
		return err
	}
	if c.sys.Adapter.Capabilities().SharedFS || !slices.ContainsFunc(as, isGiven) {
		return nil
	}
	return ar.LinkGiven(tag, as)
}

// isGiven reports whether an assignment contains files that other local jobs made.
func isGiven(a sandbox.Assignment) bool { return len(a.Given) > 0 }
