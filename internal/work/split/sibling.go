package split

import (
	"math"

	"jjm/internal/jjm"
)

// SiblingProcessingBased is WMCore's splitter that follows the other grid jobs that read the same dataset. A file is
// ready when all these grid jobs have processed it. If one of these grid jobs failed to process a file, the file is
// dropped when the dataset closes.
const SiblingProcessingBased = "SiblingProcessingBased"

func siblingMethod() *method {
	m := fileMethod(SiblingProcessingBased)
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) {
		if p.FilesPerJob < 1 {
			return nil, m.invalid("files_per_job is %d: want at least 1", p.FilesPerJob)
		}
		if w.Siblings != nil && len(w.Siblings) != len(w.Files) {
			return nil, m.invalid("%d states with siblings for %d files: want one each", len(w.Siblings), len(w.Files))
		}
		s := &siblings{fileBased: fileBased{work: w, p: &Params{}, full: !w.Closed,
			size: int(min(p.FilesPerJob, math.MaxInt32))}}
		s.gather(p)
		s.places = resume(c, s.places)
		return s, nil
	}
	return m
}

// whyProducer is the reason why WMBSMergeBySize does not merge a file.
const whyProducer = "a job that read a parent of it failed"

// whySibling is the reason why a file that failed in another grid job has no part.
const whySibling = "it failed with another grid job that reads the dataset"

// siblings cuts ready files into parts, storage by storage.
type siblings struct {
	fileBased
	dropped []Dropped
	pending int
}

// gather collects the ready files.
func (s *siblings) gather(p *Params) {
	storages := firstStorage{}
	for i := range s.work.Files {
		f := &s.work.Files[i]
		state := SiblingDone
		if s.work.Siblings != nil {
			state = s.work.Siblings[i]
		}
		switch {
		case state == SiblingFailed && s.work.Closed:
			s.dropped = append(s.dropped, Dropped{File: int32(i), Why: whySibling})
		case state != SiblingDone:
			s.pending++
		case len(f.Locations) > 0:
			pl := storages.of(f, s.work, p)
			if len(pl.files) == 0 {
				s.places = append(s.places, pl)
			}
			pl.files = append(pl.files, int32(i))
		}
	}
}

func (s *siblings) next(c *Cutting) (jjm.Part, bool) { return s.fileBased.next(c) }

func (s *siblings) left(l *Left) {
	l.Dropped = s.dropped
	if l.Waiting = s.waits + s.pending; l.Waiting > 0 {
		l.Why = "files wait for the other grid jobs that read the dataset, or for more to fill a part"
	}
}
