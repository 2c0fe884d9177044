package split

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/go-cmp/cmp"

	"jjm"
	"jjm/cover"
)

// otherwise are the rows of recoveries in which jjm does otherwise, and why.
func otherwise() map[string]string {
	const order = "files are taken by the lowest run that is missing, not by the lowest that they ever had"
	return map[string]string{
		"LumiBased-edge-008":          "nothing is lost: no recovery. To WMCore an empty list means all",
		"LumiBased-rnd-079":           order,
		"EventAwareLumiBased-rnd-001": order,
	}
}

// differs demands that all the same is cut, in other parts, and nothing if nothing was lost.
func (r *wmRow) differs(why string, want, got []wmGroup) string {
	if cmp.Equal(want, got, sameJobs) {
		return "it is the same: not " + why
	}
	if len(r.Whitelist) == 0 {
		want = nil
	}
	return cmp.Diff(sectionsOf(want), sectionsOf(got))
}

// sectionsOf are the sections of all jobs, each as often as it is cut.
func sectionsOf(groups []wmGroup) map[string]int {
	out := map[string]int{}
	for _, g := range groups {
		for _, j := range g.Jobs {
			for run, ranges := range j.Mask.Lumis {
				for _, r := range ranges {
					for n := r[0]; n <= r[1]; n++ {
						out[fmt.Sprintf("%s:%d", run, n)]++
					}
				}
			}
		}
	}
	return out
}

// joined writes the sections of jobs as ranges that do not touch: a recovery names what is
// missing in its order, WMCore in that in which the file has it.
func joined(groups []wmGroup) []wmGroup {
	for g := range groups {
		for j := range groups[g].Jobs {
			for run, ranges := range groups[g].Jobs[j].Mask.Lumis {
				slices.SortFunc(ranges, func(a, b [2]uint32) int { return int(a[0]) - int(b[0]) })
				var out [][2]uint32
				for _, r := range ranges {
					if n := len(out); n > 0 && out[n-1][1]+1 == r[0] {
						out[n-1][1] = r[1]
						continue
					}
					out = append(out, r)
				}
				groups[g].Jobs[j].Mask.Lumis[run] = out
			}
		}
	}
	return groups
}

// recovered is the work of a row's recovery of sections, made the product's way: what the
// documents name is found missing, and the job file of the recovery is read.
func (r *wmRow) recovered(splitter string, w Work, p Params) (Work, Params, error) {
	params := map[string]any{}
	for _, key := range []string{"runs", "lumis"} {
		if v := r.Params[key]; v != nil {
			params[key] = v
		}
	}
	rec := cover.NewRecovery(jjm.Spec{Split: &jjm.Splitting{By: splitter, Params: params},
		Datasets: []jjm.DatasetInput{{Name: "raw"}}}, jjm.UnitLumi, 1, 0, 0, "")
	files := map[string]jjm.File{}
	for i := range w.Files {
		f := &w.Files[i]
		files[f.LFN] = *f
		for _, l := range missing(f, r.Whitelist) {
			err := rec.Add(cover.Finding{Kind: cover.Missing, LFN: f.LFN, Run: l.Run, First: int64(l.First),
				Last: int64(l.Last)})
			if err != nil {
				return w, p, err
			}
		}
	}
	written, err := rec.JobFile("f", "r", func(lfn string) (jjm.File, error) { return files[lfn], nil })
	if err != nil {
		return w, p, err
	}
	var spec jjm.Spec
	if err := json.Unmarshal(written.Job, &spec); err != nil {
		return w, p, fmt.Errorf("%s: %w", written.Job, err)
	}
	if spec.Split.Params["runs"] == nil { // the recovery names what is to be done
		p.Runs, p.Lumis = nil, nil
	}
	w.Files, w.Recovery, w.Closed = nil, nil, true
	for _, f := range spec.Datasets[0].Files {
		w.Files = append(w.Files, f.File)
	}
	return w, p, nil
}

// missing are the sections of a file that were lost.
func missing(f *jjm.File, lost map[string][][2]uint32) (out []jjm.LumiRange) {
	for _, l := range f.Lumis {
		for n := int64(l.First); n <= int64(l.Last); n++ {
			if slices.ContainsFunc(lost[strconv.Itoa(int(l.Run))], func(m [2]uint32) bool {
				return n >= int64(m[0]) && n <= int64(m[1])
			}) {
				out = append(out, jjm.LumiRange{Run: l.Run, First: uint32(n), Last: uint32(n)})
			}
		}
	}
	return out
}
