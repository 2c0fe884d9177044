package site

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"jjm/internal/testkit/testbed"
)

// OnBed returns the section of a configuration for a cluster of scripts/testbed. The cluster has the name of its kind.
func OnBed(b *testbed.Bed, kind string) string {
	env := []string{}
	for _, name := range slices.Sorted(maps.Keys(b.Env)) {
		env = append(env, fmt.Sprintf("%s = %q", name, b.Env[name]))
	}
	return fmt.Sprintf("[[cluster]]\nname = %q\nkind = %q\nbin = %q\nenv = {%s}\n", kind, kind, b.Bin,
		strings.Join(env, ", "))
}
