package jedi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jjm/internal/testkit/golden"
)

// These tests compare this package with recorded results of JEDI's public code and of a reference model.

type rowFile struct {
	ID        int64  `json:"id"`
	LFN       string `json:"lfn"`
	Size      int64  `json:"fsize"`
	Events    *int64 `json:"nEvents"`
	Count     *int64 `json:"events"`
	Start     *int64 `json:"startEvent"`
	End       *int64 `json:"endEvent"`
	Boundary  *int64 `json:"boundaryID"`
	LumiBlock *int64 `json:"lumiBlockNr"`
}

func (f *rowFile) record() Record {
	r := File(f.ID, f.LFN, f.Size)
	r.Events, r.Start, r.End = orDefault(f.Events, orDefault(f.Count, Unknown)), orDefault(f.Start,
		Unknown), orDefault(f.End, Unknown)
	r.Boundary, r.LumiBlock = orDefault(f.Boundary, Unknown), orDefault(f.LumiBlock, Unknown)
	return r
}

type rowDataset struct {
	Name       string    `json:"name"`
	Attributes string    `json:"attributes"`
	Files      []rowFile `json:"files"`
}

func (d *rowDataset) dataset() *Dataset {
	out := &Dataset{Name: d.Name, Attributes: ParseAttributes(d.Name, d.Attributes)}
	for i := range d.Files {
		out.Records = append(out.Records, d.Files[i].record())
	}
	return out
}

type rowTask struct {
	SplitRule     string  `json:"splitRule"`
	OutDiskCount  float64 `json:"outDiskCount"`
	OutDiskUnit   string  `json:"outDiskUnit"`
	WorkDiskCount float64 `json:"workDiskCount"`
	WorkDiskUnit  string  `json:"workDiskUnit"`
	CPUTime       float64 `json:"cpuTime"`
	CPUTimeUnit   string  `json:"cpuTimeUnit"`
	CPUEfficiency float64 `json:"cpuEfficiency"`
	BaseWalltime  float64 `json:"baseWalltime"`
	Walltime      float64 `json:"walltime"`
	FieldNumToLFN []int   `json:"fieldNumToLFN"`
}

// bytes converts a count in a unit such as "kB" or "MBPerEvent" to bytes.
func bytes(count float64, unit string) float64 {
	for i, name := range []string{"k", "M", "G"} {
		if len(unit) > 0 && unit[:1] == name {
			for range i + 1 {
				count *= 1024
			}
		}
	}
	return count
}

func (t *rowTask) task() *Task {
	out := &Task{Rule: t.SplitRule, OutPerMB: bytes(t.OutDiskCount, t.OutDiskUnit),
		WorkSize: WorkSize(bytes(t.WorkDiskCount, t.WorkDiskUnit)),
		CPUTime:  t.CPUTime, Walltime: t.Walltime, BaseWall: t.BaseWalltime, Efficiency: t.CPUEfficiency}
	out.OutPerEvent = len(t.OutDiskUnit) > 2 && t.OutDiskUnit[len(t.OutDiskUnit)-8:] == "PerEvent"
	switch t.CPUTimeUnit {
	case "HS06sPerEvent", "HS06sPerEventFixed":
		out.HS06 = true
	case "mHS06sPerEvent", "mHS06sPerEventFixed":
		out.HS06, out.CPUTime = true, t.CPUTime/1000
	}
	return out
}

type rowRead struct {
	Dataset int     `json:"dataset"`
	Files   []int64 `json:"files"`
}

type rowJob []rowRead

func show(j Job) rowJob {
	var out rowJob
	for _, n := range j.Order {
		records := j.Master
		if n > 0 {
			records = j.Secondary[n-1]
		}
		read := rowRead{Dataset: n + 1}
		for i := range records {
			read.Files = append(read.Files, records[i].ID)
		}
		out = append(out, read)
	}
	return out
}

type rowChunk struct {
	Task        rowTask
	Args        json.RawMessage
	Master      rowDataset
	Secondaries []rowDataset
	Defect      string `json:"upstreamDefect"`
	Expect      struct {
		Jobs  []rowJob `json:"subchunks"`
		Short []bool   `json:"short"`
		End   any      `json:"end"`
	}
}

func (r *rowChunk) chunk() *Chunk {
	c := &Chunk{Master: r.Master.dataset()}
	for i := range r.Secondaries {
		c.Secondary = append(c.Secondary, r.Secondaries[i].dataset())
	}
	return c
}

func TestGolden_Chunks(t *testing.T) {
	golden.Rows(t, "jedi/inputchunk_subchunks", func(_ string, r rowChunk) string {
		var rules Rules
		if err := json.Unmarshal(r.Args, &rules); err != nil {
			return err.Error()
		}
		task := r.Task.task()
		rules.HS06, rules.BaseWall, rules.Efficiency, rules.OutPerEvent = task.HS06, task.BaseWall, task.Efficiency,
			task.OutPerEvent
		diff := r.cut(rules, func(r *Rules) { r.inMB = true })
		if r.Defect != "" {
			return diff + r.cap(rules)
		}
		return diff + r.cut(rules, func(*Rules) {})
	})
}

// cut compares the jobs that this package makes with the jobs of the row, and returns the difference. change changes
// the rules first.
func (r *rowChunk) cut(rules Rules, change func(*Rules)) string {
	change(&rules)
	c := r.chunk()
	var jobs []rowJob
	var short []bool
	// A row without the field end was recorded only up to its last listed job.
	for r.Expect.End != nil || len(jobs) < len(r.Expect.Jobs) {
		job, ok := c.Next(&rules)
		if !ok {
			break
		}
		jobs, short = append(jobs, show(job)), append(short, job.Short)
	}
	return cmp.Diff(r.Expect.Jobs, jobs, cmpopts.EquateEmpty()) + cmp.Diff(r.Expect.Short, short, cmpopts.EquateEmpty())
}

// cap requires that the output of every job with more than one file of the master dataset is within the limit. Only
// jobs of this package keep the limit, because the package estimates the output in bytes; the public code estimates it
// in MB.
func (r *rowChunk) cap(rules Rules) string {
	c := r.chunk()
	for {
		job, ok := c.Next(&rules)
		if !ok {
			return ""
		}
		out := 0.0
		for i := range job.Master {
			out += job.Master[i].effective() * *rules.OutPerByte
		}
		if len(job.Master) > 1 && out > *rules.MaxOut {
			return fmt.Sprintf("a job of %d files has an output of %.0f bytes: at most %.0f", len(job.Master), out,
				*rules.MaxOut)
		}
	}
}

type rowSplit struct {
	Task   rowTask
	Master rowDataset
	Second []rowDataset `json:"secondaries"`
	Scout  bool         `json:"useScout"`
	Merge  bool         `json:"isMerging"`
	Sites  json.RawMessage
	Random struct{ Cycle []float64 }
	Defect string `json:"upstreamDefect"`
	Expect struct {
		Bunches []rowBunch
	}
}

type rowBunch struct {
	Site string
	Jobs []rowJob
}

type rowSite struct {
	MaxDir    *float64 `json:"maxwdir"`
	MaxTime   float64  `json:"maxtime"`
	MinTime   float64  `json:"mintime"`
	Cores     float64  `json:"coreCount"`
	CorePower float64  `json:"corepower"`
	Weight    *float64 `json:"weight"`
	Queued    *int64   `json:"nQueuedJobs"`
	Assigned  *int64   `json:"nAssignedJobs"`
	Cap       *int64   `json:"nRunningJobsCap"`
	DirectIO  bool     `json:"directIO"`
}

// sites reads the sites in their order in the text, because the random choice depends on this order.
func sites(text json.RawMessage) ([]*Queue, error) {
	byName := map[string]rowSite{}
	if err := json.Unmarshal(text, &byName); err != nil {
		return nil, err
	}
	var out []*Queue
	dec := json.NewDecoder(strings.NewReader(string(text)))
	depth := 0
	for {
		token, err := dec.Token()
		if err != nil {
			return out, nil
		}
		switch v := token.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				depth++
			} else {
				depth--
			}
		case string:
			if s, ok := byName[v]; ok && depth == 1 {
				out = append(out, &Queue{Name: v, MaxDirMB: s.MaxDir, MaxTime: s.MaxTime, MinTime: s.MinTime, Cores: s.Cores,
					CorePower: s.CorePower, Weight: orDefault(s.Weight, 1), Queued: s.Queued, Assigned: s.Assigned, Cap: s.Cap,
					DirectIO: s.DirectIO})
			}
		}
	}
}

func TestGolden_Bunches(t *testing.T) {
	golden.Rows(t, "jedi/jobsplitter_dosplit", func(_ string, r rowSplit) string {
		queues, err := sites(r.Sites)
		if err != nil {
			return err.Error()
		}
		chunk := rowChunk{Master: r.Master, Secondaries: r.Second}
		drawn := 0
		random := func() float64 {
			drawn++
			return r.Random.Cycle[(drawn-1)%len(r.Random.Cycle)]
		}
		var got []rowBunch
		o := Options{Scouts: r.Scout, Merging: r.Merge, inMB: r.Defect != "", Fields: r.Task.FieldNumToLFN}
		for _, b := range chunk.chunk().Bunches(r.Task.task(), queues, o, random) {
			one := rowBunch{Site: b.Queue}
			for _, j := range b.Jobs {
				one.Jobs = append(one.Jobs, show(j))
			}
			got = append(got, one)
		}
		return cmp.Diff(r.Expect.Bunches, got, cmpopts.EquateEmpty()) + r.merges()
	})
}

// merges cuts the outputs of a row of merge jobs by MergeLimits, whose estimates are in bytes. The limit on the number
// of files is taken from the row. If a row shows the defect of the public code, its own jobs may exceed the limits, but
// the jobs that this package makes must not.
func (r *rowSplit) merges() string {
	if !r.Merge {
		return ""
	}
	limits, task := MergeDefaults(), r.Task.task()
	limits.FilesPerJob, limits.Events = orDefault(task.number("ZF"), 0), orDefault(task.number("ZE"), 0)
	limits.Files = orDefault(task.number("ZM"), limits.Files)
	limits.Bytes = orDefault(task.number("ZG"), limits.Bytes/gb) * gb
	rules := limits.Rules()
	c := &Chunk{Master: r.Master.dataset()}
	var recorded []int
	for _, b := range r.Expect.Bunches {
		for _, j := range b.Jobs {
			recorded = append(recorded, len(j[0].Files))
		}
	}
	var files int
	for n := 0; ; n++ {
		job, ok := c.Next(&rules)
		if !ok {
			break
		}
		files += len(job.Master)
		if limits.FilesPerJob > 0 && (n >= len(recorded) || len(job.Master) != recorded[n]) {
			return fmt.Sprintf("merge %d has %d files, recorded are %v", n, len(job.Master), recorded)
		}
		if limits.FilesPerJob == 0 && len(job.Master) > 1 && MergeSize(job.Master) > float64(limits.Bytes) {
			return fmt.Sprintf("merge %d is expected to write %.0f bytes, at most %d", n, MergeSize(job.Master), limits.Bytes)
		}
	}
	if files != len(r.Master.Files) {
		return fmt.Sprintf("%d of %d outputs are merged", files, len(r.Master.Files))
	}
	return ""
}

// known converts a number to the notation of the rows: Unknown becomes null.
func known(n int64) any {
	if n == Unknown {
		return nil
	}
	return float64(n)
}

func TestGolden_EventRecords(t *testing.T) {
	type row struct {
		Files []rowFile
		Args  struct {
			NEventsPerJob, NEventsPerRange, NEventsPerFile, TgtNumEventsPerJob int64
			UseRealNumEvents, SkipShortInput, RespectLB                        bool
			Attributes                                                         string
			MaxFileRecords, NMaxFiles                                          int
			NMaxEvents                                                         int64
			FirstEventNumber, FirstEvent                                       *int64
			OrderBy                                                            string `json:"order_by"`
		}
		Expect struct{ Records [][]any }
	}
	golden.Rows(t, "jedi/event_records", func(_ string, r row) string {
		var files []Record
		for i := range r.Files {
			files = append(files, r.Files[i].record())
		}
		a := r.Args
		rules := RecordRules{EventsPerJob: a.NEventsPerJob, EventsPerRange: a.NEventsPerRange,
			EventsPerFile: a.NEventsPerFile,
			TargetEvents:  a.TgtNumEventsPerJob, RealEvents: a.UseRealNumEvents, SkipShort: a.SkipShortInput,
			RespectLB: a.RespectLB,
			Offset:    ParseAttributes("", a.Attributes).Offset, MaxRecords: a.MaxFileRecords, MaxFiles: a.NMaxFiles,
			MaxEvents: a.NMaxEvents, FirstEvent: a.FirstEventNumber,
			OrderBy: a.OrderBy}
		if a.FirstEvent != nil {
			rules.FirstEvent = a.FirstEvent
		}
		records, err := Records(files, rules)
		if err != nil {
			if r.Expect.Records == nil {
				return ""
			}
			return err.Error()
		}
		var got [][]any
		for i := range records {
			n := &records[i]
			got = append(got, []any{n.LFN, known(n.Start), known(n.End), known(n.Events), known(n.First)})
		}
		return cmp.Diff(r.Expect.Records, got)
	})
}

// taskFormulas are the recorded formulas that this package does not implement. They concern the CPU time, the priority,
// the throttling and the brokerage of tasks. This package does not need them, because a task already has these results
// before it is cut.
func taskFormulas() []string {
	return []string{"hs06sec", "jobBrokerWeight(reference)", "networkThroughputWeight",
		"networkWeight(reference)", "percentile", "priorityBoost", "throttledMinutes",
		"throttleTask(public: average failedAttempt, one step at a time)",
		"throttleTask(seed: largest attemptNr, multiple of 5)"}
}

// rowFormula is a row with the result of a formula that this package implements.
type rowFormula struct {
	Fn         string
	FSize      int64
	Start, End *int64
	NEvents    *int64

	CPUTime          *float64
	Unit             string
	Events           int64
	Cores, CorePower float64
	CPUEfficiency    *float64
	BaseWalltime     float64
	QueueMaxtime     float64
	Expect           json.RawMessage
}

// effectiveSize compares the effective size of a file or a range, in MB, with the row, and returns the difference.
func (r *rowFormula) effectiveSize() string {
	f := File(1, "f", r.FSize)
	f.Start, f.End, f.Events = orDefault(r.Start, Unknown), orDefault(r.End, Unknown), orDefault(r.NEvents, Unknown)
	var want float64
	if err := json.Unmarshal(r.Expect, &want); err != nil {
		return err.Error()
	}
	return cmp.Diff(want, f.effective()/mb, cmpopts.EquateApprox(0, 1e-6))
}

// jobWalltime compares the wall time and the limit of CPU time that a job requests with the row, and returns the
// difference. In this package both have the same value.
func (r *rowFormula) jobWalltime() string {
	task := rowTask{CPUTime: orDefault(r.CPUTime, 0), CPUTimeUnit: r.Unit, CPUEfficiency: orDefault(r.CPUEfficiency, 0),
		BaseWalltime: r.BaseWalltime}
	got := task.task().JobWalltime(&Queue{Cores: r.Cores, CorePower: r.CorePower, MaxTime: r.QueueMaxtime}, r.Events)
	var want struct{ MaxWalltime, MaxCpuCount float64 }
	if err := json.Unmarshal(r.Expect, &want); err != nil {
		return err.Error()
	}
	return cmp.Diff(want.MaxWalltime, got) + cmp.Diff(want.MaxCpuCount, got)
}

// This package implements all recorded formulas except taskFormulas, with the recorded results.
func TestGolden_Formulas(t *testing.T) {
	found := map[string]int{}
	golden.Rows(t, "jedi/formulas", func(_ string, r rowFormula) string {
		if slices.Contains(taskFormulas(), r.Fn) {
			return ""
		}
		found[r.Fn]++
		switch r.Fn {
		case "effectiveFileSizeMB":
			return r.effectiveSize()
		case "jobMaxWalltime":
			return r.jobWalltime()
		}
		return "no test of " + r.Fn
	})
	if found["effectiveFileSizeMB"] < 2 || found["jobMaxWalltime"] < 211 {
		t.Errorf("rows found: %v", found)
	}
}
