package jedi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

func TestNumbers_TakeReturnsTheSmallestFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Numbers
		held := map[int64]bool{}
		used := map[int64]bool{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if len(held) > 0 && rapid.Bool().Draw(t, "ends") {
				var all []int64
				for n := range held {
					all = append(all, n)
				}
				slices.Sort(all)
				n := rapid.SampledFrom(all).Draw(t, "which")
				delete(held, n)
				if rapid.Bool().Draw(t, "fails") {
					p.GiveBack(n)
					p.GiveBack(n) // a second call changes nothing
				} else {
					used[n] = true
				}
				continue
			}
			want := int64(1)
			for held[want] || used[want] {
				want++
			}
			if n := p.Take(); n != want {
				t.Fatalf("took %d, want %d: held %v, used %v", n, want, held, used)
			}
			held[want] = true
		}
		p.GiveBack(p.Last + 1) // this number was never taken
		if slices.Contains(p.Free, p.Last+1) {
			t.Fatal("a number that was never given is free")
		}
	})
}

func TestRecords_RefusesMoreThanItsBound(t *testing.T) {
	var files []Record
	for i := range 3 {
		f := File(int64(i), fmt.Sprint(i), 1)
		f.Events = 10
		files = append(files, f)
	}
	_, err := Records(files, RecordRules{EventsPerJob: 1, RealEvents: true, MaxRecords: 25})
	if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "3 files make more than 25 records") {
		t.Errorf("error is %v", err)
	}
}

// drawChunk draws files, or ranges of their events.
func drawChunk(t *rapid.T) *Chunk {
	var files []Record
	for i := range rapid.IntRange(0, 40).Draw(t, "files") {
		f := File(int64(i), fmt.Sprintf("f%03d", i), rapid.Int64Range(0, 3*gb).Draw(t, "size"))
		f.Events = rapid.Int64Range(1, 200).Draw(t, "events")
		f.Boundary, f.LumiBlock = int64(i/5), int64(i/7)
		files = append(files, f)
	}
	records, err := Records(files, RecordRules{EventsPerJob: rapid.Int64Range(0, 80).Draw(t, "NE"), RealEvents: true})
	if err != nil {
		t.Fatal(err)
	}
	return &Chunk{Master: &Dataset{Records: records}}
}

func drawRules(t *rapid.T) Rules {
	r := Rules{OutPerMB: rapid.Float64Range(0, 1e6).Draw(t, "out"), WallPerUnit: rapid.Float64Range(0, 10).Draw(t, "wall")}
	some := func(name string, most int64) *int64 {
		if n := rapid.Int64Range(0, most).Draw(t, name); n > 0 {
			return &n
		}
		return nil
	}
	r.FilesPerJob, r.EventsPerJob, r.MaxFiles = some("NF", 6), some("NE", 150), some("MF", 20)
	if n := some("size", 10*gb); n != nil {
		size := float64(*n)
		r.MaxSize = &size
	}
	if n := rapid.IntRange(0, 3).Draw(t, "boundary"); n > 0 {
		r.Boundary = &BoundaryRule{InSplit: n}
	}
	r.RespectLB = rapid.Bool().Draw(t, "LB")
	return r
}

func TestChunk_EveryRecordIsInOneJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, r := drawChunk(t), drawRules(t)
		at := 0
		for {
			job, ok := c.Next(&r)
			if !ok {
				break
			}
			if len(job.Master) == 0 {
				t.Fatal("a job is empty")
			}
			for i := range job.Master {
				if want := &c.Master.Records[at+i]; &job.Master[i] != want {
					t.Fatalf("job begins at %d, but its record %d is another", at, i)
				}
			}
			at += len(job.Master)
			if r.Boundary != nil && r.Boundary.InSplit < 3 {
				for i := range job.Master {
					if job.Master[i].Boundary != job.Master[0].Boundary {
						t.Fatalf("a job has boundaries %d and %d", job.Master[0].Boundary, job.Master[i].Boundary)
					}
				}
			}
		}
		if at != len(c.Master.Records) {
			t.Fatalf("%d of %d records are in jobs", at, len(c.Master.Records))
		}
	})
}

// The draw of 0 always picks the first queue that is left. Jobs of ten records are too short for the first queue
// (MinTime), so all of them go to the second one. If the first queue were tried again and again, the loop would not
// end.
func TestBunches_TriesAQueueThatIsTooShortOnce(t *testing.T) {
	dir := 1e6
	short := &Queue{Name: "short", MaxDirMB: &dir, MinTime: 1e9, Weight: 1}
	long := &Queue{Name: "long", MaxDirMB: &dir, Weight: 1}
	c := &Chunk{Master: &Dataset{}}
	for i := range 60 {
		f := File(int64(i), fmt.Sprint(i), mb)
		f.Events, f.Start, f.End = 10, 0, 9
		c.Master.Records = append(c.Master.Records, f)
	}
	var jobs int
	for _, b := range c.Bunches(&Task{Rule: "DY=1,MX=10", WorkSize: WorkSize(0)}, []*Queue{short, long}, Options{},
		func() float64 { return 0 }) {
		if b.Queue != "long" {
			t.Errorf("%d jobs went to %s", len(b.Jobs), b.Queue)
		}
		jobs += len(b.Jobs)
	}
	if c.Master.Unused() || jobs == 0 {
		t.Errorf("%d jobs, used %d of 60 records", jobs, c.Master.Used)
	}
}

func TestBunches_AFullQueueGetsNone(t *testing.T) {
	full := int64(5)
	records := []Record{File(1, "1", mb)}
	if b := (&Chunk{Master: &Dataset{Records: records}}).Bunches(&Task{Rule: "NF=1"},
		[]*Queue{{Name: "full", Weight: 1, Queued: &full, Cap: &full}}, Options{}, func() float64 { return 0 }); b != nil {
		t.Errorf("a full queue got %d bunches", len(b))
	}
}

func TestRules_MergeJobsAreBoundInBytes(t *testing.T) {
	dir := 1e6
	r := (&Task{Rule: "ZG=2"}).Rules(&Queue{MaxDirMB: &dir}, Options{Merging: true})
	c := &Chunk{Master: &Dataset{}}
	for i := range 10 {
		c.Master.Records = append(c.Master.Records, File(int64(i), fmt.Sprint(i), 500*mb))
	}
	job, _ := c.Next(&r)
	if len(job.Master) != 3 { // 3 files: 1.2 times 1500 MB fit into 2 GB, 1.2 times 2000 MB do not
		t.Errorf("a merge job has %d files of 500 MB, want 3", len(job.Master))
	}
}

func FuzzAttributes(f *testing.F) {
	for _, seed := range []string{"repeat,ratio=2", "np=3,ru", "ratio=0.34", "er=2.0", "of=2", "nosplit", "ratio=1.2.3",
		"np=99999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a := ParseAttributes("ds", text)
		if a.Ratio < 0 || a.PerJob < 0 || a.Events < 0 || a.Offset < 0 {
			t.Fatalf("%q is %+v", text, a)
		}
		c := &Chunk{Master: &Dataset{Records: []Record{File(1, "m", 1)}},
			Secondary: []*Dataset{{Attributes: a, Records: []Record{File(1, "s", 1), File(2, "t", 1)}}}}
		one := int64(1)
		if job, ok := c.Next(&Rules{FilesPerJob: &one}); !ok || len(job.Secondary[0]) > 2 {
			t.Fatalf("%q gives %+v, %v", text, job, ok)
		}
	})
}
