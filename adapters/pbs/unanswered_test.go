package pbs

import (
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Since December 2023, qstat of OpenPBS answers only for the first of several ids (recording json_several_ids). The
// adapter looks up the remaining ids one by one.
func TestUnanswered_IDsAreAskedForAgainAlone(t *testing.T) {
	s := newSite(t)
	s.fault("one-id", true)
	var bulks []adapters.Bulk
	var refs []adapters.Ref
	for range 3 {
		b := s.bulk(1, "exit 3")
		refs = append(refs, members(b, s.submit(b).ID)...)
		bulks = append(bulks, b)
	}
	s.good(adapters.Release, refs...)
	for _, b := range bulks {
		s.until("over", b.Tag, all(1, jjm.BatchEndedFailed))
	}
	s.a = s.adapter()
	s.clock(s.a)
	for _, b := range bulks {
		if got := s.list(b.Tag); len(got) != 1 || got[0].Exit != 3 {
			t.Errorf("%s: listed %+v", b.Tag, got)
		}
	}
	s.a = s.adapter()
	s.clock(s.a)
	if got, err := s.a.Account(t.Context(), s.owner, refs[:2]); err != nil || len(got) != 2 {
		t.Errorf("accounted %+v, error %v", got, err)
	}
}

// The qstat of this test answers a lookup by id with an empty listing and exit code 0.
func TestUnanswered_SilenceAboutAnIDIsBusyNotGone(t *testing.T) {
	s := newSite(t)
	b := s.bulk(1, "exit 3")
	refs := members(b, s.submit(b).ID)
	s.good(adapters.Release, refs...)
	s.until("over", b.Tag, all(1, jjm.BatchEndedFailed))
	a, _ := s.watched(`case "$*" in *json*[0-9]) printf '{\n"timestamp":1,\n"pbs_server":"h"\n}\n'; exit 0;; esac`)
	a.memoryOf(s.owner).noteBulk(refs[0].ID, b.Tag, false)
	_, err := a.List(t.Context(), s.owner, time.Now().Add(-time.Hour))
	s.wantKind("list", err, jjm.Busy)
	_, err = a.Account(t.Context(), s.owner, refs)
	s.wantKind("account", err, jjm.Busy)
	_, err = a.Control(t.Context(), s.owner, adapters.Release, refs)
	s.wantKind("release", err, jjm.Busy)
}
