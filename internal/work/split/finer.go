package split

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"jjm/internal/jjm"
)

// Finer is the size of the parts into which parts are cut again. Exactly one field is set.
type Finer struct {
	// Into is the number of new parts of each part. There are more if a new part would span two runs.
	Into int64 `json:"into,omitempty"`
	// EventsPerJob, FilesPerJob and LumisPerJob are the sizes of the new parts of a part that owns ranges of events, files
	// or sections.
	EventsPerJob int64 `json:"events_per_job,omitempty"`
	FilesPerJob  int64 `json:"files_per_job,omitempty"`
	LumisPerJob  int64 `json:"lumis_per_job,omitempty"`
}

// Division is the result of cutting parts again.
type Division struct {
	// Parts are the new parts of each local job, by number.
	Parts map[int32][]jjm.Part
	// Uncut are the local jobs whose parts cannot be cut again, by number, with the reasons.
	Uncut map[int32]string
	// Carry is the state of the step's splitter after the cut.
	Carry Carry
}

// Jobs returns the local jobs whose parts are cut again, in ascending order.
func (d *Division) Jobs() []int32 { return slices.Sorted(maps.Keys(d.Parts)) }

// Count returns the number of new parts.
func (d *Division) Count() (n int) {
	for _, parts := range d.Parts {
		n += len(parts)
	}
	return n
}

// Divide cuts the parts of local jobs of a step again, with the step's splitter and other settings params. file returns
// the description of a file by LFN, nil for an unknown file. The new parts of a local job own the units of the old part
// and keep its place and job group. A part that cannot be cut again is in Division.Uncut; an error means that the
// splitter failed for a part.
func Divide(splitter string, params Params, old map[int32]*jjm.Part, want Finer, file func(lfn string) *jjm.File,
	carry Carry) (Division, error) {
	d := Division{Parts: map[int32][]jjm.Part{}, Uncut: map[int32]string{}, Carry: carry}
	for _, n := range slices.Sorted(maps.Keys(old)) {
		parts, next, why, err := divide(splitter, params, old[n], want, file, d.Carry)
		switch {
		case jjm.KindOf(err) == jjm.Gone:
			d.Uncut[n] = err.Error()
		case err != nil:
			return d, fmt.Errorf("cut the part of local job %d again: %w", n, err)
		case why != "":
			d.Uncut[n] = why
		default:
			d.Parts[n], d.Carry = parts, next
		}
	}
	return d, nil
}

// divide cuts one part again. why is the reason if the part cannot be cut again.
func divide(splitter string, params Params, p *jjm.Part, want Finer, file func(lfn string) *jjm.File, carry Carry) (
	parts []jjm.Part, next Carry, why string, err error) {
	if why := uncuttable(params, p); why != "" {
		return nil, carry, why, nil
	}
	size, why := want.size(p)
	if why != "" {
		return nil, carry, why, nil
	}
	name, params, ok := resized(splitter, params, size)
	if !ok {
		return nil, carry, fmt.Sprintf("parts of the splitter %s cannot be cut again", splitter), nil
	}
	parts, next, err = Resplit(name, p, file, params, carry)
	if err != nil {
		return nil, carry, "", err
	}
	if len(parts) < 2 {
		return nil, carry, fmt.Sprintf("it cannot be cut further: it owns %s", p.Work()), nil
	}
	for i := range parts {
		if parts[i].Input.More != nil && parts[i].Input.More.Failure != nil {
			return nil, carry, "a new part could not be submitted: " + parts[i].Input.More.Failure.Reason, nil
		}
		parts[i].Input.Place, parts[i].Input.Group = p.Input.Place, p.Input.Group
	}
	if err := sameUnits(p, parts); err != nil {
		return nil, carry, "", err
	}
	next.Group, next.InGroup = carry.Group, carry.InGroup
	return parts, next, "", nil
}

// uncuttable returns the reason why a part cannot be cut again, whatever the size, "" if there is none.
func uncuttable(params Params, p *jjm.Part) string {
	switch {
	case p.Unit == jjm.UnitEvent:
		return "its events are generated: the ledger of generated events gives each event to one local job permanently"
	case p.Unit == jjm.UnitRow:
		return "it cannot be cut further: it owns one row"
	case p.Input == nil:
		return "what it reads is not known"
	case slices.ContainsFunc(p.Input.Files, isGenerated):
		return "its events are generated: the numbers of their sections depend on the size of the part"
	case params.LumiCorrection:
		return "applyLumiCorrection: a section that several files have cannot be cut again"
	case params.IncludeParents:
		return "include_parents: the ancestors of its files were chosen for the whole part"
	case params.DeterministicPileup:
		return "deterministicPileup: new parts would read the pile-up events of other local jobs"
	}
	if more := p.Input.More; more != nil {
		switch {
		case more.Seed != 0 || more.Sequence != 0:
			return "its random seed or sequence number belongs to the whole part"
		case len(more.Secondary) > 0:
			return "its files of secondary datasets belong to the whole part"
		case len(more.Settings) > 0:
			return "its settings belong to the whole part"
		}
	}
	if slices.ContainsFunc(p.Input.Events, func(r jjm.EventRange) bool { return r.Count < 1 }) {
		return "the number of events of a file that it reads is not known"
	}
	return ""
}

// size returns the size of the new parts of a part, in its unit. why is the reason if the size is given in another
// unit.
func (f Finer) size(p *jjm.Part) (size int64, why string) {
	if f.Into > 0 {
		return max(ceil(p.Count, f.Into), 1), ""
	}
	size = map[string]int64{jjm.UnitFile: f.FilesPerJob, jjm.UnitRange: f.EventsPerJob,
		jjm.UnitLumi: f.LumisPerJob}[p.Unit]
	if size > 0 {
		return size, ""
	}
	flag := map[string]string{jjm.UnitFile: "--files-per-job", jjm.UnitRange: "--events-per-job",
		jjm.UnitLumi: "--lumis-per-job"}[p.Unit]
	return 0, fmt.Sprintf("it owns %s: say how many with %s, or into how many parts with --into",
		jjm.CountedAs(p.Unit), flag)
}

// resized returns the splitter and the settings that cut parts of the splitter into parts of the size. It removes
// limits of the whole step, because a part is only a piece of the step. ok is false if parts of the splitter cannot be
// cut again.
func resized(splitter string, p Params, size int64) (name string, out Params, ok bool) {
	p.TotalFiles, p.TotalEvents, p.TotalLumis, p.JobLimit, p.MaxFiles = 0, 0, 0, 0, -1
	name = splitter
	switch splitter {
	case FileBased:
		p.FilesPerJob = size
	case MinFileBased, SiblingProcessingBased:
		name, p.FilesPerJob = FileBased, size
		p.Runs, p.Lumis, p.RunWhitelist = nil, nil, nil
	case SplitByFiles:
		p.FilesPerSplit = size
	case GangaDatasetSplitter:
		p.FilesPerSubjob = size
	case EventBased:
		p.EventsPerJob = size
	case LHCbDataSplitter:
		p.EventBunchSize = size
	case LumiBased, EventAwareLumiBased:
		name, p.LumisPerJob = LumiBased, size
	default:
		return "", p, false
	}
	return name, p, true
}

// sameUnits returns an error of kind Internal unless the new parts together own exactly the units of the old part, each
// unit once.
func sameUnits(old *jjm.Part, parts []jjm.Part) error {
	before, err := old.Pieces()
	if err != nil {
		return err
	}
	var after []jjm.FilePiece
	for i := range parts {
		ps, err := parts[i].Pieces()
		if err != nil {
			return err
		}
		after = append(after, ps...)
	}
	if before, after := joined(before), joined(after); !slices.Equal(before, after) {
		return jjm.Errorf(jjm.Internal, "the part owns %v, and the new parts own %v", before, after)
	}
	return nil
}

// joined sorts pieces, and joins pieces of a file or run that follow one another. Pieces that overlap stay apart.
func joined(all []jjm.FilePiece) (out []jjm.FilePiece) {
	slices.SortFunc(all, func(a, b jjm.FilePiece) int {
		return cmp.Or(cmp.Compare(a.LFN, b.LFN), cmp.Compare(a.Run, b.Run), cmp.Compare(a.First, b.First))
	})
	for _, p := range all {
		n := len(out)
		if n > 0 && out[n-1].LFN == p.LFN && out[n-1].Run == p.Run && out[n-1].Last+1 == p.First {
			out[n-1].Last = p.Last
			continue
		}
		out = append(out, p)
	}
	return out
}
