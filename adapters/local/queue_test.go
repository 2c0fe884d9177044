package local

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// site simulates accounts that submit jobs, and jobs that end in any order.
type site struct {
	t       *rapid.T
	slots   int
	free    int
	started int64
	owners  []*owner
}

type owner struct {
	standing
	waiting []int // cores of each waiting job, oldest first
	running []int
	begun   int // jobs that started
}

func newSite(t *rapid.T, owners int) *site {
	slots := rapid.IntRange(1, 6).Draw(t, "slots")
	s := &site{t: t, slots: slots, free: slots}
	for range owners {
		s.owners = append(s.owners, &owner{})
	}
	return s
}

// turns returns the accounts with waiting jobs and their indices.
func (s *site) turns() (turns []turn, who []int) {
	for i, o := range s.owners {
		if len(o.waiting) > 0 {
			turns, who = append(turns, turn{o.standing, o.waiting[0], int64(i)}), append(who, i)
		}
	}
	return turns, who
}

// startAll starts all jobs that may start, and checks each start.
func (s *site) startAll() {
	for {
		turns, who := s.turns()
		next, passed := whoseTurn(turns, s.free, s.slots)
		if next < 0 {
			s.checkIdle(turns)
			return
		}
		s.checkStart(turns, next, passed)
		o := s.owners[who[next]]
		s.started++
		s.free -= o.waiting[0]
		o.standing = standing{cores: o.cores + o.waiting[0], served: s.started}
		o.running, o.waiting, o.begun = append(o.running, o.waiting[0]), o.waiting[1:], o.begun+1
		for _, i := range passed {
			s.owners[who[i]].passed++
		}
	}
}

// checkIdle fails the test if cores are free although a job fits. That is allowed only if another job that does not fit
// was passed as often as there are slots, because the free cores are then reserved for it.
func (s *site) checkIdle(turns []turn) {
	fits := slices.ContainsFunc(turns, func(t turn) bool { return t.need <= s.free })
	kept := slices.ContainsFunc(turns, func(t turn) bool { return t.need > s.free && t.passed >= s.slots })
	if fits && !kept {
		s.t.Fatalf("%d cores idle, and a job fits: %+v", s.free, turns)
	}
}

// checkStart requires that the owner whose job starts uses no more cores than any other owner whose next job fits and,
// among the owners with equally few cores, was served longest ago. While no job ends, no owner therefore starts two
// jobs before another owner who waits, fits and had as few cores.
func (s *site) checkStart(turns []turn, next int, passed []int) {
	got := turns[next]
	if got.need > s.free {
		s.t.Fatalf("%+v does not fit in %d", got, s.free)
	}
	for i, other := range turns {
		if i != next && other.need <= s.free && other.before(got) {
			s.t.Fatalf("%+v starts before %+v", got, other)
		}
		if i != next && other.before(got) != slices.Contains(passed, i) {
			s.t.Fatalf("%+v starts: %+v was passed, or not, and counts otherwise", got, other)
		}
		if slices.Contains(passed, i) && other.passed >= s.slots {
			s.t.Fatalf("%+v was passed more often than there are slots", other)
		}
	}
}

// play lets jobs come and end at random.
func (s *site) play(steps, widest int) {
	for range steps {
		o := s.owners[rapid.IntRange(0, len(s.owners)-1).Draw(s.t, "owner")]
		if len(o.running) > 0 && rapid.Bool().Draw(s.t, "ends") {
			i := rapid.IntRange(0, len(o.running)-1).Draw(s.t, "which")
			s.free, o.cores = s.free+o.running[i], o.cores-o.running[i]
			o.running = slices.Delete(o.running, i, i+1)
		} else {
			need := rapid.IntRange(1, min(widest, s.slots)).Draw(s.t, "cores")
			for range rapid.IntRange(1, 5).Draw(s.t, "jobs") {
				o.waiting = append(o.waiting, need)
			}
		}
		s.startAll()
	}
}

func TestQueue_OwnersTakeTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { newSite(t, rapid.IntRange(1, 4).Draw(t, "owners")).play(60, 6) })
}

// If all jobs need one core, an owner whose job has just started does not start the next job too, unless all other
// waiting owners had more cores in use than this owner had before.
func TestQueue_NobodyStartsTwiceInARowBeforeAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turns := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) turn {
			cores, served := rapid.IntRange(0, 3).Draw(t, "cores"), rapid.Int64Range(1, 9).Draw(t, "served")
			return turn{standing{cores: cores, served: served}, 1, rapid.Int64Range(1, 1<<40).Draw(t, "id")}
		}), 2, 5).Draw(t, "turns")
		first, _ := whoseTurn(turns, 4, 4)
		uses := turns[first].cores
		turns[first].served = 10 // as if its job started and ended immediately
		others := slices.Delete(slices.Clone(turns), first, first+1)
		another := slices.ContainsFunc(others, func(o turn) bool { return o.cores <= uses })
		if again, _ := whoseTurn(turns, 4, 4); again == first && another {
			t.Fatalf("%d starts twice: %+v", first, turns)
		}
	})
}

// The jobs of a single owner start in the order of submission: no job overtakes a wide job.
func TestQueue_OneOwnerIsServedInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSite(t, 1)
		s.play(40, 6)
		if o := s.owners[0]; len(o.waiting) > 0 && o.waiting[0] <= s.free {
			t.Fatalf("its oldest job wants %d of %d free cores and waits", o.waiting[0], s.free)
		}
	})
}

// While a wide job of an account waits for cores, small jobs of other accounts may start before it only as often as
// there are slots. After that the free cores are kept for the wide job.
func TestQueue_AWideJobKeepsNobodyWaitingForLong(t *testing.T) {
	wide := turn{standing{}, 4, 1}
	small := turn{standing{cores: 1}, 1, 2}
	const slots, free = 4, 3
	for passed := range slots {
		wide.passed = passed
		if next, over := whoseTurn([]turn{wide, small}, free, slots); next != 1 || len(over) != 1 {
			t.Errorf("passed %d times: %d starts and passes %v", passed, next, over)
		}
	}
	wide.passed = slots
	if next, _ := whoseTurn([]turn{wide, small}, free, slots); next >= 0 {
		t.Error("it is passed for ever")
	}
}

func TestQueue_TheWaitHasItsReason(t *testing.T) {
	for want, got := range map[string]string{
		"free cores: 2 of 2 taken, 0 by this account; 3 accounts take turns": waitText(1, 2, 0, 0, 3),
		"free cores: 8 of 8 taken, 8 by this account":                        waitText(1, 8, 0, 8, 1),
		"4 free cores: 5 of 8 taken, 1 by this account":                      waitText(4, 8, 3, 1, 1),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
