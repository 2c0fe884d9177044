package site

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"jjm/adapters/testbed"
)

// OnBed is the part of a configuration that makes a cluster of a batch system of
// scripts/testbed, named as its kind.
func OnBed(b *testbed.Bed, kind string) string {
	env := []string{}
	for _, name := range slices.Sorted(maps.Keys(b.Env)) {
		env = append(env, fmt.Sprintf("%s = %q", name, b.Env[name]))
	}
	return fmt.Sprintf("[[cluster]]\nname = %q\nkind = %q\nbin = %q\nenv = {%s}\n", kind, kind, b.Bin,
		strings.Join(env, ", "))
}
