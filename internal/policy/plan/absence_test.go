package plan_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

func TestAbsence_MissingJobStaysActiveUntilProven(t *testing.T) {
	rules := plan.DefaultAbsenceRules()
	since := jjm.Time(1_000_000)
	from := 7 * time.Hour // on the clock of Watched, which is not that of since
	enough := plan.Absence{Since: since, From: from, Listings: 3}
	proven := enough
	proven.Proven = true
	at := from + 10*time.Minute
	for name, c := range map[string]struct {
		a         plan.Absence
		watched   time.Duration
		accounted bool
		fresh     bool
		want      plan.AbsenceVerdict
	}{
		"not missing": {plan.Absence{}, at, true, false, plan.AbsentWait},
		"two listings": {plan.Absence{Since: since, From: from, Listings: 2, Proven: true}, at, true, false,
			plan.AbsentWait},
		"nine minutes":                {proven, at - 1, true, false, plan.AbsentWait},
		"watched anew":                {proven, 0, true, false, plan.AbsentWait},
		"accounting not asked":        {proven, at, false, false, plan.AskAccounting},
		"accounting, heartbeat fresh": {enough, at, false, true, plan.AskAccounting},
		"heartbeat fresh":             {proven, at, true, true, plan.AbsentWait},
		"not proven":                  {enough, at, true, false, plan.Prove},
		"proven":                      {proven, at, true, false, plan.Lost},
	} {
		if got := plan.Missing(c.a, c.watched, c.accounted, c.fresh, rules); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAbsence_OnlyNewHealthyListingsCount(t *testing.T) {
	a := plan.Absence{}.Seen(100)
	for _, c := range []struct {
		at       jjm.Time
		listings int
	}{{50, 0}, {100, 0}, {101, 1}, {101, 1}, {90, 1}, {102, 2}} {
		a = a.Missed(c.at, 0, time.Duration(c.at))
		if a.Listings != c.listings {
			t.Errorf("after the listing of %d: %+v, want %d", c.at, a, c.listings)
		}
	}
	if a.Since != 101 || a.From != 101 || a.LastSeen != 100 {
		t.Errorf("missing since %d (%d), seen %d", a.Since, a.From, a.LastSeen)
	}
	if b := (plan.Absence{}).Missed(100, 100, 0); b.Listings != 0 {
		t.Errorf("a listing from before the submission counted: %+v", b)
	}
	if b := a.Seen(103); b != (plan.Absence{LastSeen: 103}) {
		t.Errorf("seen again: %+v", b)
	}
}

// sky simulates a batch system whose jobs are all alive, and keeps what jjm concludes from its listings. Every listing
// that lacks a job is therefore wrong.
type sky struct {
	real    time.Duration // real time since the beginning of the test
	offset  time.Duration // how far the wall clock is wrong
	asked   time.Duration // real time of the last listing
	good    bool          // the last listing succeeded
	watch   plan.Watched
	absence plan.Absence
	// healthy is the real time for which a job has been missing from consecutive successful listings. listings is the
	// number of these listings.
	healthy  time.Duration
	listings int
}

const farApart = 5 * time.Minute

func (s *sky) wall() jjm.Time { return jjm.Time(1_000_000_000_000).Add(s.real + s.offset) }

// list processes a successful listing. lacks is set if the listing lacks the job. since is the time since the previous
// listing, as the daemon measures it.
func (s *sky) list(lacks bool, since time.Duration) {
	gap := s.real - s.asked
	s.watch = s.watch.Listed(since, farApart)
	if s.good && s.listings > 0 {
		s.healthy += gap
	}
	s.asked, s.good = s.real, true
	if !lacks {
		s.absence, s.healthy, s.listings = s.absence.Seen(s.wall()), 0, 0
		return
	}
	s.absence = s.absence.Missed(s.wall(), 0, s.watch.For)
	s.listings++
}

func (s *sky) fail() {
	s.watch, s.good = s.watch.Failed(), false
}

func TestProperty_AbsenceAgesOnlyWhileTheBatchSystemIsWell(t *testing.T) {
	rules := plan.DefaultAbsenceRules()
	rapid.Check(t, func(t *rapid.T) {
		s := &sky{}
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			gap := time.Duration(rapid.IntRange(0, 240).Draw(t, "seconds")) * time.Second
			s.real += gap
			switch rapid.SampledFrom([]string{"lacks", "lacks", "lacks", "shows", "fails", "outage", "jump"}).Draw(t, "event") {
			case "lacks":
				s.list(true, s.real-s.asked)
			case "shows":
				s.list(false, s.real-s.asked)
			case "fails":
				s.fail()
			case "outage":
				s.fail()
				s.real += time.Duration(rapid.IntRange(1, 180).Draw(t, "minutes")) * time.Minute
				s.fail()
			case "jump":
				s.offset += time.Duration(rapid.IntRange(-100, 100).Draw(t, "hours")) * time.Hour
			}
			v := plan.Missing(s.absence, s.watch.For, true, false, rules)
			if v != plan.AbsentWait && (s.listings < rules.Listings || s.healthy < rules.Age) {
				t.Fatalf("%s after %d listings and %v of health: %+v, %+v", v, s.listings, s.healthy, s.absence, s.watch)
			}
		}
	})
}

// If only the wall clock is available, a jump of the clock counts for at most one interval. Several jumps are therefore
// needed to make up ten minutes.
func TestProperty_AJumpOfTheClockDoesNotCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &sky{}
		for range rapid.IntRange(1, 30).Draw(t, "listings") {
			before, wall := s.watch.For, s.wall()
			s.real += 10 * time.Second
			s.offset += time.Duration(rapid.SampledFrom([]int{0, 0, 0, -72, -1, 1, 72}).Draw(t, "hours")) * time.Hour
			s.list(true, s.wall().Sub(wall))
			if grown := s.watch.For - before; grown < 0 || grown > farApart {
				t.Fatalf("one listing counted for %v", grown)
			}
		}
	})
}

// After enough successful listings, Missing orders the proof that a lost job is absent, whatever outages came before.
func TestProperty_ALossIsFoundOutInTheEnd(t *testing.T) {
	rules := plan.DefaultAbsenceRules()
	rapid.Check(t, func(t *rapid.T) {
		s := &sky{}
		for good := 0; good < 100; {
			s.real += time.Minute
			if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
				s.fail()
				continue
			}
			s.list(true, s.real-s.asked)
			good++
		}
		s.real += time.Minute
		s.list(true, s.real-s.asked)
		if s.healthy < rules.Age {
			return // there were almost never two successful listings in a row
		}
		if v := plan.Missing(s.absence, s.watch.For, true, false, rules); v != plan.Prove {
			t.Fatalf("%s after %d listings and %v of health: %+v", v, s.listings, s.healthy, s.absence)
		}
	})
}
