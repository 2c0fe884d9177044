package conformance

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
)

// If cancelled jobs continue to run, each check that cancels jobs fails and names the cancel as the cause.
func TestCancel_ThatEndsNothingIsTheCauseToldAnywhere(t *testing.T) {
	site := &Site{Kind: "command", Description: "/etc/jjm/adapters/x.toml"}
	var all []func()
	after := fmt.Sprintf("%.0f s", await.Provoked(2*time.Second).Seconds())
	patience := after + ": "
	for check, want := range map[string]string{
		"a running job can be cancelled, twice": "cancelled, 1 job did not end within " + patience,
		"two cancels at once":                   "cancelled, 2 jobs did not end within " + patience,
		"one job of a bulk can be cancelled":    "cancelled, 3 jobs did not end within " + patience,
		"two bulks of one tag are both found":   "the second of two was cancelled, and after " + after + " it is job ",
	} {
		all = append(all, func() {
			t.Run(check, func(t *testing.T) {
				o := Try(t.Context(), named(t, check), siteSystem(t, site, func(l *liar, s *System) {
					l.marksEnds(s)
					l.takesTwice(s)
				}))
				if said := fmt.Sprint(o.Failures); !strings.Contains(said, want) ||
					!strings.Contains(o.Remedy, "the command that cancels jobs ends nothing") ||
					!strings.Contains(o.Remedy, "with [cancel] in /etc/jjm/adapters/x.toml") {
					t.Errorf("%s\nremedy: %s", said, o.Remedy)
				}
			})
		})
	}
	atOnceAll(all)
}

// takesTwice makes the batch system accept a second submission with the tag of an earlier one as a second bulk.
func (l *liar) takesTwice(s *System) {
	var first, second atomic.Value
	l.submit = func(b adapters.Bulk) adapters.Bulk {
		if !first.CompareAndSwap(nil, b.Tag) {
			b.Tag = "x" + b.Tag[1:]
			second.Store(b.Tag)
		}
		return b
	}
	marks := l.report
	l.report = func(r jjm.Report) (jjm.Report, bool) {
		if r.Tag == second.Load() {
			r.Tag = first.Load().(jjm.Tag)
		}
		return marks(r)
	}
	l.found = func(f adapters.Found) adapters.Found {
		if tag, twice := second.Load().(jjm.Tag); twice {
			more, _ := l.Adapter.Find(context.Background(), s.Owner, []jjm.Tag{tag})
			f.IDs = append(f.IDs, more[0].IDs...)
		}
		return f
	}
}
