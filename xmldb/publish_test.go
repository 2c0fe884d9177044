package xmldb

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
	"jjm/xmldb/head"
)

// noon is the present time in every test.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// warnings collects the warnings of a DB.
type warnings struct {
	mu   sync.Mutex
	list []string
}

func (w *warnings) warn(msg string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, fmt.Sprintln(append([]any{msg}, args...)...))
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.list)
}

func open(t testing.TB, dir string) (*DB, *warnings) {
	t.Helper()
	w := &warnings{}
	db, err := Open(dir, Options{Now: func() time.Time { return noon }, Warn: w.warn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, w
}

// sampleHead returns a head with n local jobs.
func sampleHead(grid jjm.GridID, n int) Head {
	h := Head{
		Grid: jjm.GridJob{
			ID: grid, Owner: jjm.Owner{UID: 1000, GID: 100, User: "alice"},
			Spec:   jjm.Spec{Type: "montecarlo", Name: "zmumu", Key: "gk1/77", Mode: "Production", Result: "glf"},
			Status: jjm.GridRunning, Accepted: jjm.At(noon.Add(-time.Hour)), Changed: jjm.At(noon.Add(-time.Minute)),
			Step: jjm.Step{Prepared: true, Cluster: "local", Splitter: "event_based",
				Why: []string{"250 events a job: the rule of the type"}, Expected: n, Made: n, Closed: true},
			Origin: &jjm.Origin{Gatekeeper: "gram5 ce", Job: "https://ce/77/", Subject: "/O=Grid/CN=<Alice>",
				Issuer: "https://iss", VO: "/dzero", SubmitHost: "ui", Memo: `{"out":"/a \"b\""}`},
			Usage: &jjm.Usage{Batch: "4711_0", Host: "wn7", WallMS: 9, UserMS: 7, SysMS: 1, MaxRSSKB: 5, Processors: 2,
				Started: jjm.At(noon.Add(-time.Hour)), Ended: jjm.At(noon)},
			Proof: jjm.ProofExit, Warnings: []jjm.Warning{{Notice: jjm.Notice{Kind: jjm.NoKeyword, Text: "no <keyword>"},
				Count: 2, First: 1}},
		},
		GRAM: jjm.GRAMActive, Master: "running", Jobs: n, Message: "",
		Phases: []jjm.Progress{{Phase: "simulate", Done: 117, Total: 250}},
	}
	h.Counts[jjm.Running] = n
	h.Grid.Generation = 3
	for generation := 1; generation < 3; generation++ {
		e := head.Ending{Ending: jjm.Ending{Generation: generation, Status: jjm.Finished, Kill: true, KillBy: "bob",
			Exit: 1, Expected: 3, Usage: h.Grid.Usage, Tar: "o.tar", TarBytes: 7, TarSHA256: "abc",
			Ended: jjm.At(noon), Reopened: jjm.At(noon.Add(time.Minute)), By: "alice", Why: "resubmit <1>"},
			GRAM: jjm.GRAMDone, Message: "2 of 3 <done>", Master: "failed", Jobs: 3, TarPath: "/work/o.tar"}
		e.Counts[jjm.Completed], e.Counts[jjm.Failed] = 2, 1
		h.Endings = append(h.Endings, e)
	}
	h.ClusterJobs = []jjm.ClusterJob{{Cluster: "local", Counts: h.Counts}}
	h.Inputs = []Input{{Name: "/raw/<2026>", Master: true, Open: true,
		Counts: jjm.InputCounts{Files: 9, ToBeUsed: 8, Used: 7, Finished: 4, Failed: 2, Events: 900, EventsUsed: 400}},
		{Name: "pileup"}}
	h.Causes = []jjm.Cause{{Text: "exit code 3: <none>", Jobs: 2, First: "17.0", Exit: 3, Host: "wn7"},
		{Text: "lost", Jobs: 1, Again: true, First: "17.1", Exit: -1}}
	return h
}

func sampleJob(grid jjm.GridID, n int) jjm.LocalJob {
	return jjm.LocalJob{
		ID: jjm.LocalID{Grid: grid, N: int32(n)}, State: jjm.Running, Attempt: 1,
		Part: jjm.Part{Unit: jjm.UnitEvent, First: int64(n)*250 + 1, Count: 250, Serial: int64(n) + 1},
		Tag:  "jabcdefghijklmn", Pos: int32(n % 1000), BatchID: fmt.Sprintf("48213_%d", n), Host: "node117.example.org",
		Submitted: jjm.At(noon.Add(-30 * time.Minute)), Started: jjm.At(noon.Add(-20 * time.Minute)), Exit: -1,
		Progress: jjm.Progress{Phase: "simulate", Done: 117, Total: 250},
		Counters: jjm.Counters{Early: 1}, Cluster: "local",
	}
}

// shardsOf returns the shards of n local jobs.
func shardsOf(grid jjm.GridID, n int) iter.Seq[Shard] {
	return func(yield func(Shard) bool) {
		for first := 0; first < n; first += ShardSize {
			s := Shard{N: first / ShardSize}
			for i := first; i < min(first+ShardSize, n); i++ {
				s.Jobs = append(s.Jobs, sampleJob(grid, i))
			}
			if !yield(s) {
				return
			}
		}
	}
}

func publish(t testing.TB, db *DB, grid jjm.GridID, n int) {
	t.Helper()
	if err := db.Publish(context.Background(), sampleHead(grid, n), shardsOf(grid, n)); err != nil {
		t.Fatal(err)
	}
}

func readText(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func writeText(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// edit replaces text in a file, which must contain it.
func edit(t testing.TB, path, old, new string) {
	t.Helper()
	text := readText(t, path)
	if !strings.Contains(text, old) {
		t.Fatalf("%s does not hold %q:\n%s", path, old, text)
	}
	writeText(t, path, strings.Replace(text, old, new, 1))
}

func wantNames(t testing.TB, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files in %s (-want +got):\n%s", dir, diff)
	}
}

func TestPublish_WritesHeadAndShards(t *testing.T) {
	dir := t.TempDir()
	db, w := open(t, dir)
	publish(t, db, 17, 2500)
	wantNames(t, filepath.Join(dir, "17"), "jobs-0000.xml", "jobs-0001.xml", "jobs-0002.xml", "record.xml")

	got, err := head.Read(dir, 17)
	if err != nil {
		t.Fatal(err)
	}
	want := sampleHead(17, 2500)
	want.Written = jjm.At(noon)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("head (-want +got):\n%s", diff)
	}
	line := `<localjob id="17.2000" state="running" attempt="1" batch="48213_2000" host="node117.example.org" ` +
		`submitted="2026-03-01T11:30:00.000Z" started="2026-03-01T11:40:00.000Z" tag="jabcdefghijklmn" pos="0" early="1" cluster="local">` +
		`<part unit="event" first="500001" count="250" serial="2001"/><message/>` +
		`<progress phase="simulate" done="117" total="250"/></localjob>`
	if text := readText(t, filepath.Join(dir, "17/jobs-0002.xml")); !strings.Contains(text, "\n"+line+"\n") {
		t.Errorf("shard 2 does not hold\n%s\n%.1000s", line, text)
	}
	st, err := os.Stat(head.Path(dir, 17))
	if err != nil || st.Mode().Perm() != 0o644 {
		t.Errorf("mode of the head: %v, %v; want 0644: the folder says who reads it", st.Mode(), err)
	}
	if len(w.all()) > 0 {
		t.Errorf("warnings: %v", w.all())
	}
}

func TestPublish_IsReadableUnderATightUmask(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	dir := filepath.Join(t.TempDir(), "records")
	db, _ := open(t, dir)
	publish(t, db, 1, 1)
	for name, want := range map[string]os.FileMode{"1/record.xml": 0o644, "1/jobs-0000.xml": 0o644} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", name, st.Mode(), err, want)
		}
	}
}

func TestPublish_RewritesOnlyTheShardsGiven(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 17, 3000)
	before := map[string]stamp{}
	for _, n := range []string{"jobs-0000.xml", "jobs-0001.xml", "jobs-0002.xml"} {
		before[n] = db.stamp("17/" + n)
	}
	job := sampleJob(17, 1000)
	job.State, job.Exit, job.Message = jjm.Failed, 3, "exit <code> 3 & \x00 more"
	s := Shard{N: 1}
	for i := 1000; i < 2000; i++ {
		s.Jobs = append(s.Jobs, sampleJob(17, i))
	}
	s.Jobs[0] = job
	if err := db.Publish(t.Context(), sampleHead(17, 3000), slices.Values([]Shard{s})); err != nil {
		t.Fatal(err)
	}
	if db.stamp("17/jobs-0000.xml") != before["jobs-0000.xml"] || db.stamp("17/jobs-0002.xml") != before["jobs-0002.xml"] {
		t.Error("a clean shard was rewritten")
	}
	got, err := db.Query(17, "//localjob[@state='failed']/message/text()")
	if diff := cmp.Diff([]string{"exit <code> 3 & \uFFFD more"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestPublish_RefusesAShardThatIsNotItsOwn(t *testing.T) {
	other, gap := sampleJob(18, 0), sampleJob(17, 1)
	for name, s := range map[string]Shard{
		"other grid job": {N: 0, Jobs: []jjm.LocalJob{other}},
		"gap":            {N: 0, Jobs: []jjm.LocalJob{gap}},
		"other shard":    {N: 1, Jobs: []jjm.LocalJob{sampleJob(17, 0)}},
		"negative":       {N: -1},
		"too many":       {N: 0, Jobs: make([]jjm.LocalJob, ShardSize+1)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db, _ := open(t, dir)
			err := db.Publish(t.Context(), sampleHead(17, 1), slices.Values([]Shard{s}))
			if jjm.KindOf(err) != jjm.Internal {
				t.Errorf("error %v, want kind internal", err)
			}
			wantNames(t, filepath.Join(dir, "17"))
		})
	}
}

func TestPublish_StopsBetweenShardsWhenTheContextEnds(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	shards := func(yield func(Shard) bool) {
		for s := range shardsOf(17, 3000) {
			if s.N == 1 {
				cancel()
			}
			if !yield(s) {
				return
			}
		}
	}
	err := db.Publish(ctx, sampleHead(17, 3000), shards)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context canceled", err)
	}
	wantNames(t, filepath.Join(dir, "17"), "jobs-0000.xml")
}

func TestHead_FitsWithAnyContent(t *testing.T) {
	long := strings.Repeat(`"<&`, 50_000)
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprintf("reason %d", i)
	}
	phases := make([]jjm.Progress, 5000)
	for i := range phases {
		phases[i] = jjm.Progress{Phase: fmt.Sprintf("phase%d", i), Done: 1, Total: 2}
	}
	h := sampleHead(17, 5_000_000)
	h.Message, h.Grid.Reason, h.Grid.Spec.Name, h.Grid.Spec.Key, h.Grid.KillBy = long, long, long, long, long
	h.Grid.Step.Why, h.Phases, h.Tar = many, phases, "/srv/out/"+strings.Repeat("d/", 1000)+"17.tar"
	dir := t.TempDir()
	db, _ := open(t, dir)
	if err := db.Publish(t.Context(), h, shardsOf(17, 0)); err != nil {
		t.Fatal(err)
	}
	got, err := head.Read(dir, 17)
	if err != nil {
		t.Fatal(err)
	}
	if got.Tar != h.Tar || got.Counts != h.Counts || got.Jobs != h.Jobs || got.Grid.Status != h.Grid.Status {
		t.Errorf("what a lookup needs was cut: %+v", got)
	}
	if !strings.HasPrefix(long, got.Message) || len(got.Message) < 128 {
		t.Errorf("message cut to %d bytes", len(got.Message))
	}
	text := readText(t, head.Path(dir, 17))
	for _, want := range []string{"<message truncated=\"true\">",
		"<shards size=\"1000\" count=\"5000\" truncated=\"true\">"} {
		if !strings.Contains(text, want) {
			t.Errorf("the head lacks the mark %s", want)
		}
	}
}

func TestHead_ThatCannotFitIsAnErrorAndLeavesTheOldOne(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 17, 1)
	before := readText(t, head.Path(dir, 17))
	h := sampleHead(17, 1)
	h.Tar = "/" + strings.Repeat("x", 70_000)
	if err := db.Publish(t.Context(), h, shardsOf(17, 0)); jjm.KindOf(err) != jjm.Internal {
		t.Errorf("error %v, want kind internal", err)
	}
	if readText(t, head.Path(dir, 17)) != before {
		t.Error("the old head was touched")
	}
}

func TestShard_LongTextsAreCutAndMarked(t *testing.T) {
	job := sampleJob(17, 0)
	job.Message = strings.Repeat("é", 10_000)
	job.Part.Args = make([]string, 50_000)
	for i := range job.Part.Args {
		job.Part.Args[i] = "file"
	}
	b := appendShard(nil, 17, Shard{Jobs: []jjm.LocalJob{job}}, 1, nil)
	if len(b) > 64<<10 {
		t.Errorf("shard of %d bytes", len(b))
	}
	for _, want := range []string{`<message truncated="true">é`, `serial="1" truncated="true"><arg>file</arg>`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the shard lacks %s", want)
		}
	}
}

func TestPublish_DifferentGridJobsAtOnce(t *testing.T) {
	dir := t.TempDir()
	db, w := open(t, dir)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			grid := jjm.GridID(i%4 + 1)
			if err := db.Publish(context.Background(), sampleHead(grid, 50), shardsOf(grid, 50)); err != nil {
				t.Error(err)
			}
			frag := fmt.Sprintf(`<fragment job="%d.3"><phase name="p%d"/></fragment>`, grid, i)
			if err := db.AddFragment(grid, 3, []byte(frag)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for grid := jjm.GridID(1); grid <= 4; grid++ {
		publish(t, db, grid, 50)
		if got, err := db.Query(grid, "//phase/@name"); err != nil || len(got) != 4 {
			t.Errorf("grid job %d: phases %v, %v; want 4", grid, got, err)
		}
	}
	if len(w.all()) > 0 {
		t.Errorf("warnings: %v", w.all())
	}
}

func TestPublish_ForgetsFinishedGridJobs(t *testing.T) {
	db, _ := open(t, t.TempDir())
	for grid := jjm.GridID(1); grid <= 20; grid++ {
		publish(t, db, grid, 10)
		frag := fmt.Sprintf(`<fragment job="%d"><note/></fragment>`, grid)
		if err := db.AddFragment(grid, -1, []byte(frag)); err != nil {
			t.Fatal(err)
		}
		publish(t, db, grid, 10)
	}
	if len(db.grids) != 20 || db.cached == 0 {
		t.Errorf("%d grid jobs remembered, %d bytes", len(db.grids), db.cached)
	}
	for grid := jjm.GridID(1); grid <= 20; grid++ {
		h := sampleHead(grid, 10)
		h.Grid.Status, h.GRAM = jjm.Done, jjm.GRAMDone
		if err := db.Publish(t.Context(), h, shardsOf(grid, 10)); err != nil {
			t.Fatal(err)
		}
	}
	if len(db.grids) != 0 || db.cached != 0 {
		t.Errorf("%d grid jobs remembered, %d bytes; want none", len(db.grids), db.cached)
	}
}

func TestListAndRemove(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	for _, grid := range []jjm.GridID{20, 3, 100} {
		publish(t, db, grid, 5)
	}
	for _, junk := range []string{"007", "x", "4", "-1", "3.1"} { // 4: a folder without a head
		if err := os.Mkdir(filepath.Join(dir, junk), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got, err := db.List()
	if diff := cmp.Diff([]jjm.GridID{3, 20, 100}, got); diff != "" || err != nil {
		t.Errorf("List: %v (-want +got):\n%s", err, diff)
	}
	if n, err := db.Bytes(20); n < 100 || err != nil {
		t.Errorf("record of 5 local jobs: %d bytes, %v", n, err)
	}
	if n, err := db.Bytes(21); n != 0 || err != nil {
		t.Errorf("no record: %d bytes, %v", n, err)
	}
	for range 2 { // the second call finds no record, which is no error
		if err := db.Remove(20); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "20")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder of the removed record: %v", err)
	}
	if _, err := db.Query(20, "/gridjob"); jjm.KindOf(err) != jjm.Gone {
		t.Errorf("query of the removed record: %v, want kind gone", err)
	}
}

func TestOpen_RefusesWhatIsNoFolder(t *testing.T) {
	if _, err := Open("records", Options{}); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("relative: %v", err)
	}
	file := filepath.Join(t.TempDir(), "f")
	writeText(t, file, "x")
	if _, err := Open(file, Options{}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file: %v, want an error that names it", err)
	}
}

// brokenDisk is a disk that fails for new files whose name contains on. how is the kind of failure.
type brokenDisk struct {
	disk
	on  string
	how string
}

func (d *brokenDisk) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	if flag&os.O_CREATE == 0 || !strings.Contains(name, d.on) {
		return d.disk.OpenFile(name, flag, perm)
	}
	switch d.how {
	case "full":
		return os.OpenFile("/dev/full", os.O_RDWR, 0) // every write returns ENOSPC, see full(4)
	case "read-only":
		return nil, &os.PathError{Op: "openat", Path: name, Err: syscall.EROFS}
	case "denied":
		return nil, &os.PathError{Op: "openat", Path: name, Err: syscall.EACCES}
	}
	return d.disk.OpenFile(name, flag, perm)
}

func (d *brokenDisk) Rename(oldname, newname string) error {
	if d.how == "rename" && strings.Contains(newname, d.on) {
		return &os.LinkError{Op: "renameat", Old: oldname, New: newname, Err: syscall.EDQUOT}
	}
	return d.disk.Rename(oldname, newname)
}

func TestPublish_OnABrokenDiskLeavesTheOldRecord(t *testing.T) {
	for _, tc := range []struct {
		how, on string
		kind    jjm.Kind
		text    string
	}{
		{"full", "jobs-0001.xml", jjm.Busy, "no space left on device: make room there"},
		{"full", "record.xml", jjm.Busy, "no space left on device: make room there"},
		{"read-only", "jobs-0000.xml", jjm.Busy, "read-only file system: mount it writable"},
		{"denied", "record.xml", jjm.Denied, "give the folder to the daemon's account"},
		{"rename", "record.xml", jjm.Busy, "disk quota exceeded: make room there"},
	} {
		t.Run(tc.how+" at "+tc.on, func(t *testing.T) {
			dir := t.TempDir()
			good, _ := open(t, dir)
			publish(t, good, 17, 2000)
			if err := good.AddFragment(17, -1, []byte(`<fragment job="17"><note/></fragment>`)); err != nil {
				t.Fatal(err)
			}
			before := readText(t, head.Path(dir, 17))
			names := []string{"fragments-head.pending", "jobs-0000.xml", "jobs-0001.xml", "record.xml"}

			broken := &brokenDisk{disk: good.fs, on: tc.on, how: tc.how}
			db := newDB(dir, broken, Options{Now: func() time.Time { return noon.Add(time.Hour) }})
			for range 2 { // the second call uses what the DB remembers
				err := db.Publish(t.Context(), sampleHead(17, 2000), shardsOf(17, 2000))
				if jjm.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.text) || !strings.Contains(err.Error(), tc.on) {
					t.Errorf("error %v, want kind %v, %q and the file", err, tc.kind, tc.text)
				}
			}
			wantNames(t, filepath.Join(dir, "17"), names...)
			if readText(t, head.Path(dir, 17)) != before {
				t.Error("the head was touched")
			}
			broken.how = ""
			publish(t, db, 17, 2000)
			wantNames(t, filepath.Join(dir, "17"), names[1:]...)
			if got, err := db.Query(17, "/gridjob/note"); err != nil || len(got) != 1 {
				t.Errorf("the fragment that waited: %v, %v; want it merged once", got, err)
			}
		})
	}
}

func TestAddFragment_OnABrokenDiskIsBusyAndTakesNothing(t *testing.T) {
	for how, remedy := range map[string]string{"full": "make room", "read-only": "mount it", "denied": "give the folder"} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			good, _ := open(t, dir)
			publish(t, good, 17, 1)
			db := newDB(dir, &brokenDisk{disk: good.fs, on: ".pending", how: how}, Options{})
			err := db.AddFragment(17, 0, []byte(`<fragment job="17.0"><a/></fragment>`))
			if jjm.KindOf(err) != jjm.Busy || !strings.Contains(err.Error(), remedy) {
				t.Errorf("error %v, want kind busy and the remedy %q", err, remedy)
			}
			wantNames(t, filepath.Join(dir, "17"), "jobs-0000.xml", "record.xml")
		})
	}
}

func TestReplace_DoesNotFollowALinkInPlaceOfItsTempFile(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 17, 1)
	secret := filepath.Join(dir, "secret")
	writeText(t, secret, "x")
	if err := os.Symlink(secret, filepath.Join(dir, "17", "."+head.File+".tmp")); err != nil {
		t.Fatal(err)
	}
	publish(t, db, 17, 1)
	if readText(t, secret) != "x" {
		t.Error("the link was followed")
	}
}

func TestShard_SaysWhoHoldsAHeldJob(t *testing.T) {
	job := sampleJob(17, 0)
	job.Holding = &jjm.Holding{By: jjm.HeldOperator, Since: jjm.At(noon)}
	job.State, job.Phase = jjm.Submitted, jjm.BatchHeld
	held := string(appendShard(nil, 17, Shard{Jobs: []jjm.LocalJob{job}}, 1, nil))
	if want := ` heldBy="operator" heldSince="` + jjm.At(noon).String() + `"`; !strings.Contains(held, want) {
		t.Errorf("no %s in\n%s", want, held)
	}
	job.State, job.Phase = jjm.Running, "" // the facts of a hold stay after its end
	if text := string(appendShard(nil, 17, Shard{Jobs: []jjm.LocalJob{job}}, 1, nil)); strings.Contains(text, "heldBy") {
		t.Errorf("a job that runs is held:\n%s", text)
	}
}
