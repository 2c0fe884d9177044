package cluster

import (
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"jjm/adapters"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/jjm"
	"jjm/sandbox"
)

// order returns the bulk as the adapter of this cluster submits it.
func (c *Cluster) order(ar *areas.Area, b *jjm.Bulk) (adapters.Bulk, error) {
	out := adapters.Bulk{
		Tag: b.Tag, Owner: c.account(b.Owner), Request: b.Request, N: len(b.Members),
		Argv: []string{filepath.Join(ar.Bin, sandbox.WrapperName), "run", ar.Root(), string(b.Tag)},
		Dir:  filepath.Join(ar.Root(), sandbox.BulkDir(b.Tag)),
	}
	if c.adapter.Capabilities().SharedFS {
		return out, nil
	}
	return out, c.carried(ar, b, &out)
}

// carried completes a bulk for workers that do not see the work area. The batch system
// carries the wrapper, the box (assignment and job files), the sandbox packages and the files
// that other local jobs made to the worker, and a parcel of results back.
func (c *Cluster) carried(ar *areas.Area, b *jjm.Bulk, out *adapters.Bulk) error {
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

// leastProxy is how long a proxy must still be valid at submission. Batch systems refuse proxies that expire sooner:
// HTCondor's CRED_MIN_TIME_LEFT is 2 minutes by default.
const leastProxy = 5 * time.Minute

// proxy returns the path of the proxy that the batch system is to carry and renew, "" for
// none. A proxy that the batch system would refuse goes in the box only, and is not
// renewed.
func (c *Cluster) proxy(b *jjm.Bulk, box sandbox.Box) string {
	// All members belong to one grid job (see shape), unless the cluster did not renew proxies when the bulk was
	// formed.
	grid := b.Members[0].Grid
	p, ok := box.Proxies[grid]
	mixed := slices.ContainsFunc(b.Members, func(m jjm.AttemptID) bool { return m.Grid != grid })
	if !ok || mixed || !c.adapter.Capabilities().RenewsProxies {
		return ""
	}
	if p.End.Before(c.b.Now().Add(leastProxy)) {
		c.b.Complain(slog.LevelWarn, "proxy/"+grid.String(),
			"a proxy that ends within minutes, or is no certificate, is not renewed for jobs that are submitted now",
			"job", grid, "cluster", c.name, "until", p.End)
		return ""
	}
	return p.File
}
