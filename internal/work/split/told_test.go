package split

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

// drawSettings draws more settings of the splitters that cut by section. The settings must not break the properties
// below.
func drawSettings(t *rapid.T, p *Params) {
	p.LumiCorrection = rapid.Bool().Draw(t, "correction")
	if rapid.Bool().Draw(t, "masked") {
		for run := range 3 {
			p.Runs = append(p.Runs, fmt.Sprint(run+1))
			p.Lumis = append(p.Lumis, fmt.Sprintf("1,%d,%d,40", rapid.IntRange(1, 9).Draw(t, "until"),
				rapid.IntRange(11, 30).Draw(t, "from")))
		}
	}
	if rapid.Bool().Draw(t, "listed") {
		p.RunWhitelist = []uint32{uint32(rapid.IntRange(1, 3).Draw(t, "run"))}
	}
}

// cutDrawn cuts drawn work with drawn settings by a splitter. The parts are nil if the splitter refuses the work.
func cutDrawn(t *rapid.T, s *subject, oneMask bool, change func(*Params)) (Work, []jjm.Part) {
	w, p := drawFileWork(t, s), s.params(t)
	w.OneMask = oneMask
	drawSettings(t, &p)
	change(&p)
	splitter, err := Get(s.name)
	if err != nil {
		t.Fatal(err)
	}
	parts, _, _, err := splitter.Cut(w, Limits{}, p, Carry{})
	if jjm.KindOf(err) == jjm.Invalid {
		return w, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return w, parts
}

// No part lists a file twice. An application reads each file in its list, so it would process such a file twice.
func TestProperties_NoFileStandsTwiceInAPart(t *testing.T) {
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				_, parts := cutDrawn(t, &s, false, func(*Params) {})
				for i := range parts {
					files := slices.Sorted(slices.Values(parts[i].Input.Files))
					if len(slices.Compact(files)) != len(parts[i].Input.Files) {
						t.Fatalf("part %d reads a file twice: %v", parts[i].Serial, parts[i].Input.Files)
					}
				}
			})
		})
	}
}

// sectionsOf returns the sections in a text of LumiText.
func sectionsOf(t *rapid.T, text string) map[[2]uint32]bool {
	out := map[[2]uint32]bool{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		var run, first, last uint32
		if _, err := fmt.Sscanf(word, "%d:%d-%d", &run, &first, &last); err != nil {
			t.Fatalf("%q: %v", word, err)
		}
		for n := first; n <= last; n++ {
			out[[2]uint32{run, n}] = true
		}
	}
	return out
}

// exactMask requires that a list of sections, applied to all files of a part, selects exactly the sections that the
// part owns. If once is set, the part owns each of its sections in all its files.
func exactMask(t *rapid.T, part *jjm.Part, text string, files map[string]jjm.File, once bool) {
	type section struct {
		lfn string
		at  [2]uint32
	}
	owned := map[section]bool{}
	for _, r := range part.Input.Lumis {
		for n := r.First; n <= r.Last; n++ {
			lfn := part.Input.Files[r.File]
			if once {
				lfn = ""
			}
			owned[section{lfn, [2]uint32{r.Run, n}}] = true
		}
	}
	mask, reached := sectionsOf(t, text), map[section]bool{}
	for _, lfn := range part.Input.Files {
		for _, r := range files[lfn].Lumis {
			for n := r.First; n <= r.Last; n++ {
				s := section{lfn, [2]uint32{r.Run, n}}
				if once {
					s.lfn = ""
				}
				if mask[s.at] && !owned[s] {
					t.Fatalf("part %d is told %s of %v, and does not own %v of %s: %v", part.Serial, text, part.Input.Files, s.at,
						lfn, part.Input.Lumis)
				}
				reached[s] = reached[s] || mask[s.at]
			}
		}
	}
	for s := range owned {
		if !reached[s] {
			t.Fatalf("part %d owns %v, and is not told: %s", part.Serial, s, text)
		}
	}
}

// The list of sections that a part's application gets selects, in the files of the part, exactly the sections that the
// part owns. If the command has no common list for all files, files that share sections may be in one part. Then the
// list of each single file must be exact.
func TestProperties_AMaskClaimsWhatItsPartOwns(t *testing.T) {
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				one, once := rapid.Bool().Draw(t, "one"), false
				w, parts := cutDrawn(t, &s, one, func(p *Params) { once = p.LumiCorrection })
				files := map[string]jjm.File{}
				for _, f := range w.Files {
					files[f.LFN] = f
				}
				for i := range parts {
					in := parts[i].Input
					text := in.LumiText()
					switch {
					case parts[i].Unit == jjm.UnitRange:
						exactEvents(t, &parts[i], files)
						continue
					case text == "" && (one || parts[i].Unit != jjm.UnitLumi) && len(in.Lumis) > 0:
						t.Fatalf("part %d is told no sections: %+v", i, in)
					case text != "":
						exactMask(t, &parts[i], text, files, once)
						continue
					}
					for n, lfn := range in.Files { // check the list of each file separately
						alone := jjm.Part{Serial: parts[i].Serial, Input: &jjm.PartInput{Files: []string{lfn}}}
						for _, r := range in.Lumis {
							if int(r.File) == n {
								alone.Input.Lumis = append(alone.Input.Lumis, jjm.FileLumis{LumiRange: r.LumiRange})
							}
						}
						exactMask(t, &alone, in.LumisOf(n), files, once)
					}
				}
			})
		})
	}
}

// exactEvents requires that the number of events that a part tells the application is the number that the part owns.
// "All events" must mean that the part owns all events of its files.
func exactEvents(t *rapid.T, part *jjm.Part, files map[string]jjm.File) {
	in := part.Input
	told, owned := in.EventSpan().Count, int64(0)
	for _, r := range in.Events {
		if r.Count == jjm.ToTheEnd {
			return
		}
		owned += r.Count
	}
	if told == jjm.ToTheEnd {
		told = 0
		for _, lfn := range in.Files {
			told += files[lfn].Events
		}
	}
	if told != owned {
		t.Fatalf("part %d owns %d events and is told %d: %+v", part.Serial, owned, told, in)
	}
}
