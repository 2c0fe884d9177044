package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/work/split"
)

func TestSites_ReadersOfEachStorage(t *testing.T) {
	files := []jjm.File{{LFN: "1", Locations: []string{"a"}}, {LFN: "2", Locations: []string{"a", "b"}}, {LFN: "3"},
		{LFN: "4", Locations: []string{"c"}}}
	all := plan.Reader{Name: "all"}
	a, ab := plan.Reader{Name: "a", Storages: []string{"a"}}, plan.Reader{Name: "ab", Storages: []string{"a", "b"}}
	for name, c := range map[string]struct {
		readers []plan.Reader
		params  split.Params
		want    map[string][]string
	}{
		"all read all": {[]plan.Reader{all, {Name: "too"}}, split.Params{}, nil},
		"some do not": {[]plan.Reader{all, a, ab}, split.Params{},
			map[string][]string{"": {"all"}, "a": {"all", "a", "ab"}, "b": {"all", "ab"}, "c": {"all"}}},
		"nowhere": {[]plan.Reader{a, ab}, split.Params{},
			map[string][]string{"": {}, "a": {"a", "ab"}, "b": {"ab"}, "c": {}}},
		"a site list counts": {[]plan.Reader{all}, split.Params{SiteBlacklist: []string{"x"}},
			map[string][]string{"": {"all"}, "a": {"all"}, "b": {"all"}, "c": {"all"}}},
	} {
		if diff := cmp.Diff(c.want, plan.Sites(c.readers, &c.params, files)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestHeeded_TrustedListsAreLimitedToTheGridJobsClusters(t *testing.T) {
	readers := []plan.Reader{{Name: "a"}, {Name: "b"}}
	list := []string{"b", "c"}
	trusted := plan.Heeded(split.Params{TrustSitelists: true, SiteWhitelist: list}, readers)
	plain := plan.Heeded(split.Params{SiteWhitelist: list}, readers)
	if !cmp.Equal(trusted.SiteWhitelist, []string{"b"}) || !cmp.Equal(plain.SiteWhitelist, list) || list[1] != "c" {
		t.Error(trusted.SiteWhitelist, plain.SiteWhitelist, list)
	}
}

func TestCheckSiteLists_RefusesInvalidLists(t *testing.T) {
	for name, c := range map[string]struct {
		params split.Params
		field  string
		text   string
	}{
		"nothing said":  {split.Params{}, "", ""},
		"some are left": {split.Params{SiteWhitelist: []string{"b", "c"}, SiteBlacklist: []string{"c"}}, "", ""},
		"trusted":       {split.Params{TrustSitelists: true, SiteWhitelist: []string{"b"}}, "", ""},
		"no cluster": {split.Params{SiteWhitelist: []string{"b", "x"}}, "p.siteWhitelist[1]",
			`unknown cluster "x": this site has a, b, c`},
		"no cluster, black": {split.Params{SiteBlacklist: []string{"x"}}, "p.siteBlacklist[0]",
			`unknown cluster "x": this site has a, b, c`},
		"not the grid job's": {split.Params{SiteWhitelist: []string{"c"}}, "p.siteWhitelist",
			"leaves none of the clusters that the grid job may use, a, b: name one of them, or others with the key clusters of the job file"},
		"all are black": {split.Params{SiteBlacklist: []string{"a", "b"}}, "p.siteBlacklist",
			"leaves none of the clusters that the grid job may use, a, b: name fewer, or others with the key clusters of the job file"},
		"nothing to trust": {split.Params{TrustSitelists: true}, "p.trustSitelists",
			"lets siteWhitelist alone say where local jobs may run, and there is none: name clusters in it, of those that the grid job may use: a, b"},
	} {
		t.Run(name, func(t *testing.T) {
			ps := plan.CheckSiteLists("p", &c.params, []string{"a", "b", "c"}, []string{"a", "b"})
			var want jjm.Problems
			if c.text != "" {
				want = jjm.Problems{{Field: c.field, Text: c.text}}
			}
			if diff := cmp.Diff(want, ps); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCandidates_OfAJobFile(t *testing.T) {
	site := []string{"a", "b", "c"}
	for name, c := range map[string]struct {
		named, want []string
		problems    int
	}{
		"the default": {nil, []string{"a"}, 0}, "any": {[]string{"any"}, site, 0},
		"some":            {[]string{"c", "a"}, []string{"c", "a"}, 0},
		"one that is not": {[]string{"c", "x"}, []string{"c"}, 1},
	} {
		got, ps := plan.Candidates(c.named, site)
		if !cmp.Equal(got, c.want) || len(ps) != c.problems {
			t.Errorf("%s: %v %v", name, got, ps)
		}
	}
}
