package conformance

import (
	"strings"
	"sync/atomic"
	"testing"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// losing makes a batch system that accepts a job and shows it in no listing and in no accounting.
func losing(l *liar) {
	l.listed = func([]jjm.Report) []jjm.Report { return nil }
	l.account = func([]jjm.Report, []adapters.Ref) []jjm.Report { return nil }
}

func TestRun_FailsIfASubmittedJobIsSeenNowhere(t *testing.T) {
	tests := map[string]struct {
		plant func(l *liar, s *System)
		fails bool
	}{
		"a listing shows it": {plant: nil},
		"only the accounting shows it": {plant: func(l *liar, _ *System) {
			l.listed = func([]jjm.Report) []jjm.Report { return nil }
			l.found = absent
		}},
		"it ended between two listings of a system without accounting": {plant: func(l *liar, _ *System) {
			losing(l)
			l.caps = func(c adapters.Capabilities) adapters.Capabilities { c.Accounting = false; return c }
		}},
		"nothing shows it": {fails: true, plant: func(l *liar, _ *System) {
			losing(l)
			l.found = absent
		}},
		"nothing shows one of two": {fails: true, plant: func(l *liar, _ *System) {
			losing(l)
			var first atomic.Pointer[jjm.Tag]
			l.submit = func(b adapters.Bulk) adapters.Bulk { first.CompareAndSwap(nil, &b.Tag); return b }
			l.found = func(f adapters.Found) adapters.Found {
				if f.Tag == *first.Load() {
					return absent(f)
				}
				return f
			}
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Try(t.Context(), Check{Name: "two jobs are submitted", test: func(s *suite) {
				s.submit(s.shell(1, "exit 0"))
				s.submit(s.shell(1, "exit 0"))
			}}, localSystem(tt.plant))
			if failed := len(o.Failures) > 0; failed != tt.fails {
				t.Fatalf("the failures are %q", o.Failures)
			}
			if text := strings.Join(o.Failures, "\n"); tt.fails && !strings.Contains(text, "(named ") {
				t.Errorf("no job is named in %q", text)
			}
		})
	}
}

// absent returns the answer that the batch system does not have the tag.
func absent(f adapters.Found) adapters.Found {
	return adapters.Found{Tag: f.Tag, Presence: adapters.Absent}
}
