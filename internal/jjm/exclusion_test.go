package jjm

import (
	"strings"
	"testing"
)

func TestIsHost_NamesHaveNoMeaningToABatchSystem(t *testing.T) {
	for _, good := range []string{"wn13", "WN-13.example.org", "gpu_7", "1", strings.Repeat("a", MaxHost)} {
		if !IsHost(good) {
			t.Errorf("%q is refused", good)
		}
	}
	for _, bad := range []string{"", "-x", "a-", ".a", "a.", "a..b", "a,b", "n[1-3]", "a b",
		"a|b", "!a", "*", "a/b", "/etc/hosts",
		"a\n", "a\x00", "a=b", `a"b`, "$(x)", "ä", strings.Repeat("a", MaxHost+1)} {
		if IsHost(bad) {
			t.Errorf("%q is accepted", bad)
		}
	}
}
