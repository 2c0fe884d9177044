package condor

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"jjm/adapters"
)

// file plays a schedd's history: records of ours and of others, the oldest first.
type file struct {
	records []record
	// hidden is how many of the youngest but one a scan misses, as when the file
	// is rotated under it.
	hidden int
	read   int // records, by all scans
}

func (f *file) add(now int64, mine bool, age int64) {
	n := len(f.records) + 1
	r := record{jobID: jobID{int64(n), int32(n % 3)}, tag: "a", owner: "ann", status: completed, queued: now - age - 5, entered: now - age}
	if !mine {
		r.tag, r.owner = "", "eve"
	}
	f.records = append(f.records, r)
}

// scan answers as condor_history does to scan.args.
func (f *file) scan(s scan, stay int64) (found []record) {
	for i, r := range slices.Backward(f.records) {
		if (spot{r.jobID, r.queued}) == s.stop {
			break
		}
		f.read++
		if behind := len(f.records) - 1 - i; behind > 0 && behind <= f.hidden {
			continue
		}
		if r.owner != "ann" {
			continue
		}
		if r.entered < s.from-stay {
			break
		}
		if !s.whole || r.entered >= s.from {
			found = append(found, r)
		}
	}
	return found
}

func (f *file) newest() spot {
	if len(f.records) == 0 {
		return spot{}
	}
	r := f.records[len(f.records)-1]
	return spot{r.jobID, r.queued}
}

func (f *file) truth(from int64) map[tagged]bool {
	all := map[tagged]bool{}
	for _, r := range f.records {
		if r.owner == "ann" && r.entered >= from {
			all[tagged{r.tag, r.jobID}] = true
		}
	}
	return all
}

// pastOf makes an adapter on a clock that the test moves.
func pastOf(now *int64) *Adapter {
	return &Adapter{past: map[string]*past{}, config: DefaultConfig(), env: adapters.Env{Now: func() time.Time { return time.Unix(*now, 0) }}}
}

func (a *Adapter) list(f *file, from, stay int64) map[tagged]bool {
	s := a.scanFrom("ann", from)
	if s.ask {
		s.newest = f.newest()
	}
	got := map[tagged]bool{}
	for _, r := range a.learned("ann", s, f.scan(s, stay), from) {
		got[tagged{r.tag, r.jobID}] = true
	}
	return got
}

// Whatever comes in whatever order, and whatever time is asked for, the answer
// is that of a scan of everything.
func TestPast_IsTheWholeHistory(t *testing.T) {
	const stay = 3600
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		now := int64(1_000_000)
		a, f := pastOf(&now), &file{}
		for step := range 120 {
			now += rnd.Int64N(30)
			for range rnd.IntN(6) {
				f.add(now, rnd.IntN(3) > 0, rnd.Int64N(stay))
			}
			from := now - []int64{0, 10, 4000, 9000}[rnd.IntN(4)]
			if got, want := a.list(f, from, stay), f.truth(from); !maps.Equal(got, want) {
				t.Fatalf("seed %d, step %d: %d jobs, want %d", seed, step, len(got), len(want))
			}
		}
	}
}

// What one scan misses the next ones find, if it is there within the overlap.
func TestPast_AMissedRecordIsFoundLater(t *testing.T) {
	now := int64(1_000_000)
	a, f := pastOf(&now), &file{}
	for range 50 {
		for range 5 {
			f.add(now, true, 0)
		}
		f.hidden = 4
		a.list(f, now-3000, 3600)
		f.hidden = 0
		now += int64(overlap.Seconds()) - 1
		if got, want := a.list(f, now-3000, 3600), f.truth(now-3000); !maps.Equal(got, want) {
			t.Fatalf("%d jobs, want %d", len(got), len(want))
		}
		now += 5
	}
}

// A quiet listing reads nothing, also behind the records of others.
func TestPast_AListingReadsWhatIsNew(t *testing.T) {
	now := int64(1_000_000)
	a, f := pastOf(&now), &file{}
	for range 5000 {
		f.add(now, true, 0)
	}
	list := func() int {
		before := f.read
		a.list(f, now-3000, 3600)
		now += int64(overlap.Seconds())
		return f.read - before
	}
	list()
	list()
	if n := list(); n != 0 {
		t.Errorf("%d records read again", n)
	}
	f.add(now, true, 0)
	if n := list(); n != 1 {
		t.Errorf("%d records read for a new one", n)
	}
	for range 5000 {
		f.add(now, false, 0)
	}
	for range int(askNewest/overlap) + 3 {
		list()
	}
	if n := list(); n != 0 {
		t.Errorf("%d records of others read again", n)
	}
}

func TestPast_ForgetsWhatNobodyAsksFor(t *testing.T) {
	now := int64(1_000_000)
	a, f := pastOf(&now), &file{}
	for range 100 {
		f.add(now, true, 0)
		a.list(f, now-600, 3600)
		now += 600
	}
	if n := len(a.past["ann"].records); n > 20 {
		t.Errorf("%d records are remembered", n)
	}
}

func TestScan_Args(t *testing.T) {
	tests := map[string]struct {
		scan       scan
		constraint string
		since      string
	}{
		"the first": {scan{from: 10_000, whole: true}, `X && EnteredCurrentStatus >= 10000`, `(X && EnteredCurrentStatus < 6400)`},
		"a later one": {scan{from: 10_000, stop: spot{jobID{7, 2}, 99}}, `X`,
			`(ClusterId == 7 && ProcId == 2 && QDate == 99) || (X && EnteredCurrentStatus < 6400)`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := tt.scan.args("X", time.Hour)
			want := []string{"condor_history", "-since", tt.since, "-constraint", tt.constraint}
			if !slices.Equal(got[:len(want)], want) {
				t.Errorf("%q, want %q", got[:len(want)], want)
			}
		})
	}
}

func TestNewestOf(t *testing.T) {
	tests := map[string]spot{
		"ClusterId ProcId QDate\n338       28     1795286116\n": {jobID{338, 28}, 1795286116}, // HTCondor 23.9.6
		"ClusterId ProcId QDate\n":                              {},
		"":                                                      {},
		"338 28 1795286116\n":                                   {},
		"ClusterId ProcId QDate\n338 28 undefined\n":           {},
		"ClusterId ProcId QDate\n338 28 1795286116 7\n":        {},
		"ClusterId ProcId QDate\n338 99999999999 1795286116\n": {},
	}
	for text, want := range tests {
		if got := newestOf(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func FuzzNewestOf(f *testing.F) {
	f.Add("ClusterId ProcId QDate\n338       28     1795286116\n")
	f.Add("ClusterId ProcId QDate\n")
	f.Fuzz(func(t *testing.T, text string) {
		m := newestOf(text)
		if m.cluster < 0 || m.proc < 0 || m.queued < 0 {
			t.Errorf("%+v of %q", m, text)
		}
		if again := fmt.Sprintf("ClusterId ProcId QDate\n%d %d %d\n", m.cluster, m.proc, m.queued); m != (spot{}) && newestOf(again) != m {
			t.Errorf("%+v of %q", m, text)
		}
	})
}
