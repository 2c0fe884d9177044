package split

import (
	"math"
	"slices"

	"jjm/internal/jjm"
)

// Leaver determines the units of files that a splitter leaves out, with the reasons.
type Leaver struct {
	name, unit string
	p          Params
	mask       lumiMask
	read       []string
}

// LeaverOf returns the Leaver of a splitter with its settings. The error is of kind Invalid if the splitter is unknown
// or a setting is wrong.
func LeaverOf(name string, p Params) (*Leaver, error) {
	m, err := find(name)
	if err != nil {
		return nil, err
	}
	l := &Leaver{name: name, unit: m.unit, p: p, read: settings()[name]}
	if l.reads("runs") {
		if l.mask, err = maskOf(&p); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *Leaver) reads(key string) bool { return slices.Contains(l.read, key) }

// asks returns the reason for which the settings leave out units of files in general: a limit of the number of units,
// pieces, or rules for records. It returns "" if no setting leaves out units.
func (l *Leaver) asks() jjm.LeftReason {
	p, r := &l.p, &l.p.Records
	switch {
	case l.reads("total_files") && p.TotalFiles > 0, l.reads("total_lumis") && p.TotalLumis > 0,
		l.reads("total_events") && p.TotalEvents > 0, l.reads("maxFiles") && p.MaxFiles >= 0:
		return jjm.LeftTotal
	case l.reads("pieces") && len(p.Pieces) > 0:
		return jjm.LeftPieces
	case l.reads("records") && (r.MaxFiles > 0 || r.MaxEvents > 0 || r.Offset > 0 || r.SkipShort):
		return jjm.LeftRecords
	}
	return ""
}

// CountsSections reports whether the splitter counts sections, so that a file without sections has no part.
func (l *Leaver) CountsSections() bool { return l.unit == jjm.UnitLumi }

// Units returns the reason why the settings leave out unit first of a file, and until, the last unit with the same
// result, at most last. If the splitter counts sections, the units are sections of a run. The reason is "" if no
// setting leaves the unit out; if no part owns such a unit, the unit is missing.
func (l *Leaver) Units(run uint32, first, last int64) (until int64, reason jjm.LeftReason) {
	if l.unit != jjm.UnitLumi {
		return last, l.asks()
	}
	if l.reads("runWhitelist") && len(l.p.RunWhitelist) > 0 && !slices.Contains(l.p.RunWhitelist, run) {
		return last, jjm.LeftRuns
	}
	end, good := l.mask.good(run, uint32(first), uint32(min(last, math.MaxUint32)))
	if !good {
		return int64(end), jjm.LeftMask
	}
	return int64(end), l.asks()
}

// File returns the reason for which a file has no part. asked is set if the job file requests this. why is the
// splitter's own reason, or "".
func (l *Leaver) File(f *jjm.File, why string) (reason jjm.LeftReason, asked bool) {
	switch {
	case why == whySibling:
		return jjm.LeftSibling, false
	case why == whyProducer:
		return jjm.LeftProducer, false
	case l.unit == jjm.UnitLumi && lumiCount(f.Lumis) == 0:
		return l.without()
	case l.name == WMBSMergeBySize && lumiCount(f.Lumis) == 0:
		return jjm.LeftNoSections, false
	case (l.name == WMBSMergeBySize || l.name == SiblingProcessingBased) && len(f.Locations) == 0:
		return jjm.LeftNoLocation, false
	case l.unit == jjm.UnitLumi:
		for _, r := range f.Lumis {
			if r.Count() > 0 {
				_, reason = l.Units(r.Run, int64(r.First), int64(r.Last))
				break
			}
		}
	case len(l.mask) > 0 && !(&fileBased{work: &Work{Files: []jjm.File{*f}}, mask: l.mask}).usable(0):
		return jjm.LeftMask, true
	default:
		reason = l.asks()
	}
	if reason == "" {
		return jjm.LeftSplitter, false
	}
	return reason, true
}

// without returns the reason why a file without luminosity sections has no part. The bool is true if the job file asked
// for that.
func (l *Leaver) without() (jjm.LeftReason, bool) {
	if l.p.WithoutLumis != WithoutWhole {
		return jjm.LeftNoSections, l.p.WithoutLumis == WithoutSkip
	}
	whole := jjm.WholeFile()
	if _, reason := l.Units(whole.Run, int64(whole.First), int64(whole.Last)); reason != "" {
		return reason, true
	}
	return jjm.LeftSplitter, false
}

// Why returns the text of a reason, for people.
func (l *Leaver) Why(reason jjm.LeftReason) string {
	switch reason {
	case jjm.LeftNoSections:
		return jjm.NoSections
	case jjm.LeftNoLocation:
		return "it tells no location"
	case jjm.LeftMask:
		return "runs and lumis do not name it"
	case jjm.LeftRuns:
		return "runWhitelist does not name its run"
	case jjm.LeftTotal:
		return "the job file asks for no more"
	case jjm.LeftPieces:
		return "no piece of it is named"
	case jjm.LeftRecords:
		return "records leaves it out"
	case jjm.LeftSibling:
		return whySibling
	case jjm.LeftProducer:
		return whyProducer
	}
	return l.name + " leaves it out"
}
