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

// The bounds of the check of simultaneous calls: callers goroutines each make all calls rounds times, for at most
// someParts local jobs of each spec. Shared state shows within a few hundred calls.
const (
	callers   = 8
	rounds    = 25
	someParts = 8
	// largeSpec is the largest number of local jobs of a spec that is tried: making more again and again takes long,
	// and shows nothing that a small spec does not.
	largeSpec = 1000
)

// answers holds what a type returned for a spec: how it is cut, and the commands of some parts.
type answers struct {
	spec     *jjm.Spec
	site     handlers.Site
	parts    []jjm.Part
	cutting  []byte
	commands [][]byte
}

// atOnce checks that a type always returns the same for a spec, whatever it is asked meanwhile: about other specs,
// about other parts, from other goroutines.
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
			continue // the check of that spec says so; a variant may be wrong
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

// copied returns answers with specs of their own, as the store hands them out.
func copied(t TB, all []answers) []answers {
	t.Helper()
	own := slices.Clone(all)
	for i := range own {
		own[i].spec = clone(t, own[i].spec)
	}
	return own
}

// inTurn asks how each spec is cut, and then for the commands of each spec, so that state that a call left behind for
// another spec shows for certain.
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

// asked returns the answers for a spec, and for a spec that selects a part of it.
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

func jobOf(parts []jjm.Part, i int) *jjm.LocalJob {
	return &jjm.LocalJob{ID: jjm.LocalID{Grid: 17, N: int32(i)}, Part: parts[i]}
}

// again asks once more, and returns what is different now, "" if nothing is. It may be called
// from many goroutines.
func (a *answers) again(h handlers.Handler) string {
	if text := a.recut(h); text != "" {
		return text
	}
	return a.recommand(h)
}

// recut asks how the spec is cut.
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

// recommand asks for the commands. It compares them after it has asked for all, because commands may share memory.
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

// differs returns how an answer differs from the earlier one, "" if it does not.
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
