package plan

import (
	"fmt"
	"slices"
	"strings"

	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// Reader is a cluster that a grid job may use.
type Reader struct {
	Name string
	// Storages are the storages that the cluster's workers can read; nil = all.
	Storages []string
}

// reads reports whether the cluster can read files at a storage. A file without a
// location, "", can certainly be read only by a cluster that can read all storages.
func (r Reader) reads(storage string) bool {
	return r.Storages == nil || slices.Contains(r.Storages, storage)
}

// Sites returns, for split.Work, the grid job's clusters that can read each storage named by its files. It returns nil
// if that makes no difference: all clusters can read all storages, and no site list chooses among the clusters.
func Sites(readers []Reader, p *split.Params, files []jjm.File) map[string][]string {
	all := !slices.ContainsFunc(readers, func(r Reader) bool { return r.Storages != nil })
	if all && len(p.SiteWhitelist)+len(p.SiteBlacklist) == 0 && !p.TrustSitelists {
		return nil
	}
	sites := map[string][]string{}
	note := func(storage string) {
		if _, known := sites[storage]; known {
			return
		}
		sites[storage] = []string{}
		for _, r := range readers {
			if r.reads(storage) {
				sites[storage] = append(sites[storage], r.Name)
			}
		}
	}
	note("")
	for i := range files {
		for _, storage := range files[i].Locations {
			note(storage)
		}
	}
	return sites
}

// Heeded returns the settings of a splitter for a grid job with the clusters readers. If only the site lists decide
// where a part may run (TrustSitelists), it removes all other clusters from the whitelist.
func Heeded(p split.Params, readers []Reader) split.Params {
	if p.TrustSitelists {
		p.SiteWhitelist = slices.DeleteFunc(slices.Clone(p.SiteWhitelist), func(name string) bool {
			return !slices.ContainsFunc(readers, func(r Reader) bool { return r.Name == name })
		})
	}
	return p
}

// Candidates returns the clusters that a job file names and the site has, best first; the
// first cluster of the site if the job file names none. An unknown cluster is a problem.
func Candidates(named, site []string) (clusters []string, problems jjm.Problems) {
	switch {
	case len(named) == 0:
		return site[:min(1, len(site))], nil
	case len(named) == 1 && named[0] == jjm.AnyCluster:
		return site, nil
	}
	for _, name := range named {
		if slices.Contains(site, name) {
			clusters = append(clusters, name)
			continue
		}
		problems = append(problems, jjm.Problem{Field: "clusters",
			Text: fmt.Sprintf("unknown cluster %.40q: this site has %s", name, strings.Join(site, ", "))})
	}
	return clusters, problems
}

// CheckSiteLists returns a problem for each unknown cluster in the site lists. It also returns a problem if the lists
// exclude every cluster that the grid job may use, because no local job could be created. prefix is the key of the
// settings, such as "split.params".
func CheckSiteLists(prefix string, p *split.Params, site, clusters []string) (ps jjm.Problems) {
	for _, list := range []struct {
		key   string
		names []string
	}{{"siteWhitelist", p.SiteWhitelist}, {"siteBlacklist", p.SiteBlacklist}} {
		for i, name := range list.names {
			if !slices.Contains(site, name) {
				ps = append(ps, jjm.Problem{Field: fmt.Sprintf("%s.%s[%d]", prefix, list.key, i),
					Text: fmt.Sprintf("unknown cluster %.40q: this site has %s", name, strings.Join(site, ", "))})
			}
		}
	}
	if len(ps) > 0 || len(clusters) == 0 {
		return ps
	}
	bad := func(key, format string, args ...any) jjm.Problems {
		return jjm.Problems{{Field: prefix + "." + key, Text: fmt.Sprintf(format, args...)}}
	}
	may := strings.Join(clusters, ", ")
	left := slices.DeleteFunc(slices.Clone(clusters), func(name string) bool {
		listed := len(p.SiteWhitelist) == 0 && !p.TrustSitelists || slices.Contains(p.SiteWhitelist, name)
		return !listed || slices.Contains(p.SiteBlacklist, name)
	})
	switch {
	case len(left) > 0:
		return nil
	case p.TrustSitelists && len(p.SiteWhitelist) == 0:
		return bad(
			"trustSitelists", "lets siteWhitelist alone say where local jobs may run, and there is none: name clusters in it, of those that the grid job may use: %s", may)
	case len(p.SiteWhitelist) > 0:
		return bad(
			"siteWhitelist", "leaves none of the clusters that the grid job may use, %s: name one of them, or others with the key clusters of the job file", may)
	}
	return bad(
		"siteBlacklist", "leaves none of the clusters that the grid job may use, %s: name fewer, or others with the key clusters of the job file", may)
}
