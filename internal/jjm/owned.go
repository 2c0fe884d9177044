package jjm

import "math"

// NoSections is the reason, for people, why a step that counts luminosity sections skips a file.
const NoSections = "it tells no luminosity sections"

// WholeFile returns the section that stands for a whole file without sections, in a step that counts sections. No
// section of real data has these numbers.
func WholeFile() LumiRange { return LumiRange{} }

// FilePiece is one contiguous piece of a file that a part owns: events First..Last with Run -1, or sections First..Last
// of a run. A whole file has the piece 0..math.MaxInt64, whatever number of events it has.
type FilePiece struct {
	LFN              string
	Run, First, Last int64
}

// Whole reports whether the piece is a whole file.
func (p FilePiece) Whole() bool { return p.Run == -1 && p.First == 0 && p.Last == math.MaxInt64 }

// Pieces returns the pieces of files that the part owns. The error is of kind Internal if the sum of the pieces is not
// the part's count, because the ledger and the part would then disagree.
func (p *Part) Pieces() ([]FilePiece, error) {
	if p.Input == nil {
		return nil, Errorf(Internal, "it names no files")
	}
	o := owning{in: p.Input}
	switch p.Unit {
	case UnitFile:
		for i := range p.Input.Files {
			o.add(int32(i), -1, 0, math.MaxInt64, 1)
		}
	case UnitRange:
		for _, r := range p.Input.Events {
			if r.Count == ToTheEnd {
				o.add(r.File, -1, r.First, math.MaxInt64, 1)
			} else {
				o.add(r.File, -1, r.First, r.First+r.Count-1, r.Count)
			}
		}
	case UnitLumi:
		for _, l := range p.Input.Lumis {
			if n := l.Count(); n > 0 {
				o.add(l.File, int64(l.Run), int64(l.First), int64(l.Last), n)
			}
		}
	default:
		return nil, Errorf(Internal, "a part of %ss cannot own files", p.Unit)
	}
	if o.err != nil {
		return nil, o.err
	}
	if o.units != p.Count {
		return nil, Errorf(Internal, "its count is %d %ss, but it owns %d in its files", p.Count, p.Unit, o.units)
	}
	return o.pieces, nil
}

// owning collects the pieces of a part.
type owning struct {
	in     *PartInput
	pieces []FilePiece
	units  int64
	err    error
}

// add adds a piece of count units of the file at a position.
func (o *owning) add(file int32, run, first, last, count int64) {
	if file < 0 || int(file) >= len(o.in.Files) {
		o.err = Errorf(Internal, "it owns some of file %d, but reads only %d files", file, len(o.in.Files))
		return
	}
	o.pieces, o.units = append(o.pieces, FilePiece{o.in.Files[file], run, first, last}), o.units+count
}
