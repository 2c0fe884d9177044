package all_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/testkit/golden"
	"jjm/internal/work/split"
)

// jediParams returns the settings of a job file that JEDI cuts, from tables.
func jediParams(tables map[string]any) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for key, value := range tables {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		out[key] = text
	}
	return out, nil
}

// recordsRow is a recorded call of JEDI's feeder, the part that makes records of events.
type recordsRow struct {
	Files []struct {
		LFN    string
		Events *int64
	}
	Args struct {
		NEventsPerJob, NEventsPerRange, NEventsPerFile, TgtNumEventsPerJob int64
		UseRealNumEvents, SkipShortInput                                   bool
		Attributes                                                         string
		MaxFileRecords                                                     int
		OrderBy                                                            string `json:"order_by"`
	}
	Expect struct{ Records [][]any }
}

// job returns the job file of a row, with a local job for each record.
func (r *recordsRow) job() (g goldenJob, err error) {
	a := r.Args
	records := map[string]any{"real_events": a.UseRealNumEvents, "skip_short": a.SkipShortInput}
	for key, n := range map[string]int64{"events_per_job": a.NEventsPerJob, "events_per_range": a.NEventsPerRange,
		"events_per_file": a.NEventsPerFile, "target_events": a.TgtNumEventsPerJob,
		"max_records": int64(a.MaxFileRecords)} {
		if n > 0 {
			records[key] = n
		}
	}
	if a.OrderBy != "" {
		records["order_by"] = a.OrderBy
	}
	if a.Attributes != "" { // in a job file, this attribute of the master dataset is a key of the table records
		var offset int
		if _, err := fmt.Sscanf(a.Attributes, "of=%d", &offset); err != nil {
			return g, err
		}
		records["offset"] = offset
	}
	g = goldenJob{by: split.JEDI}
	for _, f := range r.Files {
		file := jjm.File{LFN: f.LFN}
		if f.Events != nil {
			file.Events = *f.Events
		}
		g.files = append(g.files, file)
	}
	g.params, err = jediParams(map[string]any{"records": records, "task": map[string]any{"rule": "NF=1"}})
	return g, err
}

func TestGolden_JEDIEventRecords(t *testing.T) {
	golden.Rows(t, "jedi/event_records", func(_ string, r recordsRow) string {
		g, err := r.job()
		if err != nil {
			return err.Error()
		}
		text, err := g.text()
		if err != nil {
			return err.Error()
		}
		c, err := cutText(text, nil)
		if err != nil {
			return err.Error()
		}
		var got, want [][]any
		for i := range c.parts {
			in := c.parts[i].Input
			if len(in.Events) == 0 || in.Events[0].Count == jjm.ToTheEnd {
				got = append(got, []any{in.Files[0], nil, nil})
				continue
			}
			e := in.Events[0]
			got = append(got, []any{in.Files[0], float64(e.First), float64(e.First + e.Count - 1)})
		}
		for _, record := range r.Expect.Records {
			want = append(want, record[:3])
		}
		return cmp.Diff(want, got)
	})
}

// walltimeRow is a row that recorded a result of JEDI's function jobMaxWalltime.
type walltimeRow struct {
	Fn            string
	CPUTime       *float64
	Unit          string
	Events        int64
	Cores         int
	CorePower     float64
	CPUEfficiency float64
	BaseWalltime  float64
	QueueMaxtime  float64
	Expect        json.RawMessage
}

// job returns the job file of a row: one file with the row's number of events. A queue whose HS06 per core is unknown
// counts as a queue with 1 HS06 per core. If the row has no CPU time, the job file requests the longest time of the
// queue.
func (r *walltimeRow) job() (g goldenJob, err error) {
	g = goldenJob{by: split.JEDI, files: []jjm.File{{LFN: "f", Events: r.Events}}, request: map[string]any{}}
	if r.Cores > 0 {
		g.request["cores"] = r.Cores
	}
	task := map[string]any{"rule": "NF=1"}
	if r.CPUTime == nil {
		g.request["walltime"] = (time.Duration(r.QueueMaxtime) * time.Second).String()
	} else {
		per := *r.CPUTime
		if r.Unit == "mHS06sPerEvent" {
			per /= 1000
		}
		task["hs06"], task["cpu_time"], task["core_power"] = true, per, max(r.CorePower, 1)
		task["base_wall"], task["efficiency"] = r.BaseWalltime, r.CPUEfficiency
	}
	g.params, err = jediParams(map[string]any{"task": task})
	return g, err
}

// A local job requests the same time from its batch system, except for rounding up, as JEDI's job requests from its
// queue.
func TestGolden_JEDIWalltimes(t *testing.T) {
	found := 0
	golden.Rows(t, "jedi/formulas", func(_ string, r walltimeRow) string {
		if r.Fn != "jobMaxWalltime" {
			return ""
		}
		found++
		var want struct{ MaxWalltime, MaxCpuCount float64 }
		if err := json.Unmarshal(r.Expect, &want); err != nil {
			return err.Error()
		}
		g, err := r.job()
		if err != nil {
			return err.Error()
		}
		text, err := g.text()
		if err != nil {
			return err.Error()
		}
		c, err := cutText(text, nil)
		if err != nil || len(c.parts) != 1 {
			return fmt.Sprint(len(c.parts), " parts: ", err)
		}
		e := c.parts[0].Input.Estimate
		asked := c.spec.Request.With(plan.Needs(c.spec, e)).Walltime.D().Seconds()
		if r.CPUTime == nil {
			return cmp.Diff(want.MaxWalltime, asked)
		}
		step := map[bool]float64{true: 600, false: 3600}[want.MaxWalltime <= 4*3600]
		return cmp.Diff(want.MaxWalltime, e.Seconds) + cmp.Diff(want.MaxCpuCount, e.Seconds) +
			cmp.Diff(math.Ceil(want.MaxWalltime/step)*step, asked)
	})
	if found < 211 {
		t.Errorf("%d rows found", found)
	}
}

// chunkRow is a recorded call that distributes a chunk of files to jobs.
type chunkRow struct {
	Args   map[string]any
	Master chunkDataset
	Second []chunkDataset `json:"secondaries"`
	Expect struct {
		Jobs [][]struct {
			Dataset int
			Files   []int64
		} `json:"subchunks"`
		End any
	}
}

type chunkDataset struct {
	Name, Attributes string
	Files            []struct {
		ID                  int64
		LFN                 string
		FSize               int64
		NEvents, StartEvent *int64
		BoundaryID          *int64
		LumiBlockNr         *int64
	}
}

// files returns the files of the dataset. whole is false if the row has ranges of events instead of whole files, or if
// the files are not sorted by name. In jjm such a row cannot come from a dataset.
func (d *chunkDataset) files() (all []jjm.File, whole bool) {
	for _, f := range d.Files {
		if f.StartEvent != nil {
			return nil, false
		}
		file := jjm.File{LFN: f.LFN, Size: f.FSize}
		if f.NEvents != nil {
			file.Events = *f.NEvents
		}
		if f.BoundaryID != nil {
			file.Group = fmt.Sprint("g", *f.BoundaryID)
		}
		if f.LumiBlockNr != nil {
			n := uint32(*f.LumiBlockNr)
			file.Lumis = []jjm.LumiRange{{Run: 1, First: n, Last: n}}
		}
		all = append(all, file)
	}
	return all, slices.IsSortedFunc(all, func(a, b jjm.File) int { return strings.Compare(a.LFN, b.LFN) })
}

// job returns the job file of a row. ok is false if a job file cannot express the row: limits that are not from the
// split rule, ranges of events, no limit, or a recording that was stopped early.
func (r *chunkRow) job() (g goldenJob, ok bool, err error) {
	rule := ""
	for key, value := range r.Args {
		if value == nil || value == false {
			continue
		}
		n, _ := value.(float64)
		switch key {
		case "nFilesPerJob":
			rule += fmt.Sprintf(",NF=%.0f", n)
		case "maxNumFiles":
			rule += fmt.Sprintf(",MF=%.0f", n)
		case "respectLB":
			rule += ",RL=1"
		case "useBoundary":
			in := value.(map[string]any)["inSplit"].(float64)
			if in > 2 {
				return g, false, nil
			}
			rule += fmt.Sprintf(",GB=%.0f", 2*in)
		default:
			return g, false, nil
		}
	}
	g = goldenJob{by: split.JEDI}
	if g.files, ok = r.Master.files(); !ok || len(rule) == 0 || r.Expect.End == nil {
		return g, false, nil
	}
	for n := range r.Second {
		d := &r.Second[n]
		if d.Name == "" {
			d.Name = fmt.Sprint("dataset", n+2) // the number of the dataset in the row's answer
		}
		files, whole := d.files()
		if !whole {
			return g, false, nil
		}
		in := jjm.DatasetInput{Name: d.Name, Secondary: true, Attributes: d.Attributes, Files: []jjm.Listed{}}
		for _, f := range files {
			in.Files = append(in.Files, jjm.Listed{File: f})
		}
		g.along = append(g.along, in)
	}
	g.params, err = jediParams(map[string]any{"allow_incomplete": true, "task": map[string]any{"rule": rule[1:]}})
	return g, true, err
}

// want returns the files that the row expects in each job, keyed by the number of the dataset.
func (r *chunkRow) want() (jobs []map[int][]string) {
	names := map[string]string{}
	for n, d := range append([]chunkDataset{r.Master}, r.Second...) {
		for _, f := range d.Files {
			names[fmt.Sprint(n+1, " ", f.ID)] = f.LFN
		}
	}
	for _, job := range r.Expect.Jobs {
		one := map[int][]string{}
		for _, read := range job {
			for _, id := range read.Files {
				one[read.Dataset] = append(one[read.Dataset], names[fmt.Sprint(read.Dataset, " ", id)])
			}
		}
		jobs = append(jobs, one)
	}
	return jobs
}

// The test only uses rows whose limits come from a split rule and that have whole files. The other rows have limits and
// ranges that no job file can have; package internal/work/split/jedi tests the other rows.
func TestGolden_JEDIChunks(t *testing.T) {
	found := 0
	golden.Rows(t, "jedi/inputchunk_subchunks", func(_ string, r chunkRow) string {
		g, ok, err := r.job()
		switch {
		case err != nil:
			return err.Error()
		case !ok:
			return ""
		}
		found++
		text, err := g.text()
		if err != nil {
			return err.Error()
		}
		c, err := cutText(text, nil)
		if err != nil {
			return err.Error()
		}
		var got []map[int][]string
		for i := range c.parts {
			in := c.parts[i].Input
			one := map[int][]string{1: in.Files}
			if in.More != nil {
				for _, s := range in.More.Secondary {
					at := slices.IndexFunc(r.Second, func(d chunkDataset) bool { return d.Name == s.Dataset })
					one[at+2] = s.Files
				}
			}
			got = append(got, one)
		}
		return cmp.Diff(r.want(), got, cmpopts.EquateEmpty())
	})
	if found < 35 {
		t.Errorf("only %d rows are job files", found)
	}
}
