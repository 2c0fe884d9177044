package adaptertest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"jjm"
	"jjm/adapters"
)

func (s *suite) ends() {
	tests := []struct {
		name, script string
		state        jjm.BatchState
		exit, signal int
	}{
		{"exit 0", "exit 0", jjm.BatchEndedOK, 0, 0},
		{"exit 1", "exit 1", jjm.BatchEndedFailed, 1, 0},
		{"exit 255", "exit 255", jjm.BatchEndedFailed, 255, 0},
		{"killed by a signal", "kill -KILL $$", jjm.BatchEndedFailed, 0, 9},
	}
	for _, tt := range tests {
		b := s.shell(1, tt.script)
		s.submit(b)
		r := s.wait(b)[0]
		if r.State != tt.state || r.Signal != tt.signal {
			s.Errorf("%s: %+v", tt.name, r)
		}
		if tt.signal == 0 && r.Exit != tt.exit {
			s.Errorf("%s: exit %d", tt.name, r.Exit)
		}
	}
}

func (s *suite) identity() {
	b := s.shell(3, `echo "$JJM_INDEX $JJM_BATCH_ID" > id.$JJM_INDEX.new && mv id.$JJM_INDEX.new id.$JJM_INDEX`)
	s.submit(b)
	for i, r := range s.wait(b) {
		words := strings.Fields(s.file("id." + string(rune('0'+i))))
		if len(words) != 2 || words[0] != string(rune('0'+i)) || words[1] != r.ID {
			s.Errorf("job %d sees %q, its report has id %q", i, words, r.ID)
		}
	}
}

func (s *suite) listing() {
	before := jjm.At(time.Now().Add(-2 * time.Second))
	b := s.shell(1, `i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; while [ ! -e go ]; do sleep 0.05; done`)
	s.submit(b)
	first := s.list(b.Tag)
	if r, ok := first[0]; ok && (r.ID == "" || r.State == jjm.BatchUnknown) {
		s.Errorf("at once: %+v", r)
	}
	r := s.until("running", b.Tag, 1, running)[0]
	after := jjm.At(time.Now().Add(2 * time.Second))
	if r.ID == "" || r.Index != 0 || r.Host == "" {
		s.Errorf("running: %+v", r)
	}
	if r.Submitted < before || r.Started < r.Submitted || r.Started > after || r.Ended != 0 {
		s.Errorf("running: submitted %v, started %v, ended %v", r.Submitted, r.Started, r.Ended)
	}
	s.write("go")
	e := s.wait(b)[0]
	if e.ID != r.ID || e.Submitted != r.Submitted || e.Started != r.Started {
		s.Errorf("it changed its identity: %+v, then %+v", r, e)
	}
	if e.Ended < e.Started || e.State != jjm.BatchEndedOK || e.Restarts != 0 {
		s.Errorf("ended: %+v", e)
	}
	s.accounted(b, e)
}

// accounted compares the accounting of an ended job with its report.
func (s *suite) accounted(b adapters.Bulk, want jjm.Report) {
	s.Helper()
	if !s.Adapter.Capabilities().Accounting {
		return
	}
	for end := time.Now().Add(s.Patience); ; s.pause() {
		got, err := s.Adapter.Account(s.Context(), s.Owner, []adapters.Ref{{Tag: b.Tag, ID: want.ID, Index: -1}})
		switch {
		case err != nil:
			s.Fatal(err)
		case len(got) == 1:
			r := got[0]
			if r.Tag != want.Tag || r.Index != want.Index || r.State != want.State || r.Exit != want.Exit {
				s.Errorf("accounted %+v, listed %+v", r, want)
			}
			return
		case time.Now().After(end):
			s.Fatalf("accounting does not know the job after %v", s.Patience)
		}
	}
}

func (s *suite) write(name string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.Dir, name), []byte("x"), 0o666); err != nil {
		s.Fatal(err)
	}
}

func (s *suite) since() {
	b := s.shell(1, "exit 0")
	s.submit(b)
	r := s.wait(b)[0]
	l, err := s.Adapter.List(s.Context(), s.Owner, r.Ended.Time().Add(time.Hour))
	if err != nil {
		s.Fatal(err)
	}
	for _, r := range l.Reports {
		if r.Tag == b.Tag {
			s.Errorf("listed an hour after its end: %+v", r)
		}
	}
}

func (s *suite) hundred() {
	n := 100
	if most := s.Adapter.Capabilities().MaxBulk; most > 0 {
		n = min(n, most)
	}
	b := s.shell(n, `echo x >> seen.$JJM_INDEX`)
	s.submit(b)
	for i, r := range s.wait(b) {
		if r.State != jjm.BatchEndedOK {
			s.Errorf("job %d: %+v", i, r)
		}
	}
	seen, err := filepath.Glob(filepath.Join(s.Dir, "seen.*"))
	if err != nil || len(seen) != n {
		s.Errorf("%d of %d jobs ran, error %v", len(seen), n, err)
	}
	for _, path := range seen {
		if text, err := os.ReadFile(path); err != nil || string(text) != "x\n" {
			s.Errorf("%s: %q, error %v", path, text, err)
		}
	}
}

func (s *suite) short() {
	for range 5 {
		b := s.shell(2, "exit 3")
		s.submit(b)
		for i, r := range s.wait(b) {
			if r.State != jjm.BatchEndedFailed || r.Exit != 3 || r.Started == 0 || r.Ended == 0 {
				s.Errorf("job %d: %+v", i, r)
			}
		}
	}
}

func (s *suite) oddNames() {
	dir := filepath.Join(s.Dir, "a folder, 'odd' & \"odder\" $HOME ü")
	if err := os.Mkdir(dir, 0o777); err != nil {
		s.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil { // whatever the umask
		s.Fatal(err)
	}
	args := []string{"two words", "", "$HOME `id` \\n", "a'b\"c", "*", "-n", "ü\tß", "%d %s", ";exit 9"}
	b := s.shell(1, `for a in "$@"; do printf '%s|' "$a"; done > 'out; put'.new && mv 'out; put'.new 'out; put'`, args...)
	b.Dir = dir
	s.submit(b)
	if r := s.wait(b)[0]; r.State != jjm.BatchEndedOK {
		s.Fatalf("%+v", r)
	}
	text, err := os.ReadFile(filepath.Join(dir, "out; put"))
	if want := strings.Join(args, "|") + "|"; err != nil || string(text) != want {
		s.Errorf("the job saw %q, error %v, want %q", text, err, want)
	}
}

func (s *suite) find() {
	b, other := s.shell(2, "exit 0"), s.newTag()
	r := s.submit(b)
	check := func() {
		s.Helper()
		for end := time.Now().Add(s.Patience + s.Adapter.Capabilities().Settle); ; s.pause() {
			got, err := s.Adapter.Find(s.Context(), s.Owner, []jjm.Tag{other, b.Tag})
			if err != nil || len(got) != 2 || got[0].Tag != other || got[1].Tag != b.Tag {
				s.Fatalf("found %+v, error %v", got, err)
			}
			if got[0].Presence == adapters.Present || got[1].Presence == adapters.Absent {
				s.Fatalf("found %+v", got)
			}
			if got[0].Presence == adapters.Absent && got[1].Presence == adapters.Present {
				if len(got[1].IDs) != 1 || got[1].IDs[0] != r.ID {
					s.Errorf("found %+v, the receipt had %q", got[1], r.ID)
				}
				return
			}
			if time.Now().After(end) {
				s.Fatalf("not settled: %+v", got)
			}
		}
	}
	check()
	s.wait(b)
	check() // also when it is over
}

func (s *suite) unknown() {
	known := s.shell(1, "exit 0")
	r := s.submit(known)
	s.wait(known)
	strange := []adapters.Ref{
		{Tag: s.newTag(), ID: "987654321", Index: 0},
		{Tag: s.newTag(), ID: r.ID, Index: 0}, // an id that another bulk has by now
	}
	got, err := s.Adapter.Account(s.Context(), s.Owner, strange)
	if err != nil {
		s.Fatal(err)
	}
	if len(got) != 0 {
		s.Errorf("accounted unknown jobs: %+v", got)
	}
	for _, op := range []adapters.Op{adapters.Cancel, adapters.HoldJobs, adapters.Release} {
		answers, err := s.Adapter.Control(s.Context(), s.Owner, op, strange)
		if err != nil || len(answers) != len(strange) {
			s.Fatalf("%v: %v, error %v", op, answers, err)
		}
		for i, err := range answers {
			if err != nil && jjm.KindOf(err) != jjm.Gone {
				s.Errorf("%v %+v: %v", op, strange[i], err)
			}
		}
	}
}

func (s *suite) cancelWaiting() {
	s.fill()
	b := s.shell(2, "echo x > ran")
	r := s.submit(b)
	s.until("waiting", b.Tag, 2, waiting)
	s.control(adapters.Cancel, refs(b, r)...)
	for i, r := range s.wait(b) {
		if r.State != jjm.BatchCancelled || r.Started != 0 {
			s.Errorf("job %d: %+v", i, r)
		}
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "ran")); err == nil {
		s.Error("it ran all the same")
	}
}

func (s *suite) cancelRunning() {
	// Neither the child nor one that ignores TERM may be left.
	b := s.shell(1, `trap '' TERM; (while :; do echo x >> beats; sleep 0.02; done) & echo up > up; wait`)
	r := s.submit(b)
	s.file("up")
	s.until("running", b.Tag, 1, running)
	s.control(adapters.Cancel, refs(b, r)...)
	s.control(adapters.Cancel, refs(b, r)...)
	if r := s.wait(b)[0]; r.State != jjm.BatchCancelled || r.Started == 0 {
		s.Errorf("%+v", r)
	}
	s.control(adapters.Cancel, refs(b, r)...)
	first := s.file("beats")
	time.Sleep(200 * time.Millisecond) // ten beats
	if now := s.file("beats"); now != first {
		s.Error("a process of the cancelled job still runs")
	}
}

func (s *suite) cancelEnded() {
	b := s.shell(1, "exit 4")
	r := s.submit(b)
	was := s.wait(b)[0]
	s.control(adapters.Cancel, refs(b, r)...)
	if is := s.wait(b)[0]; is != was {
		s.Errorf("it was %+v, and is %+v", was, is)
	}
}

func (s *suite) cancelOne() {
	b := s.shell(3, `[ $JJM_INDEX = 1 ] && exec sleep 60; exit 0`)
	r := s.submit(b)
	s.control(adapters.Cancel, refs(b, r)[1])
	for i, r := range s.wait(b) {
		if (i == 1) != (r.State == jjm.BatchCancelled) {
			s.Errorf("job %d: %+v", i, r)
		}
	}
}

func (s *suite) hold() {
	if s.NoHold {
		s.Skip("jobs cannot be held here")
	}
	blocker := s.fill()
	b := s.shell(2, "exit 0")
	r := s.submit(b)
	s.until("waiting", b.Tag, 2, waiting)
	held := refs(b, r)[0]
	s.control(adapters.HoldJobs, held)
	s.control(adapters.HoldJobs, held)
	s.until("held", b.Tag, 1, func(r jjm.Report) bool { return r.State == jjm.BatchHold })
	l := s.list(blocker.Tag)[0]
	s.control(adapters.Cancel, adapters.Ref{Tag: l.Tag, ID: l.ID, Index: -1})
	s.until("over", b.Tag, 1, func(r jjm.Report) bool { return r.Index == 1 && r.State == jjm.BatchEndedOK })
	if r := s.list(b.Tag)[0]; r.State != jjm.BatchHold {
		s.Errorf("the held job: %+v", r)
	}
	s.control(adapters.Release, held)
	if r := s.wait(b)[0]; r.State != jjm.BatchEndedOK {
		s.Errorf("after its release: %+v", r)
	}
	s.control(adapters.Release, held)
	s.control(adapters.HoldJobs, held)
}

func (s *suite) walltime() {
	if s.Walltime == 0 {
		s.Skip("no walltime limit to test")
	}
	b := s.shell(1, "sleep 600")
	b.Request.Walltime = jjm.Duration(s.Walltime)
	s.submit(b)
	s.Patience += 2 * s.Walltime
	r := s.wait(b)[0]
	if r.State != jjm.BatchTimeout {
		s.Errorf("%+v", r)
	}
	if took := r.Ended.Sub(r.Started); took < s.Walltime-time.Second {
		s.Errorf("it ended after %v of %v", took, s.Walltime)
	}
}

func (s *suite) owners() {
	if s.Other == nil {
		s.Skip("no second owner")
	}
	b := s.shell(1, "sleep 60")
	mine := s.submit(b)
	s.until("running", b.Tag, 1, running)
	l, err := s.Adapter.List(s.Context(), *s.Other, s.began)
	if err != nil {
		s.Fatal(err)
	}
	for _, r := range l.Reports {
		if r.Tag == b.Tag {
			s.Errorf("the other owner's listing has %+v", r)
		}
	}
	found, err := s.Adapter.Find(s.Context(), *s.Other, []jjm.Tag{b.Tag})
	if err != nil || found[0].Presence != adapters.Absent {
		s.Errorf("the other owner finds %+v, error %v", found, err)
	}
	answers, err := s.Adapter.Control(s.Context(), *s.Other, adapters.Cancel, refs(b, mine))
	if err != nil || len(answers) != 1 {
		s.Fatalf("%v, error %v", answers, err)
	}
	s.wantKind("cancel another's job", answers[0], jjm.Denied, jjm.Gone)
	if r := s.list(b.Tag)[0]; r.State != jjm.BatchRunning {
		s.Errorf("after the other's cancel: %+v", r)
	}
}

func (s *suite) context() {
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	b := s.shell(1, "echo x > ran")
	_, err := s.Adapter.Submit(ctx, b)
	s.wantKind("submit", err, jjm.Ambiguous, jjm.Busy)
	if jjm.KindOf(err) == jjm.Busy {
		found, err := s.Adapter.Find(s.Context(), s.Owner, []jjm.Tag{b.Tag})
		if err != nil || found[0].Presence == adapters.Present {
			s.Errorf("certainly not done, but found %+v, error %v", found, err)
		}
	}
	_, err = s.Adapter.List(ctx, s.Owner, s.began)
	s.wantKind("list", err, jjm.Busy)
	_, err = s.Adapter.Find(ctx, s.Owner, []jjm.Tag{b.Tag})
	s.wantKind("find", err, jjm.Busy)
	_, err = s.Adapter.Account(ctx, s.Owner, []adapters.Ref{{Tag: b.Tag, ID: "1"}})
	s.wantKind("account", err, jjm.Busy)
	_, err = s.Adapter.Control(ctx, s.Owner, adapters.Cancel, []adapters.Ref{{Tag: b.Tag, ID: "1"}})
	s.wantKind("control", err, jjm.Busy)
}

func (s *suite) refuse() {
	c := s.Adapter.Capabilities()
	try := func(what string, change func(b *adapters.Bulk)) {
		b := s.shell(1, "exit 0")
		change(&b)
		_, err := s.Adapter.Submit(s.Context(), b)
		s.wantKind(what, err, jjm.Invalid)
	}
	try("no jobs", func(b *adapters.Bulk) { b.N = 0 })
	try("no command", func(b *adapters.Bulk) { b.Argv = nil })
	try("a bad tag", func(b *adapters.Bulk) { b.Tag = "../x" })
	try("NUL in the command", func(b *adapters.Bulk) { b.Argv = append(b.Argv, "a\x00b") })
	try("a relative folder", func(b *adapters.Bulk) { b.Dir = "here" })
	if c.MaxBulk > 0 {
		try("too many jobs", func(b *adapters.Bulk) { b.N = c.MaxBulk + 1 })
	}
	if c.MaxCores > 0 {
		try("too many cores", func(b *adapters.Bulk) { b.Request.Cores = c.MaxCores + 1 })
	}
}

func (s *suite) concurrent() {
	var all sync.WaitGroup
	bulks := make([]adapters.Bulk, 8)
	for i := range bulks {
		bulks[i] = s.shell(5, "exit 0")
		s.made = append(s.made, bulks[i].Tag)
	}
	for _, b := range bulks {
		all.Go(func() {
			r, err := s.Adapter.Submit(s.Context(), b)
			if err != nil {
				s.Error(err)
				return
			}
			if s.Adapter.Capabilities().TwoPhase {
				_, err = s.Adapter.Control(s.Context(), s.Owner, adapters.Release, refs(b, r))
				if err != nil {
					s.Error(err)
				}
			}
		})
		all.Go(func() {
			if _, err := s.Adapter.List(s.Context(), s.Owner, s.began); err != nil {
				s.Error(err)
			}
			if _, err := s.Adapter.Find(s.Context(), s.Owner, []jjm.Tag{b.Tag}); err != nil {
				s.Error(err)
			}
		})
	}
	all.Wait()
	for _, b := range bulks {
		s.wait(b)
	}
}
