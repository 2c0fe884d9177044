package verdict

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

// If the store refuses some of the rows, all other judgements are stored, each once, whatever the refused rows are and
// whatever grid jobs they belong to.
func TestProperty_RefusedRowsHoldUpNoOtherJudgement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bad := map[jjm.AttemptID]bool{}
		var all []judgement
		for n := range rapid.IntRange(1, 60).Draw(t, "attempts") {
			id := jjm.AttemptID{LocalID: jjm.LocalID{Grid: jjm.GridID(rapid.IntRange(1, 4).Draw(t, "grid")), N: int32(n)}}
			bad[id] = rapid.IntRange(0, 9).Draw(t, "bad") == 0
			all = append(all, judgement{id: id})
		}
		stored, refused := map[jjm.AttemptID]int{}, map[jjm.AttemptID]int{}
		st := storing{tries: 1000, shuffle: rand.Shuffle,
			put: func(_ context.Context, js []judgement) error {
				for _, j := range js {
					if bad[j.id] {
						return jjm.Errorf(jjm.Internal, "a row is refused")
					}
				}
				for _, j := range js {
					stored[j.id]++
				}
				return nil
			},
			refuse: func(js []judgement, _ error) {
				for _, j := range js {
					refused[j.id]++
				}
			}}
		err := st.each(context.Background(), all)
		for id, bad := range bad {
			if bad && (refused[id] != 1 || stored[id] != 0 || err == nil) || !bad && (refused[id] != 0 || stored[id] != 1) {
				t.Fatalf("%+v, bad %t: stored %d times, refused %d times, error %v", id, bad, stored[id], refused[id], err)
			}
		}
	})
}

// If the store is busy, for example because the disk is full, only one transaction is tried, and no judgement counts as
// refused.
func TestStoring_ABusyStoreIsAskedOnce(t *testing.T) {
	puts := 0
	st := storing{tries: triesOfRows, shuffle: rand.Shuffle,
		put:    func(context.Context, []judgement) error { puts++; return jjm.Errorf(jjm.Busy, "the disk is full") },
		refuse: func(js []judgement, err error) { t.Errorf("refused: %v", err) }}
	if err := st.each(context.Background(), make([]judgement, 9)); jjm.KindOf(err) != jjm.Busy || puts != 1 {
		t.Errorf("%d transactions: %v", puts, err)
	}
}

// If the store refuses every judgement of a full batch, few transactions are needed to find this out.
func TestStoring_ManyRefusedRowsCostFewTransactions(t *testing.T) {
	puts, refused := 0, 0
	st := storing{tries: triesOfRows, shuffle: rand.Shuffle,
		put:    func(context.Context, []judgement) error { puts++; return jjm.Errorf(jjm.Conflict, "refused") },
		refuse: func(js []judgement, _ error) { refused += len(js) }}
	if err := st.each(context.Background(), make([]judgement, batchOfVerdicts)); err == nil ||
		puts > 2*triesOfRows || refused != batchOfVerdicts {
		t.Errorf("%d transactions, %d refused: %v", puts, refused, err)
	}
}

// Refused attempts come back with each harvest. However many they are, and although the refused transactions of a
// harvest are limited, all good attempts of the same grid job and of others are stored after some harvests.
func TestStoring_RefusedAttemptsThatComeBackHoldUpNoOthersForEver(t *testing.T) {
	bad := func(j judgement) bool { return j.id.N < 200 || j.id.N%2 == 0 }
	waiting := make([]judgement, batchOfVerdicts)
	for n := range waiting {
		waiting[n].id = jjm.AttemptID{LocalID: jjm.LocalID{Grid: jjm.GridID(1 + n/1000), N: int32(n)}}
	}
	for harvest := 0; slices.ContainsFunc(waiting, func(j judgement) bool { return !bad(j) }); harvest++ {
		if harvest == 2000 {
			t.Fatalf("%d attempts still wait", len(waiting))
		}
		puts, refused := 0, []judgement{}
		st := storing{tries: triesOfRows, shuffle: rand.New(rand.NewPCG(1, uint64(harvest))).Shuffle,
			put: func(_ context.Context, js []judgement) error {
				if puts++; slices.ContainsFunc(js, bad) {
					return jjm.Errorf(jjm.Conflict, "refused")
				}
				return nil
			},
			refuse: func(js []judgement, _ error) { refused = append(refused, js...) }}
		if err := st.each(context.Background(), waiting); err == nil || puts > 2*triesOfRows+3 {
			t.Fatalf("%d transactions: %v", puts, err)
		}
		slices.SortFunc(refused, func(a, b judgement) int { return int(a.id.N - b.id.N) })
		waiting = refused
	}
}
