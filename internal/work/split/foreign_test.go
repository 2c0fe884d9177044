package split

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

func TestSettings_RefusesSettingsOfOtherWMCoreComponents(t *testing.T) {
	for key, want := range map[string]string{
		"trustPUSitelists": "jjm does not look where pile-up is",
	} {
		for _, name := range []string{EventBased, LumiBased} {
			err := CheckSettings(name, []string{key})
			if err == nil || jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), want) ||
				strings.Contains(err.Error(), "did you mean") {
				t.Errorf("%s: %s: %v, want %q", name, key, err, want)
			}
		}
	}
}

// As in WMCore, each part of a file that stands for events to be generated has lheInputFiles, even if the value is
// false. Parts of other files do not have it.
func TestLHEInput_IsCarriedByGeneratedParts(t *testing.T) {
	yes, no := true, false
	for _, name := range []string{EventBased, Pieces} {
		for _, c := range []struct {
			lfn  string
			set  bool
			want *bool
		}{
			{GeneratedPrefix + "1", true, &yes}, {GeneratedPrefix + "1", false, &no},
			{"/real", true, nil}, {"/real", false, nil},
		} {
			p := params(t, name, func(p *Params) {
				p.LHEInputFiles, p.EventsPerJob = c.set, 10
				if name == Pieces {
					p.Pieces = []Piece{{LFN: c.lfn, Count: 10}, {LFN: c.lfn, First: 20, Count: 5}}
				}
			})
			s, err := Get(name)
			if err != nil {
				t.Fatal(err)
			}
			parts, _, _, err := s.Cut(Work{Files: []jjm.File{{LFN: c.lfn, Events: 30}}, Closed: true}, Limits{}, p, Carry{})
			if err != nil || len(parts) < 2 {
				t.Fatal(parts, err)
			}
			for i := range parts {
				var got *bool
				if m := parts[i].Input.More; m != nil {
					got = m.LHEInput
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s of %s, set to %v (-want +got):\n%s", name, c.lfn, c.set, diff)
				}
			}
		}
	}
}
