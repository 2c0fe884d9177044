package split

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jjm"
	"jjm/internal/golden"
)

// wmRow is a recorded call of one of WMCore's splitters.
type wmRow struct {
	Algo, Package string
	Type          string `json:"subscription_type"`
	Params        map[string]json.RawMessage
	Open          bool                `json:"fileset_open"`
	Files         []wmFile            `json:"files"`
	RunsLoaded    *bool               `json:"runs_loaded"`
	ExistingJobs  int64               `json:"existing_jobs"`
	Parents       map[string][]string `json:"find_parent"`
	Docs          []struct {
		Version int `json:"acdc_version"`
		Files   map[string]wmDoc
	} `json:"acdc_docs"`
	Whitelist  map[string][][2]uint32 `json:"acdc_lumi_whitelist"`
	Production []wmPiece              `json:"acdc_production_info"`
	Sites      map[string][]string    `json:"pnn_to_psn"`
	Expected   []wmGroup              `json:"expected"`
	Raises     string                 `json:"raises"`
	Bug        string                 `json:"wmcore_bug"`
	WMBS       wmState                `json:"wmbs"`
	Dao        []wmDao                `json:"dao_rows"`
	Injected   *bool                  `json:"workflow_injected"`
	Now        float64                `json:"now"`
	Status     map[string][]string    `json:"expected_sub_status"`
}

type wmFile struct {
	ID         int64    `json:"id"`
	LFN        string   `json:"lfn"`
	Size       int64    `json:"size"`
	Events     int64    `json:"events"`
	FirstEvent int64    `json:"first_event"`
	Locations  []string `json:"locations"`
	Parents    []string `json:"parents"`
	Runs       []struct {
		Run   uint32
		Lumis []uint32
	} `json:"runs"`
	Inserted float64 `json:"insert_time"`
}

type wmDoc struct {
	Events     int64
	FirstEvent int64 `json:"first_event"`
	Locations  []string
	Runs       []struct {
		Run   uint32 `json:"run_number"`
		Lumis []uint32
	}
}

type wmPiece struct {
	LFN        string   `json:"lfn"`
	FirstEvent int64    `json:"first_event"`
	Lumis      []uint32 `json:"lumis"`
	Events     int64    `json:"events"`
}

type wmGroup struct {
	Locations []string `json:"locations"`
	LFNs      []string `json:"lfns"`
	Jobs      []wmJob  `json:"jobs"`
}

type wmJob struct {
	Files   []string       `json:"input_files"`
	Mask    wmMask         `json:"mask"`
	Failed  bool           `json:"failed"`
	Code    int            `json:"failedErrCode"`
	Reason  string         `json:"failedReason"`
	Time    float64        `json:"estimatedJobTime"`
	Memory  float64        `json:"estimatedMemoryUsage"`
	Disk    float64        `json:"estimatedDiskUsage"`
	PSN     []string       `json:"possiblePSN"`
	At      []string       `json:"locations"`
	Baggage map[string]any `json:"baggage"`
	Parents wmParents      `json:"parents"`
}

type wmMask struct {
	FirstEvent, LastEvent, FirstLumi, LastLumi, FirstRun, LastRun *int64
	Lumis                                                         map[string][][2]uint32 `json:"runAndLumis"`
}

// wmParents are the parents of a job's files, as a sorted list.
type wmParents []string

func (p *wmParents) UnmarshalJSON(text []byte) error {
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return err
	}
	*p = nil
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			*p = append(*p, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(tree)
	slices.Sort(*p)
	*p = slices.Compact(*p)
	return nil
}

type wmState struct {
	Files    []wmFile            `json:"fileset_files"`
	Status   map[string][]string `json:"sub_status"`
	Jobs     []wmParentJob       `json:"parent_jobs"`
	Siblings []map[string][]string
}

type wmParentJob struct {
	Parent   string
	ID       int64 `json:"parent_id"`
	Group    int64 `json:"jobgroup"`
	Producer bool
	Success  bool
}

type wmDao struct {
	LFN  string `json:"file_lfn"`
	Name string `json:"lfn"`
	PNN  any    `json:"pnn"`
}

func (f *wmFile) file(runs bool) jjm.File {
	out := jjm.File{LFN: f.LFN, Size: f.Size, Events: f.Events, FirstEvent: f.FirstEvent,
		Locations: f.Locations, Parents: f.Parents, Added: jjm.Time(f.Inserted * 1000)}
	if runs {
		for _, r := range f.Runs {
			out.Lumis = append(out.Lumis, ranges32(r.Run, r.Lumis)...)
		}
	}
	return out
}

// ranges32 writes sections in their order as ranges.
func ranges32(run uint32, lumis []uint32) []jjm.LumiRange {
	if len(lumis) == 0 {
		return []jjm.LumiRange{{Run: run, First: 1}}
	}
	var out []jjm.LumiRange
	for _, l := range lumis {
		if n := len(out); n > 0 && out[n-1].Last+1 == l {
			out[n-1].Last = l
			continue
		}
		out = append(out, jjm.LumiRange{Run: run, First: l, Last: l})
	}
	return out
}

// wmPlumbing are parameters of WMCore's that are not about splitting, or that
// are the same for all parts and so stay settings of the step.
var wmPlumbing = []string{"collectionName", "filesetName", "couchURL", "couchDB", "owner", "group",
	"limit_file_loading", "file_load_limit", "split_files_between_job", "lheInputFiles", "trustPUSitelists"}

func (r *wmRow) params(splitter string) (Params, error) {
	p, err := Defaults(splitter)
	if err != nil {
		return p, err
	}
	given := map[string]json.RawMessage{}
	for key, value := range r.Params {
		if !slices.Contains(wmPlumbing, key) && string(value) != "null" {
			given[key] = value
		}
	}
	if r.Package == "WMCore.DataStructs" {
		delete(given, "respect_run_boundaries") // that path knows no lowest run
	}
	text, err := json.Marshal(given)
	if err != nil {
		return p, err
	}
	p.Production = r.Type == "Production"
	return p, json.Unmarshal(text, &p)
}

func (r *wmRow) work() Work {
	// In memory the lumi splitters do not look whether more may come.
	never := r.Package == "WMCore.DataStructs" && r.Algo != MinFileBased
	w := Work{Closed: !r.Open || never, Pending: r.Injected != nil && !*r.Injected,
		Sites: r.Sites, Ancestors: r.Parents, Now: jjm.Time(r.Now * 1000)}
	// That path knows the lowest run of files of which it has not loaded the
	// sections; here the sections are always known (decision R26). With good
	// sections to choose from it then chooses none.
	unloaded := r.RunsLoaded != nil && !*r.RunsLoaded && r.Params["runs"] != nil
	for i := range r.Files {
		w.Files = append(w.Files, r.Files[i].file(!unloaded))
	}
	if _, ok := r.Params["collectionName"]; ok {
		w.Recovery = &Recovery{}
		for _, doc := range r.Docs {
			for lfn, d := range doc.Files {
				lost := Lost{LFN: lfn, Locations: d.Locations, FirstEvent: d.FirstEvent, Events: d.Events}
				for _, run := range d.Runs {
					if doc.Version == 1 && madeUp(lfn) && len(run.Lumis) > 1 {
						run.Lumis = run.Lumis[:len(run.Lumis)-1] // documents of old named the section after the last
					}
					lost.Lumis = append(lost.Lumis, ranges32(run.Run, run.Lumis)...)
				}
				w.Recovery.Lost = append(w.Recovery.Lost, lost)
			}
		}
	}
	return w
}

// lists compares what WMCore made of its documents of lost work.
func (r *wmRow) lists(lost *Recovery) string {
	if lost == nil {
		return ""
	}
	var diff string
	files := lost.byFile()
	for _, want := range r.Production {
		slices.Sort(want.Lumis)
		got := wmPiece{LFN: want.LFN}
		if f := files[want.LFN]; f != nil {
			got.FirstEvent, got.Lumis, got.Events = f.first, f.lumis, f.events
		}
		diff += cmp.Diff(want, got, cmpopts.EquateEmpty())
	}
	return diff
}

// groups shows parts as WMCore shows its jobs.
func (r *wmRow) groups(parts []jjm.Part, p *Params) []wmGroup {
	var out []wmGroup
	last := int64(-1)
	for i := range parts {
		in := parts[i].Input
		if in.Group != last {
			out, last = append(out, wmGroup{Locations: in.Place.Storages}), in.Group
		}
		g := &out[len(out)-1]
		if !slices.Equal(g.Locations, in.Place.Storages) {
			g.Locations = nil
		}
		g.Jobs = append(g.Jobs, r.job(&parts[i], p))
	}
	return out
}

func (r *wmRow) job(part *jjm.Part, p *Params) wmJob {
	in := part.Input
	j := wmJob{Files: in.Files, Mask: maskRow(in), Time: in.Estimate.Seconds, Memory: in.Estimate.MemoryMB,
		Disk: in.Estimate.DiskKB, PSN: in.Place.Clusters, At: in.Place.Storages, Baggage: map[string]any{}}
	if f := part.Failure(); f != nil {
		j.Failed, j.Code, j.Reason = true, f.Code, f.Reason
	}
	if m := in.More; m != nil {
		j.Parents = m.Parents
		slices.Sort(j.Parents)
		if m.HasSkip {
			j.Baggage["skipPileupEvents"] = float64(m.SkipPileup)
		}
	}
	if part.Unit == jjm.UnitRange && madeUp(in.Files[0]) {
		j.Baggage["lheInputFiles"] = string(r.Params["lheInputFiles"]) == "true"
	}
	if string(r.Params["trustPUSitelists"]) == "true" {
		j.Baggage["trustPUSitelists"] = true
	}
	return j
}

func maskRow(in *jjm.PartInput) wmMask {
	n := func(v int64) *int64 { return &v }
	m := wmMask{Lumis: map[string][][2]uint32{}}
	if s := in.Mask.Events; s.Count != 0 {
		m.FirstEvent = n(s.First)
		if s.Count != jjm.ToTheEnd {
			m.LastEvent = n(s.Last())
		}
	}
	if s := in.Mask.Lumis; s.Count != 0 {
		m.FirstLumi, m.LastLumi = n(s.First), n(s.Last())
	}
	if in.Mask.Run != 0 {
		m.FirstRun, m.LastRun = n(int64(in.Mask.Run)), n(int64(in.Mask.Run))
	}
	for _, l := range in.Lumis {
		run := strconv.Itoa(int(l.Run))
		m.Lumis[run] = append(m.Lumis[run], [2]uint32{l.First, l.Last})
	}
	return m
}

// sameJobs compares: lists of sites and locations as sets, estimates with a
// tolerance, no estimate like an estimate of 0 (both get the least there is),
// and of reasons only those that the specification spells.
var sameJobs = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Max(1, math.Abs(a)) }),
	cmpopts.IgnoreFields(wmGroup{}, "LFNs"),
}

func (r *wmRow) want() []wmGroup {
	for g := range r.Expected {
		r.Expected[g].Locations = set(r.Expected[g].Locations)
		for j := range r.Expected[g].Jobs {
			job := &r.Expected[g].Jobs[j]
			job.At, job.PSN = set(job.At), set(job.PSN)
			if job.Code == failNoSite {
				job.Reason = ""
			}
		}
	}
	return r.Expected
}

// set sorts; WMCore's word for "all locations in one group" is no location.
func set(s []string) []string {
	s = slices.DeleteFunc(slices.Sorted(slices.Values(s)), func(at string) bool { return at == "AAA" })
	return slices.Compact(s)
}

// check cuts the work of a row and says what is wrong with the parts.
func (r *wmRow) check(id, splitter string, w Work) (string, Left) {
	s, err := find(splitter)
	if err != nil {
		return err.Error(), Left{}
	}
	p, err := r.params(splitter)
	if err != nil {
		return "parameters: " + err.Error(), Left{}
	}
	if r.Whitelist != nil {
		if w, p, err = r.recovered(splitter, w, p); err != nil {
			return "recovery: " + err.Error(), Left{}
		}
	}
	parts, left, _, err := s.Cut(w, Limits{}, p, Carry{Serial: r.ExistingJobs})
	if err != nil || r.Raises != "" {
		if err != nil && r.Raises != "" && len(parts) == 0 {
			return "", left
		}
		return fmt.Sprintf("error is %v, WMCore raised %q", err, r.Raises), left
	}
	got := r.groups(parts, &p)
	for g := range got {
		got[g].Locations = set(got[g].Locations)
		for j := range got[g].Jobs {
			job := &got[g].Jobs[j]
			job.At = set(job.At)
			if job.Code == failNoSite {
				job.Reason = ""
			}
		}
	}
	want := r.want()
	if r.Whitelist != nil {
		want, got = joined(want), joined(got)
	}
	if why := otherwise()[id]; why != "" {
		return r.differs(why, want, got), left
	}
	diff := cmp.Diff(want, got, sameJobs) + r.lists(w.Recovery)
	if r.Bug != "" {
		if diff == "" {
			return "the defect was copied: " + r.Bug, left
		}
		return "", left
	}
	return diff, left
}

func TestGolden_WMCore(t *testing.T) {
	for _, name := range []string{
		"EventBased.edge", "EventBased.random", "EventBased.unittest",
		"LumiBased.edge", "LumiBased.random", "LumiBased.unittest",
		"EventAwareLumiBased.edge", "EventAwareLumiBased.random", "EventAwareLumiBased.unittest",
		"FileBased.edge", "FileBased.random", "FileBased.unittest", "MinFileBased.random", "MinFileBased.unittest",
	} {
		t.Run(name, func(t *testing.T) {
			splitter, _, _ := strings.Cut(name, ".")
			golden.Rows(t, "wmcore/"+name, func(id string, r wmRow) string {
				diff, _ := r.check(id, splitter, r.work())
				return diff
			})
		})
	}
}

// cycle is the work of the splitters that look at the database: files that are
// available, in the order of the rows that the database gave, those without a
// row after them.
func (r *wmRow) cycle() Work {
	w := Work{Closed: !r.Open, Pending: r.Injected != nil && !*r.Injected, Sites: r.Sites, Now: jjm.Time(r.Now * 1000),
		Parents: map[string]Parent{}}
	rank, at := map[string]int{}, map[string]string{}
	for _, d := range r.Dao {
		lfn := d.LFN + d.Name
		if _, ok := rank[lfn]; !ok {
			rank[lfn] = len(rank)
			at[lfn], _ = d.PNN.(string)
		}
	}
	for _, j := range r.WMBS.Jobs {
		parent := w.Parents[j.Parent]
		if parent.ID = j.ID; j.Producer {
			parent.Producers = append(parent.Producers, Producer{Group: j.Group, Success: j.Success})
		}
		w.Parents[j.Parent] = parent
	}
	files := slices.Clone(r.WMBS.Files)
	slices.SortStableFunc(files, func(a, b wmFile) int {
		ra, aok := rank[a.LFN]
		rb, bok := rank[b.LFN]
		switch {
		case aok && bok:
			return ra - rb
		case aok:
			return -1
		case bok:
			return 1
		}
		return 0
	})
	for _, f := range files {
		available := slices.Contains(r.WMBS.Status["available"], f.LFN)
		failed := r.Algo == SiblingProcessingBased && slices.Contains(r.WMBS.Status["failed"], f.LFN)
		if !available && !failed {
			continue
		}
		file := f.file(true)
		slices.SortFunc(file.Locations, func(a, b string) int { // the lowest storage first
			if a == at[f.LFN] {
				return -1
			}
			return strings.Compare(a, b)
		})
		w.Files = append(w.Files, file)
		w.Siblings = append(w.Siblings, r.sibling(f.LFN, failed))
	}
	return w
}

// sibling joins what became of a file with the other subscriptions.
func (r *wmRow) sibling(lfn string, failed bool) SiblingState {
	state := SiblingDone
	for _, s := range r.WMBS.Siblings {
		switch {
		case slices.Contains(s["failed"], lfn):
			failed = true
		case !slices.Contains(s["complete"], lfn):
			state = SiblingPending
		}
	}
	if failed {
		return SiblingFailed
	}
	return state
}

// status holds what a cut leaves against the states that WMCore's files have
// after it.
func (r *wmRow) status(w *Work, left *Left) string {
	got := map[string][]string{}
	for state, files := range r.WMBS.Status {
		got[state] = slices.Clone(files)
	}
	move := func(i int32, to string) {
		lfn := w.Files[i].LFN
		got["available"] = slices.DeleteFunc(got["available"], func(f string) bool { return f == lfn })
		if !slices.Contains(got[to], lfn) {
			got[to] = append(got[to], lfn)
		}
	}
	for _, i := range left.Done {
		move(i, "acquired")
	}
	for _, d := range left.Dropped {
		if d.Failed {
			move(d.File, "failed")
		} else {
			move(d.File, "complete")
		}
	}
	sort := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	return cmp.Diff(r.Status, got, sort, cmpopts.EquateEmpty())
}

func TestGolden_WMCoreMerges(t *testing.T) {
	for _, name := range []string{
		"ParentlessMergeBySize.edge", "ParentlessMergeBySize.random", "ParentlessMergeBySize.unittest",
		"WMBSMergeBySize.random", "WMBSMergeBySize.unittest",
		"SiblingProcessingBased.random", "SiblingProcessingBased.unittest",
	} {
		t.Run(name, func(t *testing.T) {
			splitter, _, _ := strings.Cut(name, ".")
			golden.Rows(t, "wmcore/"+name, func(id string, r wmRow) string {
				w := r.cycle()
				diff, left := r.check(id, splitter, w)
				return diff + r.status(&w, &left)
			})
		})
	}
}
