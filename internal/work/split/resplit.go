package split

import (
	"slices"

	"jjm/internal/jjm"
)

// WorkOf returns the work that a part owns, so that the work can be cut again. file returns the description of a file
// by LFN, nil for an unknown file. Events of files keep their numbers from the beginning of the file. The error is of
// kind Gone if a file is unknown.
func WorkOf(p *jjm.Part, file func(lfn string) *jjm.File) (Work, error) {
	w := Work{Closed: true}
	switch p.Unit {
	case jjm.UnitEvent:
		w.First, w.Events = p.First, p.Count
		return w, nil
	case jjm.UnitRow:
		w.Rows = [][]string{p.Args}
		return w, nil
	}
	if p.Input == nil {
		return w, jjm.Errorf(jjm.Internal, "resplit: part %d owns %ss, but names no files", p.Serial, p.Unit)
	}
	owned := make([]jjm.File, len(p.Input.Files))
	for i, lfn := range p.Input.Files {
		f := file(lfn)
		if f == nil {
			return w, jjm.Errorf(jjm.Gone, "resplit: part %d reads file %.100q, which is no longer known", p.Serial, lfn)
		}
		owned[i] = *f
	}
	switch p.Unit {
	case jjm.UnitLumi:
		w.Files = ownedLumis(owned, p.Input.Lumis)
	case jjm.UnitRange:
		w.Files, w.Skip = ownedEvents(owned, p.Input.Events)
	default:
		w.Files = owned
	}
	return w, nil
}

// ownedLumis reduces each file to the owned sections, and removes files without owned sections.
func ownedLumis(files []jjm.File, owned []jjm.FileLumis) []jjm.File {
	for i := range files {
		all := lumiCount(files[i].Lumis)
		var mine []jjm.LumiRange
		for _, r := range owned {
			if int(r.File) == i {
				mine = append(mine, r.LumiRange)
			}
		}
		if all > 0 {
			files[i].Events = meanEvents(files[i].Events, all) * lumiCount(mine)
		}
		files[i].Lumis = mine
	}
	return withSome(files, func(f *jjm.File) bool { return len(f.Lumis) > 0 })
}

// ownedEvents reduces each file to the owned events. It also returns the position in each file at which these events
// begin (Work.Skip).
func ownedEvents(files []jjm.File, owned []jjm.EventRange) ([]jjm.File, map[string]int64) {
	skip := map[string]int64{}
	var out []jjm.File
	for _, r := range owned {
		f := files[r.File]
		skip[f.LFN] = r.First
		f.FirstEvent, f.Events = f.FirstEvent+r.First, max(r.Count, 0) // 0 for a range to the end of its file
		out = append(out, f)
	}
	return out, skip
}

func withSome(files []jjm.File, some func(*jjm.File) bool) []jjm.File {
	out := files[:0]
	for i := range files {
		if some(&files[i]) {
			out = append(out, files[i])
		}
	}
	return out
}

// finerUnits returns the units into which a part may be cut again. They never cover more than the part owns.
func finerUnits(unit string) []string {
	switch unit {
	case jjm.UnitFile:
		return []string{jjm.UnitFile, jjm.UnitRange, jjm.UnitLumi}
	}
	return []string{unit}
}

// Resplit cuts a part again; Ganga does this with a completed, failed or killed subjob. The new parts together own the
// units of the old part, and continue the serial numbers and job groups of the carry. The caller must give back the old
// part in the same transaction. The error is of kind Invalid if the splitter is unknown or cannot cut the part, and
// Gone if a file of the part is unknown.
func Resplit(name string, p *jjm.Part, file func(lfn string) *jjm.File, params Params, carry Carry) ([]jjm.Part, Carry,
	error) {
	m, err := find(name)
	if err != nil {
		return nil, carry, err
	}
	if !slices.Contains(finerUnits(p.Unit), m.unit) {
		return nil, carry, m.invalid("part %d owns %ss: cannot cut it into %ss, of which it may own a part only", p.Serial,
			p.Unit, m.unit)
	}
	w, err := WorkOf(p, file)
	if err != nil {
		return nil, carry, err
	}
	// Totals and positions of the carry belong to the step's own work.
	fresh := Carry{Serial: carry.Serial, Group: carry.Group}
	parts, _, next, err := m.Cut(w, Limits{}, params, fresh)
	if err != nil {
		return nil, carry, err
	}
	if len(parts) == 0 {
		return nil, carry, m.invalid("part %d would be cut into nothing", p.Serial)
	}
	for i := range parts {
		if m.unit != jjm.UnitEvent {
			parts[i].First += carry.Next
		}
	}
	carry.Serial, carry.Group, carry.Next = next.Serial, next.Group, carry.Next+next.Next
	return parts, carry, nil
}
