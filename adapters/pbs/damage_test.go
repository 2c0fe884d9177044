package pbs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// A damaged record makes only its own job unreadable. The other jobs of the listing are read, and the listing reports
// the damaged job with the fields that can be read.
func TestListing_ADamagedJobCostsItself(t *testing.T) {
	text := string(recorded(t, "deleted_waiting_subjob").Stdout)
	listing := regexp.MustCompile(`(?ms)^\{\n.*?^\}\n`).FindAllString(text, -1)[1]
	ids := regexp.MustCompile(`"92\[\d\][^"]*"`).FindAllString(listing, -1)
	owner := jjm.Owner{User: accountOf(regexp.MustCompile(`"Job_Owner":"([^"]*)"`).FindStringSubmatch(listing)[1])}
	raws, err := parseJSON([]byte(listing))
	if err != nil {
		t.Fatal(err)
	}
	good, odd := sortOut(jobsOf(raws, openpbs), owner)
	if len(odd) > 0 || len(good) < 4 {
		t.Fatalf("the recording: %d jobs, %d unread", len(good), len(odd))
	}
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, len(ids)-1).Draw(t, "job")
		from := strings.Index(listing, ids[at]+":{")
		before, record := listing[:from], listing[from:]
		switch rapid.IntRange(0, 3).Draw(t, "damage") {
		case 0:
			record = strings.Replace(record, "92[", "9x[", 1)
		case 1:
			record = strings.Replace(record, `"Job_Name"`, `Job_Name`, 1)
		case 2:
			record = strings.Replace(record, `"job_state":"`, `"job_state":"`+"\n", 1)
		case 3:
			record = strings.Replace(record, `"Job_Owner"`, `"Job_Owned"`, 1)
		}
		raws, err := parseJSON([]byte(before + record))
		if err != nil {
			t.Fatal(err)
		}
		got, odd := sortOut(jobsOf(raws, openpbs), owner)
		if len(odd) > 1 || len(got)+len(odd) != len(good) || len(unread(odd)) != len(odd) {
			t.Fatalf("%d jobs and %d unread of %d", len(got), len(odd), len(good))
		}
		for _, j := range good {
			if j.id != strings.Trim(ids[at], `"`) && !slices.Contains(got, j) {
				t.Fatalf("the damage of %s cost %s", ids[at], j.id)
			}
		}
	})
}

// An unreadable record of another account's job is not reported.
func TestListing_AStrangersDamagedJobCostsNothing(t *testing.T) {
	jobs := jobsOf([]raw{{id: "odd", name: "wrap", owner: "bob@host", state: "R"},
		{id: "25.host", name: "jabc", owner: "ann@host", state: "R"}}, openpbs)
	got, odd := sortOut(jobs, jjm.Owner{User: "ann"})
	if len(got) != 1 || len(odd) != 0 {
		t.Errorf("%d jobs, %d unread", len(got), len(odd))
	}
}

// An unreadable member makes only its own local job doubtful.
func TestUnread_ADamagedMemberCostsItself(t *testing.T) {
	s := newSite(t)
	odd, good := s.bulk(2, "exec sleep 600"), s.bulk(2, "exec sleep 600")
	oddRefs, goodRefs := members(odd, s.submit(odd).ID), members(good, s.submit(good).ID)
	id, _ := refID(oddRefs[1])
	a, ran := s.watched(fmt.Sprintf(`case "$0 $*" in *qstat*json*)
		%s "$@" | sed '/"%s\[1\]/,/}/s/"job_state"/"job_stale"/'; exit 0;; esac`, adapters.Quote(filepath.Join(s.bin, "qstat")), id.seq))
	found, err := a.Find(t.Context(), s.owner, []jjm.Tag{odd.Tag, good.Tag})
	if err != nil || found[0].Presence != adapters.Present || found[1].Presence != adapters.Present {
		t.Errorf("find: %+v, %v", found, err)
	}
	l, err := a.List(t.Context(), s.owner, time.Now().Add(-time.Hour))
	if err != nil || len(l.Reports) != 3 || len(l.Unread) != 1 || l.Unread[0].Index != 1 {
		t.Errorf("list: %d reports, unread %+v, %v", len(l.Reports), l.Unread, err)
	}
	if got, err := a.Account(t.Context(), s.owner, slices.Concat(oddRefs, goodRefs)); err != nil || len(got) != 1 ||
		got[0].State != jjm.BatchUnknown || got[0].Index != 1 {
		t.Errorf("account: %+v, %v", got, err)
	}
	ran()
	answers, err := a.Control(t.Context(), s.owner, adapters.Cancel, slices.Concat(oddRefs, goodRefs))
	if err != nil || answers[0] != nil || jjm.KindOf(answers[1]) != jjm.Busy || answers[2] != nil || answers[3] != nil {
		t.Errorf("cancel: %v, %v", answers, err)
	}
	for _, line := range ran() { // the damaged member is not deleted with its array
		if strings.HasPrefix(line, "qdel") && strings.Contains(line, id.seq+"[]") {
			t.Errorf("ran %q", line)
		}
	}
}
