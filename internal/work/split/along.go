package split

import (
	"jjm/internal/jjm"
	"jjm/internal/work/split/jedi"
)

// alongCut cuts generated events. It adds files of secondary datasets (minimum bias, cards) to each part, by the
// attributes of these datasets. A part counts as one file of a master dataset, like JEDI's pseudo input.
type alongCut struct {
	*ranges
	jedi *jediCut
}

// newAlong returns the cut of ranges with the secondary datasets of its work. The error is of kind Invalid if a closed
// dataset has too few files for all parts.
func newAlong(m *method, c *Cutting, w *Work, p *Params, r *ranges) (*alongCut, error) {
	whole := *w
	whole.Closed = true // the number of events is final
	k := &jediCut{work: &whole, p: p}
	one := int64(1)
	k.rules = jedi.Rules{FilesPerJob: &one}
	k.chunk.Master = &jedi.Dataset{Records: r.records()}
	k.secondaryDatasets(c.carry.Cursors)
	for _, d := range k.chunk.Secondary {
		k.mustSuffice = k.mustSuffice || mustSuffice(d)
	}
	n := len(k.chunk.Master.Records)
	if k.waitForAllFiles(); k.why != "" {
		k.waiting = n
	}
	if l := k.findLack(); l != nil {
		return nil, m.invalid("%s: add some, or %s", k.lackText(l), k.remedy(l))
	}
	return &alongCut{r, k}, nil
}

// records returns the remaining parts, each as a file with the part's number of events.
func (r *ranges) records() []jedi.Record {
	records := make([]jedi.Record, 0, r.parts())
	rest := *r
	for part, ok := rest.next(nil); ok; part, ok = rest.next(nil) {
		f := jedi.File(int64(len(records)), "", 0)
		f.Events, f.Start, f.End = part.Count, 0, part.Count-1
		records = append(records, f)
	}
	return records
}

// next returns the next part. It returns false if the part's secondary files do not exist.
func (a *alongCut) next(c *Cutting) (jjm.Part, bool) {
	job, ok := a.jedi.take()
	if !ok || len(job.Master) == 0 {
		return jjm.Part{}, false
	}
	behind := a.at
	part, ok := a.ranges.next(c)
	if !ok {
		return part, false
	}
	part.Input = &c.inputs.take(1)[0]
	part.Input.Mask.Events = jjm.Span{First: part.First + behind, Count: part.Count}
	a.jedi.addSecondary(c, part.Input, job)
	return part, true
}

// count returns the number of parts, including parts that wait for secondary files.
func (a *alongCut) count(*Cutting) int64 { return a.parts() }

// left adds to l the dataset for which the next part waits.
func (a *alongCut) left(l *Left) { a.jedi.left(l) }
