package all_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/testkit/golden"
	"jjm/internal/work/cover"
	"jjm/internal/work/split"
)

// otherwise returns the rows of recoveries for which jjm's result differs from WMCore's, each with the reason.
func otherwise() map[string]string {
	const order = "files are taken by the lowest run that is missing, not by the lowest that they ever had"
	const again = "events are made again by the numbers that they had; WMCore counts on from the first that was lost, " +
		"over events that were made, and estimates a short part as a whole one"
	const nowhere = "the documents name events that the file never had, in sections that no cut of it makes: " +
		"what is missing is what the ledger knows"
	return map[string]string{
		"LumiBased-edge-008":          "nothing is lost: no recovery. To WMCore an empty list means all",
		"LumiBased-rnd-079":           order,
		"EventAwareLumiBased-rnd-001": order,
		"EventBased-edge-008":         again,
		"EventBased-rnd-023":          again,
		"EventBased-rnd-047":          again,
		"EventBased-rnd-055":          again,
		"EventBased-rnd-072":          again,
		"EventBased-rnd-074":          again,
		"EventBased-ut-034":           nowhere,
		"EventBased-ut-035":           nowhere,
	}
}

// lost returns the work that a row's documents describe as lost, in the order of the files, in the form of findings of
// the ledger. unit is the unit of the findings. wrong describes lost events that a file does not have, "" if there are
// none.
func (r *wmRow) lost(files []jjm.File) (unit string, all []cover.Finding, wrong string) {
	unit = jjm.UnitRange
	if r.Whitelist != nil {
		unit = jjm.UnitLumi
	}
	for i := range files {
		f := &files[i]
		if unit == jjm.UnitLumi {
			for _, l := range missing(f, r.Whitelist) {
				all = append(all, cover.Finding{Kind: cover.Missing, LFN: f.LFN, Run: l.Run, First: int64(l.First),
					Last: int64(l.Last)})
			}
			continue
		}
		some := r.pieces(f)
		for _, one := range some {
			if one.First < 0 || one.Last >= f.Events {
				wrong = fmt.Sprintf("%s has %d events: not those from %d to %d", f.LFN, f.Events, one.First, one.Last)
			}
		}
		all = append(all, some...)
	}
	return unit, all, wrong
}

// pieces returns the lost events of a file, each once.
func (r *wmRow) pieces(f *jjm.File) (all []cover.Finding) {
	for _, doc := range r.Docs {
		d, named := doc.Files[f.LFN]
		first := d.FirstEvent - f.FirstEvent
		one := cover.Finding{Kind: cover.Missing, LFN: f.LFN, First: first, Last: first + d.Events - 1}
		if named && !slices.ContainsFunc(all, func(o cover.Finding) bool { return o.First == one.First }) {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b cover.Finding) int { return cmp.Compare(a.First, b.First) })
	return all
}

// missing returns the lost sections of a file.
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

// recovered cuts a row's recovery in the same way as the product. It parses the row's job file, takes the work that the
// documents name as missing in that grid job, and then parses and cuts the job file of the recovery. wrong describes
// work in the documents that the files do not have.
func (r *wmRow) recovered(splitter string, w split.Work) (c goldenCut, wrong string, err error) {
	job, _, err := r.jobFile(splitter, &w)
	if err != nil {
		return c, "", err
	}
	job.first = 0
	text, err := job.text()
	if err != nil {
		return c, "", err
	}
	doc, problems := jobfile.Parse("job.json", []byte(text))
	if len(problems) > 0 {
		return c, "", problems.Err()
	}
	unit, lost, wrong := r.lost(w.Files)
	rec := cover.NewRecovery(doc.Spec, unit, 1, int(r.ExistingJobs), 0, "")
	files := map[string]jjm.File{}
	for _, f := range w.Files {
		files[f.LFN] = f
	}
	for _, one := range lost {
		if err := rec.Add(one); err != nil {
			return c, "", err
		}
	}
	if rec.Empty() {
		return c, "", nil
	}
	written, err := rec.JobFile("f", "r", func(lfn string) (jjm.File, error) { return files[lfn], nil })
	if err != nil {
		return c, "", err
	}
	c, err = cutText(string(written.Job), r.site(&split.Work{}))
	return c, wrong, err
}

// checkRecovery cuts a row's recovery and returns how the jobs differ from the row, "" if they are equal.
func (r *wmRow) checkRecovery(id, splitter string) string {
	got, wrong, err := r.recovered(splitter, r.work())
	why := otherwise()[id]
	switch {
	case wrong != "" && why != "":
		if err == nil || !strings.Contains(err.Error(), "events, counted from 0") {
			return fmt.Sprintf("%s, and their recovery is no error: %v", wrong, err)
		}
		return ""
	case err != nil || wrong != "":
		return fmt.Sprintf("recovery: %v %s", err, wrong)
	}
	want, have := joined(r.want()), joined(shown(got.parts))
	if why == "" {
		return gocmp.Diff(want, have, sameJobs)
	}
	if gocmp.Equal(want, have, sameJobs) {
		return "it is the same: not " + why
	}
	if r.Whitelist != nil {
		if len(r.Whitelist) == 0 {
			want = nil
		}
		return gocmp.Diff(sectionsOf(want), sectionsOf(have))
	}
	return gocmp.Diff(r.madeAgain(), madeOf(have)) + gocmp.Diff(sectionsMade(want), sectionsMade(have)) +
		sameSkips(want, have)
}

// sameSkips compares, job by job, how many pile-up events each job skips. WMCore makes a different number of jobs if it
// continues its event numbers after events that were already made. Therefore jobs that only one side has are not
// compared.
func sameSkips(want, have []wmGroup) string {
	a, b := skipsOf(want), skipsOf(have)
	n := min(len(a), len(b))
	return gocmp.Diff(a[:n], b[:n])
}

// skipsOf returns the number of pile-up events that each job skips, nil for a job without such a number.
func skipsOf(groups []wmGroup) (skips []any) {
	for _, g := range groups {
		for _, j := range g.Jobs {
			skips = append(skips, j.Baggage[skipPileup])
		}
	}
	return skips
}

// In a recovery, the number of pile-up events to skip follows from the number of earlier jobs and the size of a job. It
// does not depend on the time per event, which some rows lack or set to 0.
func TestGolden_WMCoreRecoveriesSkipPileupWithoutATimePerEvent(t *testing.T) {
	skipping := 0
	for _, name := range wmNames() {
		splitter, _, _ := strings.Cut(name, ".")
		golden.Rows(t, "wmcore/"+name, func(id string, r wmRow) string {
			if !r.recovers() || r.Params["deterministicPileup"] == nil || r.timePerEvent() > 0 {
				return ""
			}
			got, _, err := r.recovered(splitter, r.work())
			if err != nil {
				return err.Error()
			}
			want, have := r.want(), shown(got.parts)
			if slices.ContainsFunc(skipsOf(want), func(n any) bool { return n != 0. && n != nil }) {
				skipping++
			}
			return sameSkips(want, have)
		})
	}
	if skipping < 3 {
		t.Errorf("%d recoveries without a time per event skip more than 0 events, want 3", skipping)
	}
}

// timePerEvent returns the time of an event in seconds, 0 if the row does not contain this time.
func (r *wmRow) timePerEvent() float64 {
	var known struct{ TimePerEvent float64 }
	if err := json.Unmarshal(r.Params["performance"], &known); err != nil {
		return 0
	}
	return known.TimePerEvent
}

// madeAgain returns how many lost events must be generated again for each piece. The key is the file and the first
// event of the piece.
func (r *wmRow) madeAgain() map[string]int64 {
	out := map[string]int64{}
	for _, doc := range r.Docs {
		for lfn, d := range doc.Files {
			out[fmt.Sprint(lfn, " ", d.FirstEvent)] = d.Events
		}
	}
	return out
}

// madeOf returns how many events each job generates. The key is the file and the first event of the job.
func madeOf(groups []wmGroup) map[string]int64 {
	out := map[string]int64{}
	for _, g := range groups {
		for _, j := range g.Jobs {
			out[fmt.Sprint(j.Files[0], " ", *j.Mask.FirstEvent)] += *j.Mask.LastEvent - *j.Mask.FirstEvent + 1
		}
	}
	return out
}

// sectionsMade returns the sections to which the generated events of jobs belong, by file.
func sectionsMade(groups []wmGroup) []string {
	out := map[string]bool{}
	for _, g := range groups {
		for _, j := range g.Jobs {
			for n := *j.Mask.FirstLumi; n <= *j.Mask.LastLumi; n++ {
				out[fmt.Sprint(j.Files[0], " ", n)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// sectionsOf returns, for each section of the jobs, the number of ranges that contain the section.
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

// joined returns jobs in which adjacent ranges of sections are joined. A recovery lists missing sections in its own
// order, WMCore in the order of the file.
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

// Every recovery of the golden rows is cut from the recovery's own job file.
func TestGolden_WMCoreRecoveries(t *testing.T) {
	found := map[string]int{}
	for _, name := range wmNames() {
		splitter, _, _ := strings.Cut(name, ".")
		golden.Rows(t, "wmcore/"+name, func(id string, r wmRow) string {
			if !r.recovers() {
				return ""
			}
			found[splitter]++
			return r.checkRecovery(id, splitter)
		})
	}
	for splitter, least := range map[string]int{split.EventBased: 12, split.LumiBased: 1, split.EventAwareLumiBased: 1} {
		if found[splitter] < least {
			t.Errorf("%s: %d recoveries found, want %d", splitter, found[splitter], least)
		}
	}
}
