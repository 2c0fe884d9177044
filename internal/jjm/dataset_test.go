package jjm

import (
	"strings"
	"testing"
)

func TestCheckDatasetName_CountsUpTo255AndLooksAtEachCharacter(t *testing.T) {
	long := strings.Repeat("a", 254)
	for _, good := range []string{"a", "/data/run:7+x=@#-", long + "/"} {
		if problem := CheckDatasetName(good); problem != "" {
			t.Errorf("%.20q: %s", good, problem)
		}
	}
	for _, bad := range []string{"", ".a", "-a", "a b", "a\n", "ä", long + "aa", long + " "} {
		if CheckDatasetName(bad) == "" {
			t.Errorf("%.20q is taken", bad)
		}
	}
}
