package all_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/testkit/golden"
	"jjm/internal/work/split"
)

// wmRow is a recorded call of one of WMCore's splitters.
type wmRow struct {
	Algo, Package string
	Type          string `json:"subscription_type"`
	Params        map[string]json.RawMessage
	Open          bool                               `json:"fileset_open"`
	Files         []wmFile                           `json:"files"`
	RunsLoaded    *bool                              `json:"runs_loaded"`
	ExistingJobs  int64                              `json:"existing_jobs"`
	Parents       map[string][]string                `json:"find_parent"`
	Docs          []struct{ Files map[string]wmDoc } `json:"acdc_docs"`
	Whitelist     map[string][][2]uint32             `json:"acdc_lumi_whitelist"`
	Sites         map[string][]string                `json:"pnn_to_psn"`
	Expected      []wmGroup                          `json:"expected"`
	Raises        string                             `json:"raises"`
	Bug           string                             `json:"wmcore_bug"`
	WMBS          wmState                            `json:"wmbs"`
	Dao           []wmDao                            `json:"dao_rows"`
	Injected      *bool                              `json:"workflow_injected"`
	Now           float64                            `json:"now"`
	Status        map[string][]string                `json:"expected_sub_status"`
}

type wmFile struct {
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

// wmDoc is a document about the lost events of a file. The document determines the sections of these events.
type wmDoc struct {
	Events     int64
	FirstEvent int64 `json:"first_event"`
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

// ranges32 returns sections as ranges, in their order.
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

// jobFile returns the job file of a row: its splitter with the settings, and its files. Settings that WMCore ignores
// because the splitter does not read them are returned in apart: jjm refuses a job file with such a setting.
func (r *wmRow) jobFile(splitter string, work *split.Work) (job goldenJob, apart map[string]json.RawMessage,
	err error) {
	known, err := split.Settings(splitter)
	if err != nil {
		return job, nil, err
	}
	params := map[string]json.RawMessage{}
	apart = map[string]json.RawMessage{}
	for key, value := range r.Params {
		switch {
		case string(value) == "null":
		case slices.Contains(known, key):
			params[key] = value
		default:
			apart[key] = value
		}
	}
	if params["performance"] != nil {
		if params["performance"], err = withoutNulls(params["performance"]); err != nil {
			return job, nil, err
		}
	}
	if defaults, err := split.Defaults(splitter); err != nil {
		return job, nil, err
	} else if splitter == split.FileBased && params["files_per_job"] == nil { // or the job type's default would apply
		params["files_per_job"] = json.RawMessage(strconv.FormatInt(defaults.FilesPerJob, 10))
	}
	if r.Package == "WMCore.DataStructs" {
		delete(params, "respect_run_boundaries") // WMCore.DataStructs does not use the lowest run
	}
	if r.Type == "Production" && slices.Contains(known, "production") {
		params["production"] = json.RawMessage("true")
	}
	job = goldenJob{by: splitter, params: params, files: work.Files, open: !work.Closed, first: r.ExistingJobs + 1}
	return job, apart, nil
}

// withoutNulls removes the keys of a table whose value is null.
func withoutNulls(text json.RawMessage) (json.RawMessage, error) {
	var table map[string]json.RawMessage
	if err := json.Unmarshal(text, &table); err != nil {
		return nil, err
	}
	maps.DeleteFunc(table, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return json.Marshal(table)
}

// readers returns the clusters of a row's site, with the storages that they can read.
func (r *wmRow) readers() []plan.Reader {
	if r.Sites == nil {
		return nil
	}
	storages := map[string][]string{}
	for storage, clusters := range r.Sites {
		for _, name := range clusters {
			storages[name] = append(storages[name], storage)
		}
	}
	var listed []string
	if text := r.Params["siteWhitelist"]; text != nil && json.Unmarshal(text, &listed) == nil {
		for _, name := range listed {
			storages[name] = append(storages[name], []string{}...)
		}
	}
	var readers []plan.Reader
	for _, name := range slices.Sorted(maps.Keys(storages)) {
		readers = append(readers, plan.Reader{Name: name, Storages: append([]string{}, storages[name]...)})
	}
	return readers
}

// work returns the work of a row's splitter: its files, and whether more files may come.
func (r *wmRow) work() split.Work {
	// The lumi splitters in memory (WMCore.DataStructs) ignore whether more files may come.
	never := r.Package == "WMCore.DataStructs" && r.Algo != split.MinFileBased
	w := split.Work{Closed: !r.Open || never}
	// If WMCore has not loaded the sections of files, and the row lists good sections, WMCore chooses no section of these
	// files. jjm always loads the sections (decision R26), so here such files get no sections.
	unloaded := r.RunsLoaded != nil && !*r.RunsLoaded && r.Params["runs"] != nil
	for i := range r.Files {
		w.Files = append(w.Files, r.Files[i].file(!unloaded))
	}
	return w
}

// site returns a function that adds the facts that a row's site knows and the job file does not contain.
func (r *wmRow) site(from *split.Work) func(*split.Work, *split.Params) {
	return func(w *split.Work, p *split.Params) {
		w.Pending, w.Ancestors, w.Now = r.Injected != nil && !*r.Injected, r.Parents, jjm.Time(r.Now*1000)
		w.Parents, w.Siblings = from.Parents, from.Siblings
		for i := range from.Files {
			w.Files[i].Added = from.Files[i].Added
		}
		if readers := r.readers(); readers != nil {
			w.Sites, *p = plan.Sites(readers, p, w.Files), plan.Heeded(*p, readers)
		}
	}
}

// groupsOf returns parts in the form of WMCore's jobs.
func groupsOf(parts []jjm.Part) []wmGroup {
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
		g.Jobs = append(g.Jobs, jobOf(&parts[i]))
	}
	return out
}

func jobOf(part *jjm.Part) wmJob {
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
			j.Baggage[skipPileup] = float64(m.SkipPileup)
		}
		if m.LHEInput != nil {
			j.Baggage[lheInput] = *m.LHEInput
		}
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

// sameJobs compares lists of sites and locations as sets, and estimates with a tolerance. A missing estimate equals an
// estimate of 0, because both get the minimum. Reasons are only compared if their text is specified.
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
			job.Files = once(job.Files)
			if job.Code == failNoSite {
				job.Reason = ""
			}
			maps.DeleteFunc(job.Baggage, func(key string, _ any) bool { return key != skipPileup && key != lheInput })
		}
	}
	return r.Expected
}

// once returns the files of one of WMCore's jobs without repetitions. With applyLumiCorrection WMCore lists a file once
// for each section that it shares. A part lists each file once, because applications read every listed file.
func once(files []string) (out []string) {
	for _, f := range files {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// set returns a sorted copy without "AAA". WMCore uses "AAA" to mean "all locations in one group"; it is not a
// location.
func set(s []string) []string {
	s = slices.DeleteFunc(slices.Sorted(slices.Values(s)), func(at string) bool { return at == "AAA" })
	return slices.Compact(s)
}

// check cuts the work of a row and returns the differences between the parts and the row.
func (r *wmRow) check(id, splitter string, w split.Work) (string, split.Left) {
	job, apart, err := r.jobFile(splitter, &w)
	if err != nil {
		return err.Error(), split.Left{}
	}
	text, err := job.text()
	if err != nil {
		return err.Error(), split.Left{}
	}
	got, err := cutText(text, r.site(&w))
	if err != nil || r.Raises != "" {
		if err != nil && r.Raises != "" && len(got.parts) == 0 {
			return "", got.left
		}
		return fmt.Sprintf("error is %v, WMCore raised %q", err, r.Raises), got.left
	}
	diff := cmp.Diff(r.want(), shown(got.parts), sameJobs) + job.refuses(apart)
	if r.Bug != "" {
		if diff == "" {
			return "the defect was copied: " + r.Bug, got.left
		}
		return "", got.left
	}
	return diff, got.left
}

// refuses checks that jjm refuses a job file with a setting that its splitter does not read, for each of the settings
// apart. wrong names the settings with which the job file is accepted, "" if there are none.
func (g goldenJob) refuses(apart map[string]json.RawMessage) (wrong string) {
	for key, value := range apart {
		g.params = map[string]json.RawMessage{key: value}
		text, err := g.text()
		if err != nil {
			return err.Error()
		}
		if _, err := cutText(text, nil); err == nil || !strings.Contains(err.Error(), "split.params."+key) {
			wrong += fmt.Sprintf("%s is accepted: %v\n", key, err)
		}
	}
	return wrong
}

// shown returns parts in the form of WMCore's jobs, with locations as sets.
func shown(parts []jjm.Part) []wmGroup {
	got := groupsOf(parts)
	for g := range got {
		got[g].Locations = set(got[g].Locations)
		for j := range got[g].Jobs {
			job := &got[g].Jobs[j]
			job.At, job.PSN = set(job.At), set(job.PSN)
			if job.Code == failNoSite {
				job.Reason = ""
			}
		}
	}
	return got
}

// skipPileup and lheInput are keys of the baggage, which is a table of further settings of WMCore's jobs. Parts carry
// the values of these two keys. The baggage has only one other key, trustPUSitelists, which job files refuse.
const (
	skipPileup = "skipPileupEvents"
	lheInput   = "lheInputFiles"
)

// failNoSite is WMCore's exit code for a part that may run at no site.
const failNoSite = 71101

// wmNames returns the names of the files of golden rows for those splitters that need only files, and no database.
func wmNames() []string {
	return []string{
		"EventBased.edge", "EventBased.random", "EventBased.unittest",
		"LumiBased.edge", "LumiBased.random", "LumiBased.unittest",
		"EventAwareLumiBased.edge", "EventAwareLumiBased.random", "EventAwareLumiBased.unittest",
		"FileBased.edge", "FileBased.random", "FileBased.unittest", "MinFileBased.random", "MinFileBased.unittest",
	}
}

// recovers reports whether a row is about a recovery, whose documents describe the lost work.
func (r *wmRow) recovers() bool { return r.Params["collectionName"] != nil }

func TestGolden_WMCore(t *testing.T) {
	for _, name := range wmNames() {
		t.Run(name, func(t *testing.T) {
			splitter, _, _ := strings.Cut(name, ".")
			golden.Rows(t, "wmcore/"+name, func(id string, r wmRow) string {
				if r.recovers() {
					return "" // see TestGolden_WMCoreRecoveries
				}
				diff, _ := r.check(id, splitter, r.work())
				return diff
			})
		})
	}
}

// cycle returns the work of the splitters that read the database: the available files, in the order of the rows that
// the database returned, and then the files without a row.
func (r *wmRow) cycle() split.Work {
	w := split.Work{Closed: !r.Open, Parents: map[string]split.Parent{}}
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
			parent.Producers = append(parent.Producers, split.Producer{Group: j.Group, Success: j.Success})
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
		failed := r.Algo == split.SiblingProcessingBased && slices.Contains(r.WMBS.Status["failed"], f.LFN)
		if !available && !failed {
			continue
		}
		file := f.file(true)
		slices.SortFunc(file.Locations, func(a, b string) int { // the location in at comes first
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

// sibling combines the states that a file has in all other subscriptions. failed is set if the row already lists the
// file as failed.
func (r *wmRow) sibling(lfn string, failed bool) split.SiblingState {
	state := split.SiblingDone
	for _, s := range r.WMBS.Siblings {
		switch {
		case slices.Contains(s["failed"], lfn):
			failed = true
		case !slices.Contains(s["complete"], lfn):
			state = split.SiblingPending
		}
	}
	if failed {
		return split.SiblingFailed
	}
	return state
}

// status compares the files that a cut leaves with the states of WMCore's files after the cut.
func (r *wmRow) status(w *split.Work, left *split.Left) string {
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
