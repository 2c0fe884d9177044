package watch

import (
	"strings"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// noteWaits notes, for people, why batch jobs wait and until when. at is the time of the listing, 0 for now. The notes
// are only in memory. A record shows them when it is written for another reason; they are no reason of their own,
// because a scheduler's estimates change with every listing.
func (ho *holder) noteWaits(seen []observation, at jjm.Time) {
	type news struct {
		id    jjm.AttemptID
		waits *jjm.Waiting
	}
	var all []news
	if at == 0 {
		at = jjm.At(ho.b.Now())
	}
	same := map[jjm.Waiting]*jjm.Waiting{} // equal values share one copy
	v := ho.s.View()
	for i := range seen {
		l := seen[i].of(v.Memory)
		if l == nil || l.State != jjm.Submitted {
			continue
		}
		if w := waitingOf(seen[i].report, at); w != (jjm.Waiting{}) {
			all = append(all, news{l.AttemptID(), shared(same, w)})
		} else if l.Waits != nil {
			all = append(all, news{l.AttemptID(), nil})
		}
	}
	v.Close()
	if len(all) == 0 {
		return
	}
	ho.s.Adjust(func(a *state.Memo) {
		for _, n := range all {
			a.SetWaits(n.id, n.waits)
		}
	})
}

// waitingOf returns why a batch job waits and until when, according to its report. The result is the zero Waiting if
// the job does not wait or the report has no reason.
func waitingOf(r *jjm.Report, at jjm.Time) jjm.Waiting {
	waits := r.State == jjm.BatchQueued || r.State == jjm.BatchHold || r.State == jjm.BatchStarting
	if !waits || r.Reason == "" && r.Hold == "" && r.Starts == 0 {
		return jjm.Waiting{}
	}
	return jjm.Waiting{Reason: r.Reason, Hold: r.Hold, Starts: r.Starts, Source: r.Source, At: at}
}

// shared returns the one copy in same that is equal to w, which it adds if there is none. It clones the texts of w,
// because they would otherwise keep the whole listing in memory.
func shared(same map[jjm.Waiting]*jjm.Waiting, w jjm.Waiting) *jjm.Waiting {
	if p := same[w]; p != nil {
		return p
	}
	w.Reason, w.Hold, w.Source = strings.Clone(w.Reason), strings.Clone(w.Hold), strings.Clone(w.Source)
	same[w] = &w
	return &w
}
