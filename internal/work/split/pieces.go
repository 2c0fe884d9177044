package split

import (
	"slices"

	"jjm/internal/jjm"
)

// Pieces is the splitter that makes exactly the parts listed in its settings. Recoveries use it for ranges of events.
const Pieces = "Pieces"

// Piece is a part to make: events of a file, counted from 0 within the file. If First is 0 and Count is jjm.ToTheEnd,
// the piece is a whole file of unknown length.
type Piece struct {
	LFN   string `json:"lfn"`
	First int64  `json:"first"`
	Count int64  `json:"count"`
}

func piecesMethod() *method {
	m := &method{name: Pieces, unit: jjm.UnitRange}
	m.defaults = func(p *Params) { p.EventsPerJob, p.EventsPerLumi = 100, AsEventsPerJob } // the defaults of EventBased
	m.bound = func(_ *Work, p *Params) int64 { return int64(len(p.Pieces)) }
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) { return newPieces(m, c, w, p) }
	return m
}

// pieces makes one part for each piece, in the given order. Carry.Used is the number of pieces already made.
type pieces struct {
	work  *Work
	p     *Params
	files map[string]int32
	owed  map[string]int // by file: number of pieces still to make
	at    int64
	group *place
}

func newPieces(m *method, c *Cutting, w *Work, p *Params) (*pieces, error) {
	s := &pieces{work: w, p: p, files: make(map[string]int32, len(w.Files)), owed: map[string]int{}, at: c.carry.Used}
	if len(p.Pieces) == 0 {
		return nil, m.invalid("pieces is empty: name the events to process")
	}
	if s.at < 0 || s.at > int64(len(p.Pieces)) {
		return nil, m.conflict("the carry says that %d pieces were made of %d", s.at, len(p.Pieces))
	}
	for i := range w.Files {
		s.files[w.Files[i].LFN] = int32(i)
	}
	ends := map[string]int64{}
	for i, piece := range p.Pieces {
		end, seen := ends[piece.LFN]
		whole := piece.Count == jjm.ToTheEnd && piece.First == 0 && !seen
		if !whole && (piece.Count < 1 || piece.First < end || end < 0 || piece.First > maxEvent-piece.Count) {
			return nil, m.invalid(
				"pieces[%d]: %d events of %.60q from %d on: want at least 1, after those of the same file before it", i,
				piece.Count, piece.LFN, piece.First)
		}
		if ends[piece.LFN] = piece.First + piece.Count; whole {
			ends[piece.LFN] = -1
		}
		if int64(i) >= s.at {
			s.owed[piece.LFN]++
			if err := s.check(m, i, &piece); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// maxEvent is the largest event number, 2^53, because numbers pass through JSON.
const maxEvent = 1 << 53

// check returns an error if a piece does not fit its file. If the file is not available yet, check returns nil.
func (s *pieces) check(m *method, i int, piece *Piece) error {
	n, ok := s.files[piece.LFN]
	if !ok {
		if s.work.Closed {
			return m.invalid("pieces[%d]: no file %.60q is in the dataset", i, piece.LFN)
		}
		return nil
	}
	if f := &s.work.Files[n]; f.Events > 0 && (piece.Count == jjm.ToTheEnd || piece.First+piece.Count > f.Events) {
		return m.invalid("pieces[%d]: %.60q has %d events, counted from 0", i, piece.LFN, f.Events)
	}
	return nil
}

func (s *pieces) count(*Cutting) int64 { return int64(len(s.p.Pieces)) - s.at }

// next makes the part of the next piece. It returns false if the file of the piece is not available.
func (s *pieces) next(c *Cutting) (jjm.Part, bool) {
	if s.at >= int64(len(s.p.Pieces)) {
		return jjm.Part{}, false
	}
	piece := &s.p.Pieces[s.at]
	i, ok := s.files[piece.LFN]
	if !ok {
		return jjm.Part{}, false
	}
	f := &s.work.Files[i]
	pl := newPlace(string(placeKey(nil, f.Locations, s.p.TrustSitelists)), f.Locations, s.work, s.p)
	if s.group != nil {
		pl.group, pl.inGroup = s.group.group, s.group.inGroup
	}
	pl.open(c, false)
	s.group = pl
	part := c.part(pl, []string{piece.LFN}, max(piece.Count, 1))
	in := part.Input
	in.Mask.Events = jjm.Span{First: f.FirstEvent + piece.First, Count: piece.Count}
	in.Events = []jjm.EventRange{{First: piece.First, Count: piece.Count}}
	if isGenerated(piece.LFN) && piece.Count > 0 {
		in.Mask.Lumis = s.sections(f, piece)
	}
	if s.p.DeterministicPileup {
		m := more(in)
		m.SkipPileup, m.HasSkip = c.carry.Serial*s.p.EventsPerJob, true
	}
	if isGenerated(piece.LFN) {
		carryLHE(in, s.p)
	}
	estimate(in, &s.p.Performance, float64(max(piece.Count, 0)))
	addParents(in, s.work, s.p, i)
	failIfNoCluster(in)
	s.at++
	c.carry.Used = s.at
	if s.owed[piece.LFN]--; s.owed[piece.LFN] == 0 {
		c.finish(i)
	}
	return part, true
}

// sections returns the section numbers that EventBased generates for the events of a piece. Each part of events_per_job
// events starts a new section.
func (s *pieces) sections(f *jjm.File, piece *Piece) jjm.Span {
	perJob := max(s.p.EventsPerJob, 1)
	perLumi := s.p.EventsPerLumi
	if perLumi < 1 {
		perLumi = perJob
	}
	of := func(event int64) int64 { return event/perJob*ceil(perJob, perLumi) + event%perJob/perLumi }
	first := of(piece.First)
	return jjm.Span{First: firstLumi(f) + first, Count: of(piece.First+piece.Count-1) - first + 1}
}

func (s *pieces) checkpoint() *Checkpoint { return nil }

// left adds to l, as dropped, each file that no piece names. If a piece waits for its file, it also notes this in l.
func (s *pieces) left(l *Left) {
	named := map[string]bool{}
	for i := range s.p.Pieces {
		named[s.p.Pieces[i].LFN] = true
	}
	for i := range s.work.Files {
		if !named[s.work.Files[i].LFN] {
			l.Done = append(l.Done, int32(i))
			l.Dropped = append(l.Dropped, Dropped{File: int32(i), Why: "no piece of it is named"})
		}
	}
	slices.Sort(l.Done)
	if s.at < int64(len(s.p.Pieces)) {
		l.Waiting, l.Why = 1, "a piece waits for its file"
	}
}
