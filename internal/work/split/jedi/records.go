package jedi

import (
	"cmp"
	"slices"

	"jjm/internal/jjm"
)

// MaxRecords is JEDI's limit for the number of records of a dataset.
const MaxRecords = 200_000

// RecordRules determine how files are cut into records.
type RecordRules struct {
	// Into, Block and At describe where an earlier list ended: the number of events in its last chunk, its last lumi
	// block, and the number of its events that came from the file Head.
	Into  int64 `json:"-"`
	Block int64 `json:"-"`
	At    int64 `json:"-"`
	// Head is the LFN of the file in which an earlier list ended. It becomes the first file.
	Head string `json:"-"`

	// EventsPerJob is the size of a chunk of events, which may extend over several files. Event services use
	// EventsPerRange instead.
	EventsPerJob   int64 `json:"events_per_job,omitempty"`
	EventsPerRange int64 `json:"events_per_range,omitempty"`
	// TargetEvents cuts each file into equal ranges of about TargetEvents events.
	TargetEvents int64 `json:"target_events,omitempty"`
	// EventsPerFile is the number of events of every file. With RealEvents each file has its own number. If neither is
	// set, files are not cut.
	EventsPerFile int64 `json:"events_per_file,omitempty"`
	RealEvents    bool  `json:"real_events,omitempty"`
	// SkipShort shortens files with fewer events than EventsPerFile to a multiple of
	// EventsPerJob.
	SkipShort bool `json:"skip_short,omitempty"`
	// RespectLB starts a new chunk with each lumi block.
	RespectLB bool `json:"respect_lb,omitempty"`
	// FirstEvent is the number of the first event of the first file; nil = events have no
	// numbers.
	FirstEvent *int64 `json:"first_event,omitempty"`
	// Offset is the number of files to skip, in the order of LFNs.
	Offset int `json:"offset,omitempty"`
	// MaxFiles and MaxEvents end the list; 0 = no limit.
	MaxFiles  int   `json:"max_files,omitempty"`
	MaxEvents int64 `json:"max_events,omitempty"`
	// OrderBy is the order of the files: "" (by LFN) or EventsAlignment.
	OrderBy string `json:"order_by,omitempty"`
	// MaxRecords is the maximum number of records; 0 = the constant MaxRecords. More records are an error.
	MaxRecords int `json:"max_records,omitempty"`
}

// Ranges reports whether files with known events are cut into ranges.
func (r *RecordRules) Ranges() bool {
	return r.EventsPerJob > 0 || r.EventsPerRange > 0 || r.TargetEvents > 0
}

// EventsAlignment puts a file first if its number of events is a multiple of the chunk size. Among these files, and
// among all other files, the order is by LFN. As few chunks as possible then extend over the end of a file (JEDI's
// orderInputBy).
const EventsAlignment = "eventsAlignment"

// recorder is the state of Records.
type recorder struct {
	rules  RecordRules
	size   int64 // number of events of a chunk
	remain int64 // number of events still missing in the current chunk
	block  int64
	number int64 // number of the next event
	out    []Record
}

// Records cuts whole files into ranges of events, in the order of LFNs. A chunk of events may extend over several
// files; its ranges together have the size of a chunk. A file with an unknown number of events is one record. The error
// is of kind Invalid if there are too many records, or if the order is unknown.
func Records(files []Record, rules RecordRules) ([]Record, error) {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b Record) int { return cmp.Compare(a.LFN, b.LFN) })
	files = files[min(max(rules.Offset, 0), len(files)):]
	if err := rules.order(files); err != nil {
		return nil, err
	}
	if rules.MaxRecords == 0 {
		rules.MaxRecords = MaxRecords
	}
	r := recorder{rules: rules, size: rules.chunk(), block: Unknown}
	if r.remain = r.size - rules.Into; rules.Into > 0 || rules.At > 0 {
		r.block = rules.Block
	}
	if rules.FirstEvent != nil {
		r.number = *rules.FirstEvent
	}
	var events int64
	for i := range files {
		if rules.MaxFiles > 0 && i >= rules.MaxFiles {
			break
		}
		f := files[i]
		if !r.count(&f) {
			continue
		}
		at := int64(0)
		if i == 0 && f.LFN == rules.Head {
			at = rules.At
		}
		if r.file(f, at); len(r.out) > rules.MaxRecords {
			return nil, jjm.Errorf(jjm.Invalid,
				"records: %d files make more than %d records: take larger chunks of events, or fewer files",
				len(files), rules.MaxRecords)
		}
		if f.Events != Unknown {
			events += f.Events
		}
		if rules.MaxEvents > 0 && events >= rules.MaxEvents {
			break
		}
	}
	return r.out, nil
}

// chunk returns the size of a chunk of events, 0 if files are not cut into chunks.
func (rules *RecordRules) chunk() int64 {
	return cmp.Or(max(rules.EventsPerJob, 0), max(rules.EventsPerRange, 0))
}

// order sorts files, which are sorted by LFN, by OrderBy, and puts the file Head first. The error is of kind Invalid if
// the order is unknown.
func (rules *RecordRules) order(files []Record) error {
	switch rules.OrderBy {
	case "", EventsAlignment:
	default:
		return jjm.Errorf(jjm.Invalid, "records: order_by %.40q: want %q, or nothing for the order of LFNs", rules.OrderBy,
			EventsAlignment)
	}
	rank := func(r *Record) int {
		size := rules.chunk()
		switch {
		case rules.Head != "" && r.LFN == rules.Head:
			return 0
		case rules.OrderBy == "":
		case size > 0 && r.Events > 0 && r.Events%size == 0:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(files, func(a, b Record) int { return cmp.Compare(rank(&a), rank(&b)) })
	return nil
}

// count sets the number of events of a file that are used. It returns false if none are used.
func (r *recorder) count(f *Record) bool {
	switch {
	case r.rules.SkipShort && f.Events != Unknown && f.Events < r.rules.EventsPerFile:
		f.Events -= f.Events % max(r.size, 1)
		return f.Events > 0
	case r.rules.EventsPerFile > 0:
		f.Events = r.rules.EventsPerFile
	}
	return true
}

// file makes the records of a file, beginning with the event from.
func (r *recorder) file(f Record, from int64) {
	if r.size <= 0 && r.rules.TargetEvents <= 0 || f.Events == Unknown || f.Events <= 0 ||
		r.rules.EventsPerFile <= 0 && !r.rules.RealEvents {
		r.add(f, r.rules.EventsPerFile > 0)
		return
	}
	if target := r.rules.TargetEvents; target > 0 {
		pieces := ceilDiv(f.Events, target)
		r.size = ceilDiv(f.Events, pieces)
		r.remain = r.size
	}
	if r.rules.RespectLB && (r.block == Unknown || r.block != f.LumiBlock) {
		r.block, r.remain = f.LumiBlock, r.size
	}
	for made, at := 0, from; at < f.Events && made < r.rules.MaxRecords; made++ {
		n := min(r.remain, f.Events-at)
		one := f
		one.Start, one.End, one.Into = at, at+n-1, r.size-r.remain
		r.add(one, true)
		at += n
		if r.remain -= n; r.remain == 0 {
			r.remain = r.size
		}
	}
}

func ceilDiv(n, by int64) int64 { return n/by + min(n%by, 1) }

// add adds a record and numbers its events.
func (r *recorder) add(one Record, counted bool) {
	if r.rules.FirstEvent != nil && counted {
		one.First = r.number
		r.number += one.span()
	}
	r.out = append(r.out, one)
}
