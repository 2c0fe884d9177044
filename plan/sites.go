package plan

import (
	"fmt"
	"slices"
	"strings"

	"jjm"
	"jjm/split"
)

// Reader is a cluster that a grid job may use.
type Reader struct {
	Name string
	// Storages are those that its workers can read files from; nil = all.
	Storages []string
}

// reads reports whether files at a storage can be read there. Where a file is that
// tells no location, "", only those know that can read all.
func (r Reader) reads(storage string) bool {
	return r.Storages == nil || slices.Contains(r.Storages, storage)
}

// Sites says for split.Work which of the clusters of a grid job can read from each
// storage that its files name. It is nil where that makes no difference: all of
// them can read all, and no site list chooses among them.
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

// Heeded returns the settings of a splitter for a grid job with these clusters: where
// the site lists alone say where a part may run, they can only name those.
func Heeded(p split.Params, readers []Reader) split.Params {
	if p.TrustSitelists {
		p.SiteWhitelist = slices.DeleteFunc(slices.Clone(p.SiteWhitelist), func(name string) bool {
			return !slices.ContainsFunc(readers, func(r Reader) bool { return r.Name == name })
		})
	}
	return p
}

// Candidates returns the clusters that a job file names, best first, those that the
// site has; the first one of the site if it names none.
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
			Text: fmt.Sprintf("unknown cluster %.40q: this site has %v", name, site)})
	}
	return clusters, problems
}

// CheckSiteLists finds site lists that name what is no cluster of the site, or that
// leave none of those which the grid job may use: each of its local jobs would be
// createfailed. The fields are those of the settings, below prefix.
func CheckSiteLists(prefix string, p *split.Params, site, clusters []string) (ps jjm.Problems) {
	for _, list := range []struct {
		key   string
		names []string
	}{{"siteWhitelist", p.SiteWhitelist}, {"siteBlacklist", p.SiteBlacklist}} {
		for i, name := range list.names {
			if !slices.Contains(site, name) {
				ps = append(ps, jjm.Problem{Field: fmt.Sprintf("%s.%s[%d]", prefix, list.key, i),
					Text: fmt.Sprintf("unknown cluster %.40q: this site has %v", name, site)})
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
