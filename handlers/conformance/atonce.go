package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/testkit/differ"
)

// The size of the check of simultaneous calls: in each of rounds rounds, callers goroutines make all calls, for at most
// someParts local jobs of each spec. Shared state shows within a few hundred calls.
const (
	callers   = 8
	rounds    = 25
	someParts = 8
	// largeSpec is the largest number of local jobs of a spec in this check. Making more local jobs repeatedly takes long,
	// and detects no further faults.
	largeSpec = 1000
)

// answers holds what a type answered about a spec: the cutting, and the commands of some parts. Later answers must be
// the same.
type answers struct {
	spec     *jjm.Spec
	site     handlers.Site
	parts    []jjm.Part
	cutting  []byte
	commands [][]byte
}

// atOnce checks that a type always returns the same answers for a spec, also while other calls run: for other specs,
// for other parts, from other goroutines.
func atOnce(t TB, h handlers.Handler, site handlers.Site, good []Good) {
	t.Helper()
	var specs []*jjm.Spec
	for _, g := range good {
		spec := g.filled(t, h).Spec
		specs = append(append(specs, spec), variants(t, h, spec)...)
	}
	if !planAtOnce(t, h, site, specs) {
		return
	}
	var all []answers
	for _, spec := range specs {
		spec, problems := handlers.Planned(h, spec, site)
		if len(problems) > 0 || h.Check(spec, site) != nil {
			continue // another check reports a bad spec; a variant may be invalid
		}
		all = append(all, asked(t, h, site, spec)...)
	}
	if text := inTurn(h, all); text != "" {
		t.Errorf("asked about several jobs in turn, the type mixes them up: %s: does it keep anything between calls?", text)
		return
	}
	wrong := make(chan string, callers)
	var group sync.WaitGroup
	for caller := range callers {
		own := copied(t, all)
		group.Go(func() {
			for round := range rounds * len(own) {
				if text := own[(caller+round)%len(own)].again(h); text != "" {
					wrong <- text
					return
				}
			}
		})
	}
	group.Wait()
	close(wrong)
	if text, some := <-wrong; some {
		t.Errorf("asked about several jobs at once, the type mixes them up: %s: does it keep anything between calls?", text)
	}
}

// copied returns answers with separate copies of their specs, like specs that were read from the store.
func copied(t TB, all []answers) []answers {
	t.Helper()
	own := slices.Clone(all)
	for i := range own {
		own[i].spec = clone(t, own[i].spec)
	}
	return own
}

// inTurn repeats the call of Split for each spec, and then the calls of Command for each spec. This order certainly
// detects state that a call left behind for another spec.
func inTurn(h handlers.Handler, all []answers) string {
	for _, ask := range []func(*answers, handlers.Handler) string{(*answers).recut, (*answers).recommand} {
		for i := range all {
			if text := ask(&all[i], h); text != "" {
				return text
			}
		}
	}
	return ""
}

// asked returns the answers about a spec and, if possible, about a second spec that selects only the last part of the
// first.
func asked(t TB, h handlers.Handler, site handlers.Site, spec *jjm.Spec) []answers {
	t.Helper()
	c, err := h.Split(spec, site)
	if err != nil || c.Jobs > largeSpec {
		return nil
	}
	whole := c
	if h.Describe().Reads {
		work, _ := handlers.Inline(spec)
		whole.Work.Files, whole.Work.Secondary, whole.Work.Closed = work.Files, work.Secondary, true
	}
	parts := cutAll(t, whole)
	if len(parts) == 0 {
		return nil
	}
	all := []answers{answersOf(t, h, site, spec, c, parts)}
	if h.Describe().Reads || len(parts) < 2 || spec.Only != nil {
		return all
	}
	last := parts[len(parts)-1]
	some := clone(t, spec)
	some.Only = []jjm.Span{{First: last.First, Count: last.Count}}
	if h.Check(some, site) != nil {
		return all
	}
	if c, err = h.Split(some, site); err != nil {
		return all
	}
	return append(all, answersOf(t, h, site, some, c, cutAll(t, c)))
}

// answersOf asks the type for the commands of the first parts, and returns them together with the cutting.
func answersOf(t TB, h handlers.Handler, site handlers.Site, spec *jjm.Spec, c handlers.Cutting,
	parts []jjm.Part) answers {
	t.Helper()
	a := answers{spec: spec, site: site, parts: parts[:min(len(parts), someParts)], cutting: asJSON(t, c)}
	for i := range a.parts {
		command, err := h.Command(spec, jobOf(a.parts, i))
		if err != nil {
			t.Fatalf("Command of part %d: %v", i, err)
		}
		a.commands = append(a.commands, asJSON(t, command))
	}
	return a
}

// jobOf returns a local job for part i.
func jobOf(parts []jjm.Part, i int) *jjm.LocalJob {
	return &jjm.LocalJob{ID: jjm.LocalID{Grid: 17, N: int32(i)}, Part: parts[i]}
}

// again repeats all calls. It returns the first difference from the earlier answers, "" if there is none. It may be
// called from many goroutines.
func (a *answers) again(h handlers.Handler) string {
	if text := a.recut(h); text != "" {
		return text
	}
	return a.recommand(h)
}

// recut repeats the call of Split, and returns the difference, "" if there is none.
func (a *answers) recut(h handlers.Handler) string {
	if problems := h.Check(a.spec, a.site); problems != nil {
		return fmt.Sprintf("Check now refuses what it accepted: %v", problems)
	}
	c, err := h.Split(a.spec, a.site)
	if err != nil {
		return fmt.Sprintf("Split: %v", err)
	}
	return differs("the cutting", c, a.cutting)
}

// recommand repeats the calls of Command. It compares the commands after all calls, because commands may share memory.
func (a *answers) recommand(h handlers.Handler) string {
	commands := make([]handlers.Command, len(a.parts))
	for i := range a.parts {
		var err error
		if commands[i], err = h.Command(a.spec, jobOf(a.parts, i)); err != nil {
			return fmt.Sprintf("Command of part %d: %v", i, err)
		}
	}
	for i := range commands {
		if text := differs(fmt.Sprintf("the command of part %d", i), commands[i], a.commands[i]); text != "" {
			return text
		}
	}
	return ""
}

// differs returns the first difference between an answer and the earlier answer, "" if there is none.
func differs(what string, now any, before []byte) string {
	text, err := json.Marshal(now)
	if err != nil {
		return fmt.Sprintf("%s: %v", what, err)
	}
	if how := differ.First(string(text), string(before)); how != "" {
		return what + " " + how
	}
	return ""
}
