package plan_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

func TestReconcile_Cases(t *testing.T) {
	found := func(p adapters.Presence, ids ...string) adapters.Found { return adapters.Found{Presence: p, IDs: ids} }
	const settle = time.Minute
	now := jjm.Time(10_000_000)
	old, fresh := now.Add(-time.Hour), now.Add(-time.Second)
	for name, c := range map[string]struct {
		facts plan.BulkFacts
		do    plan.BulkDo
		id    string
		extra []string
	}{
		"found": {plan.BulkFacts{Tried: fresh, Found: found(adapters.Present, "7")}, plan.BulkAdopt,
			"7", nil},
		"found, refused": {plan.BulkFacts{Tried: fresh, Refused: true, Found: found(adapters.Present, "7")},
			plan.BulkAdopt, "7", nil},
		"found twice": {plan.BulkFacts{Tried: fresh, Found: found(adapters.Present, "7", "8", "7")},
			plan.BulkAdopt, "7", []string{"8"}},
		"found twice, the other runs": {plan.BulkFacts{Found: found(adapters.Present, "7", "8", "9"),
			Holders: map[string]int{"8": 3, "7": 1}}, plan.BulkAdopt, "8", []string{"7", "9"}},
		"found without an id": {plan.BulkFacts{Tried: old, Found: found(adapters.Present)}, plan.BulkWait, "", nil},
		"forgotten, but wrappers ran": {plan.BulkFacts{Tried: old, Found: found(adapters.Absent), WrapperClaims: 2,
			Holders: map[string]int{"7": 2}}, plan.BulkAdopt, "7", nil},
		"wrappers ran, ids unknown": {plan.BulkFacts{Tried: old, Found: found(adapters.Absent), WrapperClaims: 2},
			plan.BulkAdopt, "", nil},
		"not known yet": {plan.BulkFacts{Tried: old}, plan.BulkWait, "", nil},
		"no answer":     {plan.BulkFacts{Tried: old, FindErr: true}, plan.BulkWait, "", nil},
		"no answer, whatever it says": {plan.BulkFacts{Tried: old, FindErr: true, Found: found(adapters.Absent)},
			plan.BulkWait, "", nil},
		"no answer, and not wanted": {plan.BulkFacts{Tried: old, FindErr: true, Refused: true}, plan.BulkWait, "", nil},
		"absent too soon":           {plan.BulkFacts{Tried: fresh, Found: found(adapters.Absent)}, plan.BulkWait, "", nil},
		"absent too soon, not wanted": {plan.BulkFacts{Tried: fresh, Found: found(adapters.Absent), Refused: true},
			plan.BulkWait, "", nil},
		"absent":              {plan.BulkFacts{Tried: old, Found: found(adapters.Absent)}, plan.BulkSubmit, "", nil},
		"absent, never tried": {plan.BulkFacts{Found: found(adapters.Absent)}, plan.BulkSubmit, "", nil},
		"absent, not wanted": {plan.BulkFacts{Tried: old, Found: found(adapters.Absent), Refused: true},
			plan.BulkRefuse, "", nil},
		"busy just now":    {plan.BulkFacts{Tried: fresh, Tries: 1, Busy: true}, plan.BulkWait, "", nil},
		"busy a while ago": {plan.BulkFacts{Tried: old, Tries: 1, Busy: true}, plan.BulkSubmit, "", nil},
		"refused at once":  {plan.BulkFacts{Tried: fresh, Busy: true, Refused: true}, plan.BulkRefuse, "", nil},
		"the clock was set back": {plan.BulkFacts{Tried: now.Add(time.Hour), Found: found(adapters.Absent)},
			plan.BulkWait, "", nil},
		"absent, many tries, a minute": {plan.BulkFacts{Tried: now.Add(-time.Minute), Tries: 30,
			Found: found(adapters.Absent)}, plan.BulkWait, "", nil},
		"the same after an outage": {plan.BulkFacts{Tried: now.Add(-time.Minute), Tries: 30, Back: true,
			Found: found(adapters.Absent)}, plan.BulkSubmit, "", nil},
		"too soon after an outage": {plan.BulkFacts{Tried: fresh, Tries: 30, Back: true, Found: found(adapters.Absent)},
			plan.BulkWait, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			c.facts.Now, c.facts.Settle = now, settle
			a := plan.Reconcile(c.facts)
			if a.Do != c.do || a.ID != c.id || !slices.Equal(a.Cancel, c.extra) || a.Why == "" {
				t.Errorf("%+v", a)
			}
			if (a.Do == plan.BulkWait) != (a.After > 0) || a.After > 5*time.Minute {
				t.Errorf("look again after %s", a.After)
			}
		})
	}
}

func TestReconcile_NeverSubmitsOrRefusesWhatMayExist(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := plan.BulkFacts{
			Now: 1_000_000_000, Tried: jjm.Time(rapid.Int64Range(0, 1_000_600_000).Draw(t, "tried")),
			Tries: rapid.IntRange(0, 100).Draw(t, "tries"),
			Found: adapters.Found{Presence: adapters.Presence(rapid.IntRange(0, 2).Draw(t, "presence")),
				IDs: rapid.SliceOfN(rapid.SampledFrom([]string{"7", "8", "9"}), 0, 4).Draw(t, "ids")},
			FindErr:       rapid.Bool().Draw(t, "find error"),
			WrapperClaims: rapid.IntRange(0, 2).Draw(t, "claims"),
			Settle:        time.Duration(rapid.IntRange(0, 600).Draw(t, "settle")) * time.Second,
			Refused:       rapid.Bool().Draw(t, "refused"), Busy: rapid.Bool().Draw(t, "busy"),
			Back: rapid.Bool().Draw(t, "back"),
		}
		if f.Found.Presence != adapters.Present {
			f.Found.IDs = nil
		}
		a := plan.Reconcile(f)
		gone := f.Found.Presence == adapters.Absent && !f.FindErr && (f.Tried == 0 || f.Now.Sub(f.Tried) >= f.Settle)
		mayExist := f.Found.Presence == adapters.Present || f.WrapperClaims > 0 || !f.Busy && !gone
		if (a.Do == plan.BulkSubmit || a.Do == plan.BulkRefuse) && mayExist {
			t.Fatalf("%s: %+v", a.Do, f)
		}
		if a.Do == plan.BulkSubmit && f.Refused {
			t.Fatalf("submitted what is not wanted: %+v", f)
		}
		if a.Do == plan.BulkAdopt && slices.Contains(a.Cancel, a.ID) {
			t.Fatalf("keeps and cancels %s", a.ID)
		}
		if a.Do == plan.BulkAdopt && len(f.Found.IDs) > 0 {
			all := append(slices.Clone(a.Cancel), a.ID)
			slices.Sort(all)
			if want := slices.Compact(slices.Sorted(slices.Values(f.Found.IDs))); !slices.Equal(all, want) {
				t.Fatalf("of %v kept and cancelled %v", want, all)
			}
		}
	})
}

// batchSystem simulates a batch system. It shows bulks late, but within its settle time, and at first its searches
// fail.
type batchSystem struct {
	now    jjm.Time
	arrive []jjm.Time // when each submission becomes visible, 0 = never
	sick   int        // how many searches still fail or do not know the answer
	settle time.Duration
}

func (b *batchSystem) find() (adapters.Found, bool) {
	if b.sick > 0 {
		b.sick--
		return adapters.Found{}, b.sick%2 == 0
	}
	f := adapters.Found{Presence: adapters.Absent}
	for i, at := range b.arrive {
		if at != 0 && at <= b.now {
			f.Presence = adapters.Present
			f.IDs = append(f.IDs, string(rune('a'+i)))
		}
	}
	return f, false
}

func TestReconcile_EndsWithExactlyOneBulk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &batchSystem{now: 1_000_000, settle: time.Duration(rapid.IntRange(1, 300).Draw(t, "settle")) * time.Second}
		tries, tried := 0, b.now
		submit := func() {
			tries, tried = tries+1, b.now
			at := jjm.Time(0) // the command died before it did anything
			if tries >= 5 || rapid.Bool().Draw(t, "works") {
				at = b.now.Add(time.Duration(rapid.IntRange(0, int(b.settle/time.Second)-1).Draw(t, "late")) * time.Second)
			}
			b.arrive = append(b.arrive, at)
			b.sick = rapid.IntRange(0, 6).Draw(t, "sick")
		}
		submit()
		for step := 0; ; step++ {
			if step > 200 {
				t.Fatalf("not settled after %d tries", tries)
			}
			found, failed := b.find()
			a := plan.Reconcile(plan.BulkFacts{Now: b.now, Tried: tried, Tries: tries, Found: found, FindErr: failed,
				Settle: b.settle})
			switch a.Do {
			case plan.BulkWait:
				b.now = b.now.Add(a.After)
			case plan.BulkSubmit:
				submit()
			case plan.BulkAdopt:
				real := 0
				for _, at := range b.arrive {
					if at != 0 {
						real++
					}
				}
				if real != 1 || len(a.Cancel) != 0 || a.ID == "" {
					t.Fatalf("%d bulks exist: %+v", real, a)
				}
				return
			default:
				t.Fatalf("%+v", a)
			}
		}
	})
}
