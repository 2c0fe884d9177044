package jjm_test

import (
	"testing"

	"jjm/internal/jjm"
)

func TestProof_IsAsStrongAsItsWeakestPart(t *testing.T) {
	all := []jjm.Proof{"", jjm.ProofType, jjm.ProofExit, jjm.ProofCount}
	for i, p := range all {
		for k, q := range all {
			if got := p.Weaker(q); got != all[min(i, k)] {
				t.Errorf("of %q and %q: %q", p, q, got)
			}
		}
	}
}
