package jjm

import (
	"slices"
	"testing"
)

func TestMostUrgent_FailedFirstAndBounded(t *testing.T) {
	all := []struct {
		s State
		p Phase
	}{{Completed, ""}, {New, ""}, {Running, ""}, {Failed, ByLimit}, {Submitted, Queued}, {Submitting, RetryWait},
		{Killed, ByPerson}, {FailedFrozen, ""}, {Failed, GivenBack}, {Held, HeldByApp}, {Completing, ""}}
	at := func(i int) (State, Phase) { return all[i].s, all[i].p }
	want := []int{3, 7, 9, 2, 10, 4, 1, 5, 6, 0, 8}
	if got := MostUrgent(len(all), at, 0, 100); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for from := range len(all) + 2 {
		for most := range len(all) + 2 {
			part := want[min(from, len(want)):min(from+most, len(want))]
			if got := MostUrgent(len(all), at, from, most); !slices.Equal(got, part) {
				t.Errorf("%d from %d: %v, want %v", most, from, got, part)
			}
		}
	}
}
