package pbs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
)

// reruns reports whether the server shows a job as rerunnable.
func (s *site) reruns(id string) bool {
	s.t.Helper()
	text := s.do("qstat", "-x", "-f", "-F", "json", id)
	yes, no := strings.Contains(text, `"Rerunable":"True"`), strings.Contains(text, `"Rerunable":"False"`)
	if yes == no {
		s.t.Fatalf("no Rerunable in\n%s", text)
	}
	return yes
}

func TestSubmit_NothingIsRerun(t *testing.T) {
	s := newSite(t)
	array, single := s.bulk(3, "exit 0"), s.bulk(1, "exit 0")
	a, one := s.submit(array), s.submit(single)
	if s.reruns(a.ID+"[]") || s.reruns(one.ID) {
		t.Error("the server would run them again")
	}
	s.until("held", array.Tag, all(3, jjm.BatchHold))
	s.good(adapters.Release, append(members(array, a.ID), members(single, one.ID)...)...)
	s.until("over", array.Tag, all(3, jjm.BatchEndedOK))
}

// A submission of an array runs qsub and then qalter, which forbids reruns. If the adapter is stopped between them,
// the array exists and is held, and a release forbids its reruns first.
func TestSubmit_ADoubtfulQalterIsSettledLikeADoubtfulBulk(t *testing.T) {
	for fault, forbidden := range map[string]bool{"qalter-killed": true, "qalter-lost": false} {
		t.Run(fault, func(t *testing.T) {
			s := newSite(t)
			s.fault(fault, true)
			b := s.bulk(3, "exit 0")
			_, err := s.a.Submit(t.Context(), b)
			s.wantKind("submit", err, jjm.Ambiguous)
			s.a = s.adapter() // as if the daemon was killed and started again
			f := s.find(b.Tag)
			if f.Presence != adapters.Present || len(f.IDs) != 1 {
				t.Fatalf("found %+v", f)
			}
			refs, id := members(b, f.IDs[0]), f.IDs[0]+"[]"
			if s.reruns(id) == forbidden {
				t.Errorf("after the submission the server reruns it: %v", !forbidden)
			}
			if !forbidden {
				s.wantKind("release", s.control(adapters.Release, refs...)[0], jjm.Busy)
				s.until("held", b.Tag, all(3, jjm.BatchHold))
			}
			s.fault(fault, false)
			s.good(adapters.Release, refs...)
			if s.reruns(id) {
				t.Error("it was released, and the server would run it again")
			}
			s.until("over", b.Tag, all(3, jjm.BatchEndedOK))
		})
	}
}

func TestSubmit_AQalterThatHangsLeavesAHeldArray(t *testing.T) {
	s := newSite(t)
	qalter := filepath.Join(s.bin, "qalter")
	well, err := os.Readlink(qalter)
	if err != nil {
		t.Fatal(err)
	}
	s.replace("qalter", `touch "$state/asked"; exec sleep 600`)
	hang := func(what string, want jjm.Kind, do func(context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- do(ctx) }()
		asked := filepath.Join(s.state, "asked")
		await.True(t, "qalter was started", func() bool { return os.Remove(asked) == nil })
		cancel()
		s.wantKind(what, await.Receive(t, what, ended), want)
	}
	b := s.bulk(2, "exit 0")
	hang("submit", jjm.Ambiguous, func(ctx context.Context) error { _, err := s.a.Submit(ctx, b); return err })
	f := s.find(b.Tag)
	if len(f.IDs) != 1 {
		t.Fatalf("found %+v", f)
	}
	hang("release", jjm.Busy, func(ctx context.Context) error {
		answers, err := s.a.Control(ctx, s.owner, adapters.Release, members(b, f.IDs[0]))
		return errors.Join(append(answers, err)...)
	})
	s.until("held", b.Tag, all(2, jjm.BatchHold))
	if err := errors.Join(os.Remove(qalter), os.Symlink(well, qalter)); err != nil {
		t.Fatal(err)
	}
	s.good(adapters.Release, members(b, f.IDs[0])...)
	s.until("over", b.Tag, all(2, jjm.BatchEndedOK))
}

// The daemon was killed between qsub and qalter, so only the batch system has the array's id.
func TestRelease_ForbidsRerunsOfAnArrayThatIsFoundAgain(t *testing.T) {
	s := newSite(t)
	b := s.bulk(2, "exit 0")
	s.do("qsub", "-h", "-N", string(b.Tag), "-J", "0-1", "-o", "/dev/null", "-e", "/dev/null")
	f := s.find(b.Tag)
	if len(f.IDs) != 1 || !s.reruns(f.IDs[0]+"[]") {
		t.Fatalf("found %+v", f)
	}
	s.good(adapters.Release, members(b, f.IDs[0])...)
	if s.reruns(f.IDs[0] + "[]") {
		t.Error("it was released, and the server would run it again")
	}
}

// If the server refuses qalter for an array, the array is released although the server may rerun its jobs: the
// wrapper's claim prevents a second run. The guarantee among the capabilities says so.
func TestSubmit_ARefusedQalterIsPartOfTheGuarantee(t *testing.T) {
	s := newSite(t)
	s.fault("qalter-denied", true)
	b := s.bulk(2, "exit 0")
	r := s.submit(b)
	if g := s.a.Capabilities().Guarantee; !strings.Contains(g, "claim prevents second runs") ||
		!strings.Contains(g, "Unauthorized") {
		t.Errorf("the guarantee says %q", g)
	}
	s.good(adapters.Release, members(b, r.ID)...)
	s.until("over", b.Tag, all(2, jjm.BatchEndedOK))
	s.fault("qalter-denied", false)
	s.submit(s.bulk(2, "exit 0"))
	if g := s.a.Capabilities().Guarantee; strings.Contains(g, "claim") {
		t.Errorf("the guarantee still says %q", g)
	}
}
