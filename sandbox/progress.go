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

	"jjm"
)

const (
	maxPhase = 64
	// maxPhases is how many phases of an application are kept: some, for people.
	maxPhases = 32
	// lastTime is the end of the year 9999, the last that a record can show.
	lastTime = jjm.Time(253_402_300_799_999)
)

// PutProgress publishes how far the application at a position has come, and when that
// was. Phases that it told of before are kept. Nothing is synced: progress may be put
// many times a second. Of two calls at the same time one may be lost.
func (a *Area) PutProgress(tag jjm.Tag, pos int32, p jjm.Progress, at jjm.Time) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	if !validPhase(jjm.AppPhase{Progress: p, Started: at, Ended: at}) {
		return jjm.Errorf(jjm.Invalid,
			"sandbox: progress %.40q %d of %d: want a phase of one word, at most %d letters, and numbers not below 0", p.Phase,
			p.Done, p.Total, maxPhase)
	}
	said, err := a.Phases(tag, pos)
	if err != nil {
		return err
	}
	if said = withProgress(said, p, at); len(said) > maxPhases {
		return jjm.Errorf(jjm.Invalid, "sandbox: progress %.40q: at most %d phases are kept, and it would be one more: %s",
			p.Phase, maxPhases, "use a phase that was there before")
	}
	return a.put(progress, tag, pos, formatPhases(said))
}

// withProgress returns phases with what was said last.
func withProgress(said []jjm.AppPhase, p jjm.Progress, at jjm.Time) []jjm.AppPhase {
	for i := range said {
		if said[i].Phase == p.Phase {
			at = max(at, said[i].Ended)
		} else { // the last word is known by its time, whatever the clocks of hosts say
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

// LastPhase returns the place of the phase of which an application spoke last, -1 if there
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

// Phases returns what the application at a position has told of its phases, in the order
// in which it began them; none if it told nothing that can be read.
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

// Progress returns the phases of the positions whose file was written at or
// after since, by the clock of the file system, and the position at which to go
// on, or All. Files that are no progress are left out.
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

// ProgressChanged is when progress was last put in a bulk, by the clock of the
// file system; zero in one that has no folder for it.
func (a *Area) ProgressChanged(tag jjm.Tag) (time.Time, error) { return a.changed(progress, tag) }

// formatPhases writes a line of each phase: "PHASE DONE TOTAL STARTED ENDED", the times
// in milliseconds since 1970.
func formatPhases(said []jjm.AppPhase) []byte {
	var b []byte
	for _, p := range said {
		b = fmt.Appendf(b, "%s %d %d %d %d\n", p.Phase, p.Done, p.Total, int64(p.Started), int64(p.Ended))
	}
	return b
}

// parsePhases reads such lines. One without times is of an older wrapper.
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

func parsePhase(words []string) (p jjm.AppPhase, ok bool) {
	if len(words) != 3 && len(words) != 5 {
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

// ValidPhases reports whether phases are what a wrapper may tell: few, each once, of a
// word and of numbers that make sense.
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

func validPhase(p jjm.AppPhase) bool {
	return p.Phase != "" && len(p.Phase) <= maxPhase && !strings.ContainsFunc(p.Phase, notInWord) &&
		p.Done >= 0 && p.Total >= 0 && p.Started >= 0 && p.Started <= p.Ended && p.Ended <= lastTime
}

func notInWord(r rune) bool { return unicode.IsSpace(r) || r < ' ' || r == 0x7f || r == utf8.RuneError }
