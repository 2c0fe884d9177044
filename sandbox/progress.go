package sandbox

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"jjm/internal/jjm"
)

const (
	// maxPhase is the largest length of the name of a phase, in bytes.
	maxPhase = 64
	// maxPhases is the largest number of phases of an application that are kept; phases are for people.
	maxPhases = 32
	// lastTime is the end of the year 9999, the latest time that a record can show.
	lastTime = jjm.Time(253_402_300_799_999)
)

// PutProgress stores the progress of a phase of the application at a position, reported at the given time, and keeps
// the other phases. Nothing is synced, because progress may be reported many times a second. If two calls run at the
// same time, one of the reports may be lost. At most maxPhases phases are kept; an additional phase is an error.
func (a *Area) PutProgress(tag jjm.Tag, pos int32, p jjm.Progress, at jjm.Time) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	if !validPhase(jjm.AppPhase{Progress: p, Started: at, Ended: at}) {
		return jjm.Errorf(jjm.Invalid,
			"progress %.40q, %d of %d: want a phase of one word, at most %d letters, and numbers from 0 on", p.Phase,
			p.Done, p.Total, maxPhase)
	}
	said, err := a.Phases(tag, pos)
	if err != nil {
		return err
	}
	if said = withProgress(said, p, at); len(said) > maxPhases {
		return jjm.Errorf(jjm.Invalid, "progress %.40q: at most %d phases are kept, and it would be one more: %s",
			p.Phase, maxPhases, "use a phase that was there before")
	}
	return a.put(progress, tag, pos, formatPhases(said))
}

// withProgress returns the phases with one phase updated or added.
func withProgress(said []jjm.AppPhase, p jjm.Progress, at jjm.Time) []jjm.AppPhase {
	for i := range said {
		if said[i].Phase == p.Phase {
			at = max(at, said[i].Ended)
		} else { // the latest report must have the latest time, even if the clocks of hosts differ
			at = max(at, said[i].Ended+1)
		}
	}
	i := slices.IndexFunc(said, func(o jjm.AppPhase) bool { return o.Phase == p.Phase })
	if i < 0 {
		return append(said, jjm.AppPhase{Progress: p, Started: at, Ended: at})
	}
	said[i].Progress, said[i].Ended = p, at
	return said
}

// LastPhase returns the index of the phase that an application reported last, -1 if there
// is none.
func LastPhase(said []jjm.AppPhase) int {
	last := -1
	for i := range said {
		if last < 0 || said[i].Ended >= said[last].Ended {
			last = i
		}
	}
	return last
}

// Phases returns the phases that the application at a position has reported, in the order of their starts; no phases if
// it reported none, or if the report cannot be parsed.
func (a *Area) Phases(tag jjm.Tag, pos int32) ([]jjm.AppPhase, error) {
	if err := checkTag(tag); err != nil {
		return nil, err
	}
	b, err := a.one(progress, tag, pos)
	if jjm.KindOf(err) == jjm.Busy {
		return nil, err
	}
	said, ok := parsePhases(string(b))
	if err != nil || !ok {
		return nil, nil
	}
	return said, nil
}

// Progress returns, by position, the phases in files that were written at or after since, by the clock of the file
// system, and the position at which to continue, or All. It omits files that cannot be parsed.
func (a *Area) Progress(ctx context.Context, tag jjm.Tag, look Look, since time.Time) (map[int32][]jjm.AppPhase, int32,
	error) {
	all := make(map[int32][]jjm.AppPhase)
	next, err := a.latest(ctx, progress, tag, look, since, func(pos int32, b []byte) {
		if said, ok := parsePhases(string(b)); ok {
			all[pos] = said
		}
	})
	return all, next, err
}

// ProgressChanged returns the time at which progress was last stored in a bulk, by the clock of the file system; zero
// if the bulk has no folder for progress.
func (a *Area) ProgressChanged(tag jjm.Tag) (time.Time, error) { return a.changed(progress, tag) }

// formatPhases returns one line for each phase: "PHASE DONE TOTAL STARTED ENDED". The times are in milliseconds since
// 1970.
func formatPhases(said []jjm.AppPhase) []byte {
	var b []byte
	for _, p := range said {
		b = fmt.Appendf(b, "%s %d %d %d %d\n", p.Phase, p.Done, p.Total, int64(p.Started), int64(p.Ended))
	}
	return b
}

// parsePhases parses the output of formatPhases.
func parsePhases(s string) ([]jjm.AppPhase, bool) {
	var said []jjm.AppPhase
	for line := range strings.Lines(s) {
		p, ok := parsePhase(strings.Fields(line))
		if !ok {
			return nil, false
		}
		said = append(said, p)
	}
	return said, len(said) > 0 && ValidPhases(said)
}

// parsePhase parses the words of one line. ok is false if the line does not have the form of formatPhases.
func parsePhase(words []string) (p jjm.AppPhase, ok bool) {
	if len(words) != 5 {
		return p, false
	}
	var numbers [4]int64
	for i, w := range words[1:] {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return p, false
		}
		numbers[i] = n
	}
	return jjm.AppPhase{Progress: jjm.Progress{Phase: words[0], Done: numbers[0], Total: numbers[1]},
		Started: jjm.Time(numbers[2]), Ended: jjm.Time(numbers[3])}, true
}

// ValidPhases reports whether phases are valid: at most 32 phases with different names, each name one word of at most
// 64 bytes, and numbers and times in range.
func ValidPhases(said []jjm.AppPhase) bool {
	known := make(map[string]bool, len(said))
	for _, p := range said {
		if known[p.Phase] || !validPhase(p) {
			return false
		}
		known[p.Phase] = true
	}
	return len(said) <= maxPhases
}

// validPhase reports whether a phase has a valid name, and numbers and times in range.
func validPhase(p jjm.AppPhase) bool {
	return p.Phase != "" && len(p.Phase) <= maxPhase && !strings.ContainsFunc(p.Phase, notInWord) &&
		p.Done >= 0 && p.Total >= 0 && p.Started >= 0 && p.Started <= p.Ended && p.Ended <= lastTime
}

// notInWord reports whether the name of a phase must not contain a character.
func notInWord(r rune) bool { return unicode.IsSpace(r) || r < ' ' || r == 0x7f || r == utf8.RuneError }
