package condor

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// schedd imitates the history of a schedd. It holds records of jjm's jobs and of other jobs, the oldest first.
type schedd struct {
	records []record
	gone    int // number of oldest records that were rotated away
	// hidden are records that scans miss while the file is rotated.
	hidden  map[int]bool
	jobs    int // number of jobs so far
	scanned int // number of records read by all scans
}

// leave adds a record whose job ended some time ago.
func (f *schedd) leave(now int64, mine bool, age int64) {
	f.jobs++
	n := f.jobs
	r := record{jobID: jobID{int64(n / 4), int32(n % 4)}, tag: jjm.Tag(fmt.Sprint("t", n/8)), owner: "ann",
		status: completed, queued: now - age - 5, entered: now - age}
	if !mine {
		r.tag, r.owner = "", "eve"
	}
	f.records = append(f.records, r)
}

// history returns the records that were not rotated away, the newest first.
func (f *schedd) history(yield func(record) bool) {
	for i := len(f.records) - 1; i >= f.gone; i-- {
		f.scanned++
		if !f.hidden[i] && !yield(f.records[i]) {
			return
		}
	}
}

// scan returns the records that condor_history prints for the command of scan.args.
func (f *schedd) scan(s scan, stay int64) (found []record) {
	for r := range f.history {
		if s.reach == newOnly && (historyPos{r.jobID, r.queued}) == s.stop {
			f.scanned--
			break
		}
		if r.owner != "ann" {
			continue
		}
		if s.reach == recent && r.status == completed && r.entered < s.from-stay {
			break
		}
		if s.reach != recent || r.entered >= s.from {
			found = append(found, r)
		}
	}
	return found
}

func (f *schedd) newest() historyPos {
	for r := range f.history {
		return historyPos{r.jobID, r.queued}
	}
	return historyPos{}
}

// whole returns the jobs of ann in the whole history that ok accepts.
func (f *schedd) whole(ok func(record) bool) map[tagged]bool {
	all := map[tagged]bool{}
	for r := range f.history {
		if r.owner == "ann" && ok(r) {
			all[tagged{r.tag, r.jobID}] = true
		}
	}
	return all
}

func anyJob(record) bool { return true }

// reader is an adapter with a clock that the test moves.
type reader struct {
	*Adapter
	*schedd
	now  int64
	stay int64
}

func newReader() *reader {
	r := &reader{schedd: &schedd{}, now: 1_000_000, stay: 3600}
	env := adapters.Env{Now: func() time.Time { return time.Unix(r.now, 0) }}
	r.Adapter = &Adapter{memories: map[string]*memory{}, config: DefaultConfig(), env: env}
	return r
}

// ask runs a scan on the imitated schedd, in the same steps as Adapter.read.
func (r *reader) ask(s scan, use func(p *memory)) {
	if s.ask {
		s.newest = r.newest()
	}
	r.remember("ann", s, r.schedd.scan(s, r.stay), use)
}

func (r *reader) newest() historyPos { return r.schedd.newest() }

func (r *reader) list(from int64) map[tagged]bool {
	got := map[tagged]bool{}
	r.ask(r.scanSince("ann", from), func(p *memory) {
		for _, r := range p.since(from) {
			got[tagged{r.tag, r.jobID}] = true
		}
		p.trim(from)
	})
	return got
}

// find returns the bulks of tags.
func (r *reader) find(tags ...jjm.Tag) map[bulk]bool {
	got := map[bulk]bool{}
	r.ask(r.scanAll("ann"), func(p *memory) {
		for _, b := range p.clusters(tags) {
			got[b] = true
		}
	})
	return got
}

// account returns which of the given jobs have a record in the history. It reads what Adapter.jobsInHistory reads.
func (r *reader) account(jobs taggedJobs) map[tagged]bool {
	got := map[tagged]bool{}
	var again taggedJobs
	r.ask(r.scanAll("ann"), func(p *memory) {
		var out []record
		out, again = p.pick(jobs)
		for _, r := range out {
			got[tagged{r.tag, r.jobID}] = true
		}
	})
	if len(again) > 0 {
		maps.Copy(got, r.whole(func(r record) bool { return slices.Contains(again, tagged{r.tag, r.jobID}) }))
	}
	return got
}

// lacks returns the number of elements that only the second set contains.
func lacks[K comparable](got, want map[K]bool) (n int) {
	for k := range want {
		if !got[k] {
			n++
		}
	}
	return n
}

// A listing equals a scan of the whole history for every order of records and every requested time, provided that
// completed jobs leave the queue in time.
func TestMemory_ListingsEqualAFullScan(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		r := newReader()
		for step := range 80 {
			r.now += rnd.Int64N(30)
			for range rnd.IntN(6) {
				r.leave(r.now, rnd.IntN(3) > 0, rnd.Int64N(r.stay))
			}
			from := r.now - []int64{0, 10, 4000, 9000}[rnd.IntN(4)]
			if got, want := r.list(from), r.whole(func(r record) bool { return r.entered >= from }); !maps.Equal(got, want) {
				t.Fatalf("seed %d, step %d: %d jobs, want %d", seed, step, len(got), len(want))
			}
		}
	}
}

// life is a random history: jobs that end and leave in any order, a clock of the schedd
// that is set, records that are written twice, and files that are rotated away, even while
// they are read.
type life struct {
	*reader
	rnd *rand.Rand
	off int64 // offset of the schedd's clock
	// From the time hides on, scans miss no record; missed is the index of the first record that no scan missed.
	hides  int64
	missed int
}

func (l *life) step() {
	l.now += l.rnd.Int64N(30)
	for range l.rnd.IntN(6) {
		l.leave(l.now+l.off, l.rnd.IntN(3) > 0, []int64{0, 100, 90_000}[l.rnd.IntN(3)])
	}
	if l.now >= l.hides {
		l.hidden = nil
	}
	n := len(l.records)
	switch l.rnd.IntN(12) {
	case 0:
		l.off += l.rnd.Int64N(200_000) - 100_000
	case 1: // a crash made the schedd write a record twice, with no scan in between
		l.leave(l.now+l.off, true, 0)
		for range l.rnd.IntN(3) {
			l.leave(l.now+l.off, true, 0)
		}
		l.records = append(l.records, l.records[n])
	case 2:
		l.gone += l.rnd.IntN(n - l.gone + 1)
	case 3: // a scan misses all records but the newest one or two
		if l.hidden == nil {
			l.hidden, l.hides = map[int]bool{}, l.now+int64(overlap.Seconds())-5
			for i := max(l.missed, n-1-l.rnd.IntN(10)); i < n-l.rnd.IntN(3); i++ {
				l.hidden[i], l.missed = true, i+1 // a file is rotated away only once
			}
		}
	}
}

// The memory has all jobs that a scan of the whole history would find now, and no job that never existed.
func TestMemory_MissesNoRecord(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		l := &life{reader: newReader(), rnd: rand.New(rand.NewPCG(seed, 2))}
		ever := map[tagged]bool{}
		l.find() // reads the whole history, so later scans continue this scan
		for step := range 80 {
			l.step()
			maps.Copy(ever, l.whole(anyJob))
			var got, want map[tagged]bool
			switch l.rnd.IntN(3) {
			case 0:
				from := l.now + l.off - []int64{0, 10, 4000, 90_000}[l.rnd.IntN(4)]
				got, want = l.list(from), l.whole(func(r record) bool { return r.entered >= from })
			case 1:
				want = l.whole(anyJob)
				got = l.account(append(slices.Collect(maps.Keys(want)), tagged{"t0", jobID{7, 7}}, tagged{"no", jobID{0, 1}}))
			case 2:
				want = l.whole(anyJob)
				if n := lacks(l.find(tagsOf(want)...), bulksOf(want)); n > 0 {
					t.Fatalf("seed %d, step %d: %d bulks are lacking", seed, step, n)
				}
				if found := l.find("no", "none"); len(found) != 0 {
					t.Fatalf("seed %d, step %d: found %v", seed, step, found)
				}
				got = want
			}
			if n := lacks(got, want); n > 0 {
				t.Fatalf("seed %d, step %d: %d of %d jobs are lacking", seed, step, n, len(want))
			}
			if n := lacks(ever, got); n > 0 {
				t.Fatalf("seed %d, step %d: %d jobs never were", seed, step, n)
			}
		}
	}
}

func tagsOf(jobs map[tagged]bool) (tags []jjm.Tag) {
	for j := range jobs {
		tags = append(tags, j.tag)
	}
	return tags
}

func bulksOf(jobs map[tagged]bool) map[bulk]bool {
	all := map[bulk]bool{}
	for j := range jobs {
		all[bulk{j.tag, j.cluster}] = true
	}
	return all
}

// If one scan misses a record, a later scan within the overlap finds it.
func TestMemory_ARecordThatOneScanMissesIsFoundLater(t *testing.T) {
	t.Parallel()
	for name, know := range map[string]func(r *reader){
		"listings": func(*reader) {}, "everything": func(r *reader) { r.find() }} {
		r := newReader()
		know(r)
		for range 50 {
			for range 5 {
				r.leave(r.now, true, 0)
			}
			r.hidden = map[int]bool{}
			for i := range 4 {
				r.hidden[len(r.records)-2-i] = true
			}
			from := r.now - 3000
			r.list(from)
			r.hidden = nil
			r.now += int64(overlap.Seconds()) - 1
			if got, want := r.list(from), r.whole(func(r record) bool { return r.entered >= from }); !maps.Equal(got, want) {
				t.Fatalf("%s: %d jobs, want %d", name, len(got), len(want))
			}
			r.now += 5
		}
	}
}

// A scan reads nothing if there are no new records, even behind the records of other owners.
func TestMemory_AScanReadsOnlyNewRecords(t *testing.T) {
	t.Parallel()
	looks := map[string]func(r *reader){
		"list":    func(r *reader) { r.list(r.now - 3000) },
		"find":    func(r *reader) { r.find("t7", "none") },
		"account": func(r *reader) { r.account(taggedJobs{{"t1", jobID{2, 1}}, {"none", jobID{1, 1}}}) },
	}
	for name, look := range looks {
		r := newReader()
		for range 5000 {
			r.leave(r.now, true, 0)
		}
		cost := func() int {
			before := r.scanned
			look(r)
			r.now += int64(overlap.Seconds())
			return r.scanned - before
		}
		for range 3 {
			cost()
		}
		if n := cost(); n != 0 {
			t.Errorf("%s: %d records read again", name, n)
		}
		r.leave(r.now, true, 0)
		if n := cost(); n != 1 {
			t.Errorf("%s: %d records read for a new one", name, n)
		}
		for range 5000 {
			r.leave(r.now, false, 0)
		}
		for range int(askNewest/overlap) + 3 {
			cost()
		}
		if n := cost(); n != 0 {
			t.Errorf("%s: %d records of others read again", name, n)
		}
	}
}

func TestMemory_ForgetsWhatNobodyAsksFor(t *testing.T) {
	t.Parallel()
	r := newReader()
	for range 100 {
		r.leave(r.now, true, 0)
		r.list(r.now - 600)
		r.find()
		r.now += 600
	}
	if n := len(r.memories["ann"].records); n > 20 {
		t.Errorf("%d records are remembered", n)
	}
	if got := r.account(taggedJobs{{"t1", jobID{2, 1}}}); len(got) != 1 {
		t.Errorf("of a job whose record was forgotten: %v", got)
	}
	r.now += int64(idleOwner.Seconds()) + 1
	r.remember("bob", r.scanAll("bob"), nil, func(*memory) {})
	if r.memories["ann"] != nil || r.memories["bob"] == nil {
		t.Errorf("owners %v", slices.Collect(maps.Keys(r.memories)))
	}
}

func TestMemory_IsBounded(t *testing.T) {
	t.Parallel()
	r := newReader()
	for range maxRecords + 100 {
		r.leave(r.now, true, 0)
		r.now++
	}
	r.find()
	p := r.memories["ann"]
	if n := len(p.records); n > maxRecords || n < maxRecords/4 || p.lossy {
		t.Errorf("%d records, lossy %v", n, p.lossy)
	}
	want := r.whole(anyJob)
	if n := lacks(r.account(slices.Collect(maps.Keys(want))[:100]), want); n != len(want)-100 {
		t.Errorf("%d of 100 jobs are accounted", len(want)-n)
	}
	for i := range maxBulks + 10 {
		p.add(record{tag: "many", jobID: jobID{int64(i), 0}})
	}
	if p.shrink(); len(p.bulks) > maxBulks || len(p.bulks) != len(p.order) || !p.lossy {
		t.Errorf("%d bulks, %d in order, lossy %v", len(p.bulks), len(p.order), p.lossy)
	}
	if _, again := p.pick(taggedJobs{{"t1", jobID{2, 1}}}); len(again) != 1 {
		t.Error("a bulk that was dropped is not looked for")
	}
}

func TestSpans_AreASet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 3))
	for range 200 {
		var s spans
		want := map[int32]bool{}
		for range rnd.IntN(60) {
			n := rnd.Int32N(40)
			s, want[n] = s.with(n), true
		}
		for n := range int32(41) {
			if s.has(n) != want[n] {
				t.Fatalf("%v has %d: %v", s, n, s.has(n))
			}
		}
		for i := range s {
			if s[i].first > s[i].last || i > 0 && s[i].first <= s[i-1].last+1 {
				t.Fatalf("%v", s)
			}
		}
	}
}

func TestScan_Args(t *testing.T) {
	tests := map[string]struct {
		scan       scan
		constraint string
		since      string
	}{
		"what is recent": {scan{from: 10_000, reach: recent}, `X && EnteredCurrentStatus >= 10000`,
			`(X && JobStatus =?= 4 && EnteredCurrentStatus < 6400)`},
		"what is new": {scan{from: 10_000, reach: newOnly, stop: historyPos{jobID{7, 2}, 99}}, `X`,
			`(ClusterId == 7 && ProcId == 2 && QDate == 99)`},
		"everything": {scan{reach: everything}, `X`, ``},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := tt.scan.args("X", time.Hour)
			want := []string{"condor_history", "-constraint", tt.constraint}
			if tt.since != "" {
				want = slices.Insert(want, 1, "-since", tt.since)
			}
			if !slices.Equal(got[:len(want)], want) {
				t.Errorf("%q, want %q", got[:len(want)], want)
			}
		})
	}
}

func TestNewestOf(t *testing.T) {
	tests := map[string]historyPos{
		"ClusterId ProcId QDate\n338       28     1795286116\n": {jobID{338, 28}, 1795286116}, // HTCondor 23.9.6
		"ClusterId ProcId QDate\n":                              {},
		"":                                                      {},
		"338 28 1795286116\n":                                   {},
		"ClusterId ProcId QDate\n338 28 undefined\n":           {},
		"ClusterId ProcId QDate\n338 28 1795286116 7\n":        {},
		"ClusterId ProcId QDate\n338 99999999999 1795286116\n": {},
	}
	for text, want := range tests {
		if got := newestOf(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func FuzzNewestOf(f *testing.F) {
	f.Add("ClusterId ProcId QDate\n338       28     1795286116\n")
	f.Add("ClusterId ProcId QDate\n")
	f.Fuzz(func(t *testing.T, text string) {
		m := newestOf(text)
		if m.cluster < 0 || m.proc < 0 || m.queued < 0 {
			t.Errorf("%+v of %q", m, text)
		}
		if again := fmt.Sprintf("ClusterId ProcId QDate\n%d %d %d\n", m.cluster, m.proc, m.queued); m != (historyPos{}) &&
			newestOf(again) != m {
			t.Errorf("%+v of %q", m, text)
		}
	})
}
