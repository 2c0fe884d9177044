package outputs

import (
	"jjm/internal/jjm"
)

// Readable returns the part without the files in gone, which cannot be read, and without
// the events and sections of these files. Its Count is 0 if nothing is left.
func Readable(p jjm.Part, gone map[string]bool) jjm.Part {
	in := *p.Input
	at := make([]int32, len(p.Input.Files)) // the new position of each file, -1 = removed
	in.Files, in.Events, in.Lumis = nil, nil, nil
	for i, lfn := range p.Input.Files {
		if at[i] = -1; !gone[lfn] {
			at[i] = int32(len(in.Files))
			in.Files = append(in.Files, lfn)
		}
	}
	p.Count = 0
	if p.Unit == jjm.UnitFile {
		p.Count = int64(len(in.Files))
	}
	for _, r := range p.Input.Events {
		if r.File = at[r.File]; r.File < 0 {
			continue
		}
		in.Events = append(in.Events, r)
		if p.Unit == jjm.UnitRange && r.Count == jjm.ToTheEnd {
			p.Count++
		} else if p.Unit == jjm.UnitRange {
			p.Count += r.Count
		}
	}
	for _, r := range p.Input.Lumis {
		if r.File = at[r.File]; r.File < 0 {
			continue
		}
		in.Lumis = append(in.Lumis, r)
		if p.Unit == jjm.UnitLumi {
			p.Count += r.Count()
		}
	}
	p.Input = &in
	return p
}
