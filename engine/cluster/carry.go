package cluster

import (
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/engine/areas"
	"jjm/sandbox"
)

// order is what the adapter of this cluster is told of a bulk.
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

// carried completes a bulk for workers that do not see the work area: the box,
// the packages and the wrapper go with it, and a parcel of each job comes back.
func (c *Cluster) carried(ar *areas.Area, b *jjm.Bulk, out *adapters.Bulk) error {
	var grids []jjm.GridID
	for _, m := range b.Members {
		grids = append(grids, m.Grid)
	}
	box, err := ar.WriteBox(b.Tag, grids)
	if err != nil {
		return err
	}
	out.Argv = []string{"./" + sandbox.WrapperName, "carry", string(b.Tag)}
	out.Transfer = &adapters.Transfer{
		In:  append([]string{filepath.Join(ar.Bin, sandbox.WrapperName), box.File}, box.Packages...),
		Out: sandbox.ParcelName, Back: ar.BackDir(b.Tag), Proxy: c.proxy(b, box),
	}
	return nil
}

// leastProxy is how long a proxy must be good for at a submission: batch systems
// refuse others (HTCondor's CRED_MIN_TIME_LEFT is 2 minutes).
const leastProxy = 5 * time.Minute

// proxy is the one that the batch system takes along and renews, "" for none. One
// that it would refuse is in the box alone, and stays there as it is.
func (c *Cluster) proxy(b *jjm.Bulk, box sandbox.Box) string {
	grid := b.Members[0].Grid // the only one, see shape, unless the cluster did not renew proxies when the bulk was formed
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
