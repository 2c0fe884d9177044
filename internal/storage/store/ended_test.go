package store

import (
	"testing"

	"jjm/internal/jjm"
)

func TestEndedAfter_ReturnsEachAttemptOnceArchivedOrNot(t *testing.T) {
	s := worked(t)
	last, err := s.LastEnded(t.Context())
	if err != nil || last != 5 { // one end of grid job 1, two ends each of grid jobs 2 and 3
		t.Fatalf("last %d, %v", last, err)
	}
	seen := map[jjm.LocalID]bool{}
	for seq := int64(0); ; {
		es, err := s.EndedAfter(t.Context(), seq, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(es) == 0 {
			break
		}
		for _, e := range es {
			if seen[e.Attempt.LocalID] || e.Seq <= seq || e.User == "" || e.Cluster == "" {
				t.Errorf("%+v", e)
			}
			seq, seen[e.Attempt.LocalID] = e.Seq, true
		}
	}
	if len(seen) != 5 {
		t.Errorf("%d attempts: %v", len(seen), seen)
	}
	if n, err := fresh(t).LastEnded(t.Context()); n != 0 || err != nil {
		t.Errorf("an empty store: %d, %v", n, err)
	}
}
