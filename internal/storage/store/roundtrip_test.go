package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

// anyText generates texts that batch systems, applications and people may send.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just(""), rapid.String(), rapid.SampledFrom([]string{
		"\x00", "a\x00b", "'; DROP TABLE local_jobs; --", "../../etc", "?1 :a @b $c", "line\nline\r\n", "\xff\xfe",
		strings.Repeat("ü", 5000)}))
}

func anyWords() *rapid.Generator[[]string] {
	// The words are valid UTF-8, because JSON replaces invalid UTF-8.
	return rapid.SliceOfN(rapid.String(), 0, 3)
}

func anyLocal(id jjm.LocalID) *rapid.Generator[jjm.LocalJob] {
	num := rapid.Int64()
	count := rapid.IntRange(0, 1<<40)
	return rapid.Custom(func(t *rapid.T) jjm.LocalJob {
		return jjm.LocalJob{
			ID: id,
			Part: jjm.Part{Unit: rapid.StringMatching("[a-z]{1,9}").Draw(t, "unit"),
				First: rapid.Int64Range(-1<<60, 1<<60).Draw(t, "first"),
				Count: rapid.Int64Range(1, 1<<60).Draw(t, "count"), Serial: num.Draw(t, "serial"),
				Args: anyWords().Draw(t, "args")},
			State: jjm.State(rapid.IntRange(0, jjm.NumStates-1).Draw(t, "state")), Phase: jjm.Phase(anyText().Draw(t, "phase")),
			Attempt: rapid.Int32Min(0).Draw(t, "attempt"),
			Counters: jjm.Counters{Early: count.Draw(t, "early"), LateHandled: count.Draw(t, "late"),
				LateUnhandled: count.Draw(t, "unhandled")},
			RetryArgs: anyWords().Draw(t, "retry"), NotBefore: jjm.Time(num.Draw(t, "not before")),
			Kill: rapid.Bool().Draw(t, "kill"),
			Tag:  jjm.Tag(anyText().Draw(t, "tag")), Pos: rapid.Int32().Draw(t, "pos"), BatchID: anyText().Draw(t, "batch"),
			Cluster: anyText().Draw(t, "cluster"), Host: anyText().Draw(t, "host"),
			Submitted: jjm.Time(num.Draw(t, "submitted")), Started: jjm.Time(num.Draw(t, "started")),
			Ended: jjm.Time(num.Draw(t, "ended")),
			Exit:  rapid.IntRange(-1, 255).Draw(t, "exit"), Message: anyText().Draw(t, "message"),
			Progress: jjm.Progress{Phase: anyText().Draw(t, "progress"), Done: num.Draw(t, "done"), Total: num.Draw(t, "total")},
			Place:    rapid.Int32Range(0, 99).Draw(t, "place"), Since: jjm.Time(num.Draw(t, "since")),
			Suspended: jjm.Time(num.Draw(t, "suspended")),
			Again: jjm.Again{Times: rapid.IntRange(0, 5).Draw(t, "resubmitted"),
				Stopped: rapid.SampledFrom([]string{"", "no"}).Draw(t, "stopped")},
			Holding: rapid.OneOf(rapid.Just[*jjm.Holding](nil), anyHolding()).Draw(t, "holding"),
		}
	})
}

func anyHolding() *rapid.Generator[*jjm.Holding] {
	age := rapid.Custom(func(t *rapid.T) jjm.Duration { return jjm.Duration(rapid.Int64Min(0).Draw(t, "age")) })
	return rapid.Custom(func(t *rapid.T) *jjm.Holding {
		return &jjm.Holding{
			By:   rapid.SampledFrom([]string{"", jjm.HeldBatchSystem, jjm.HeldOperator, jjm.HeldApplication}).Draw(t, "by"),
			Code: rapid.String().Draw(t, "code"), Text: rapid.String().Draw(t, "text"), Source: rapid.String().Draw(t, "source"),
			Since: jjm.Time(rapid.Int64().Draw(t, "since")), Age: age.Draw(t, "age"), Acted: age.Draw(t, "acted"),
			Tried: rapid.Int().Draw(t, "tried"), Releases: rapid.Int().Draw(t, "releases"),
			Retries: rapid.Int().Draw(t, "retries"),
			Action:  rapid.SampledFrom([]jjm.HoldAction{"", jjm.HoldRelease, jjm.HoldRetry, jjm.HoldFail}).Draw(t, "action"),
			Why:     rapid.String().Draw(t, "why"), Actor: rapid.String().Draw(t, "actor"),
			Trouble: rapid.String().Draw(t, "trouble"),
		}
	})
}

// A local job is read back exactly as it was inserted or saved, from the live tables and from the history.
func TestRoundTrip_LocalJob(t *testing.T) {
	s := fresh(t)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		g := sampleGrid()
		if err := s.Update(ctx, func(tx *Tx) error { return tx.InsertGrid(g) }); err != nil {
			t.Fatal(err)
		}
		id := jjm.LocalID{Grid: g.ID}
		read := func(when string, want jjm.LocalJob) {
			got, err := s.Locals(ctx, g.ID, 0, -1)
			if err != nil || len(got) != 1 {
				t.Fatalf("%s: %v, %v", when, got, err)
			}
			if d := cmp.Diff(want, got[0], cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("%s: %s", when, d)
			}
		}
		first := anyLocal(id).Draw(t, "first")
		if err := s.Update(ctx, func(tx *Tx) error { return tx.InsertLocals([]jjm.LocalJob{first}) }); err != nil {
			t.Fatal(err)
		}
		read("inserted", first)
		second := anyLocal(id).Draw(t, "second")
		second.Part, second.Place = first.Part, first.Place
		switch {
		case first.State.IsFrozen():
			second.State = first.State.Unfrozen()
		case first.State == jjm.Completed || second.State.InBatch() || second.State == jjm.Held:
			second.State = jjm.Completed
		}
		g.Status = jjm.GridFailed
		err := s.Update(ctx, func(tx *Tx) error {
			if err := saveAnyway(tx, first.State, &second); err != nil {
				return err
			}
			return tx.SaveGrid(g)
		})
		if err != nil {
			t.Fatal(err)
		}
		read("saved", second)
		if more, err := s.Archive(ctx, g.ID, 10); more || err != nil {
			t.Fatal(more, err)
		}
		read("archived", second)
	})
}

// saveAnyway saves a local job. If the state from cannot change directly to the new state, saveAnyway first saves the
// local job as submitting, and as ended but not frozen.
func saveAnyway(tx *Tx, from jjm.State, l *jjm.LocalJob) error {
	may := func(m jjm.Transition) bool { return m.From == from && m.To == l.State }
	if from == l.State || slices.ContainsFunc(jjm.Transitions(), may) {
		return tx.SaveLocals([]*jjm.LocalJob{l})
	}
	over := *l
	over.State = l.State.Unfrozen() // a local job can only be frozen after it ended
	return errors.Join(saveEnds(tx, []*jjm.LocalJob{&over}), tx.SaveLocals([]*jjm.LocalJob{l}))
}

func TestRoundTrip_GridJob(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	minutes := 3
	g := &jjm.GridJob{
		Owner: jjm.Owner{UID: 501, GID: 20, User: "al\x00ice"},
		Spec: jjm.Spec{Type: "script", Name: "n", Key: "k'1", KeyReuse: true, Mode: "Test", Clusters: []string{"a", "b"},
			Result:  jjm.ResultGLF,
			Retry:   jjm.Retries{Limits: jjm.Limits{EarlyMinutes: &minutes}, OnExit: []int{75}},
			Request: jjm.Request{Cores: 2, MemoryMB: 3, Walltime: 4e9, Queue: "q"}, Env: map[string]string{"A": "B\x00\n"},
			Inputs: []jjm.Input{{Path: "p", Name: "n", SHA256: "s", Executable: true}}, Outputs: []string{"*.root"},
			Params: map[string]any{"x": []any{"y", 1.5}}},
		Status: jjm.Registered, BaseDir: "/base", Accepted: 11, Changed: 12, Rollback: jjm.RollbackKeep,
		Origin: &jjm.Origin{Gatekeeper: "gram5 ce", Job: "https://ce/1", Subject: "/O=Grid/CN=Al'ice", Issuer: "i",
			VO: "/dzero", SubmitHost: "h"},
	}
	update(t, s, func(tx *Tx) error { return tx.InsertGrid(g) })
	same := func(when string) {
		t.Helper()
		got, err := s.Grid(ctx, g.ID)
		if err != nil {
			t.Fatal(when, err)
		}
		if d := cmp.Diff(*g, got); d != "" {
			t.Error(when, d)
		}
	}
	same("inserted")
	g.Status, g.Kill, g.KillBy, g.Reason, g.Changed, g.Ended = jjm.Aborting, true, "bob", "because", 13, 14
	g.Tar, g.TarBytes, g.TarSHA256, g.Exit = "t.tar", 1<<40, "abc", 3
	g.Counts[jjm.Killed] = 7
	g.Proof = jjm.ProofExit
	g.Warnings = []jjm.Warning{{Notice: jjm.Notice{Kind: jjm.NoKeyword, Text: "no 'keyword'"}, Count: 2, First: 1}}
	g.Usage = &jjm.Usage{Batch: "4711", WallMS: 5, UserMS: 4, SysMS: 1, MaxRSSKB: 7, Processors: 2, Started: 1, Ended: 6}
	g.Step = jjm.Step{Prepared: true, Cluster: "c", Clusters: []string{"c", "d"},
		Places: []jjm.Place{{Storages: []string{"x'y"}, Clusters: []string{"c"}, Known: true}}, Splitter: "s",
		Why: []string{"w"}, Expected: 9, Made: 8, Closed: true, LastMade: 7, Carry: []byte(`{"next":1}`)}
	update(t, s, func(tx *Tx) error { return tx.SaveGrid(g) })
	same("saved")
}

func TestRoundTrip_Attempt(t *testing.T) {
	s, ctx := fresh(t), context.Background()
	g := fill(t, s, 2, 2)
	b := submit(t, s, g.ID, "jone", 0, 1)
	end := sampleEnd(b.Members[1])
	end.Verdict.RetryArgs, end.Verdict.Counters.Early = []string{"a b", ""}, 3
	update(t, s, func(tx *Tx) error { return tx.EndAttempts([]AttemptEnd{end}) })
	for n, want := range []Attempt{
		{ID: b.Members[0], Tag: "jone", Pos: 0},
		{ID: b.Members[1], Tag: "jone", Pos: 1, Ended: end.Ended, Evidence: &end.Evidence, Verdict: &end.Verdict},
	} {
		got, err := s.Attempts(ctx, jjm.LocalID{Grid: g.ID, N: int32(n)})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]Attempt{want}, got); d != "" {
			t.Error(d)
		}
	}
}

func TestEndAttempts_KeepsTheTailOfALongLog(t *testing.T) {
	line := "2026-01-01T00:00:00Z INFO " + strings.Repeat("ü", 40) + "\n"
	tests := []struct{ name, text, first string }{
		{"short", line, line},
		{"lines", strings.Repeat(line, 2000), line},
		{"one line", strings.Repeat("ü", MaxGLF), "ü"},
		{"one line that ends", strings.Repeat("ü", MaxGLF) + "\n", "ü"},
		{"not text", strings.Repeat("\x80", 2*MaxGLF), "\x80"},
	}
	for _, tt := range tests {
		ev := jjm.Evidence{GLF: tt.text, Result: &jjm.Result{GLF: tt.text}}
		got := trimmed(ev)
		if got.Result.GLF != got.GLF || ev.Result.GLF != tt.text {
			t.Errorf("%s: the caller's result was changed, or the two differ", tt.name)
		}
		if len(got.GLF) > MaxGLF || len(got.GLF) < min(len(tt.text), MaxGLF-200) || !strings.HasSuffix(tt.text, got.GLF) ||
			!strings.HasPrefix(got.GLF, tt.first) {
			t.Errorf("%s: %d bytes, starting with %.20q", tt.name, len(got.GLF), got.GLF)
		}
		if utf8.ValidString(tt.text) != utf8.ValidString(got.GLF) {
			t.Errorf("%s: cut within a character", tt.name)
		}
	}
	s := fresh(t)
	b := submit(t, s, fill(t, s, 1, 1).ID, "jone", 0, 0)
	end := sampleEnd(b.Members[0])
	end.Evidence.Result.GLF = strings.Repeat(line, 10_000)
	update(t, s, func(tx *Tx) error { return tx.EndAttempts([]AttemptEnd{end}) })
	if n := number(t, s, "SELECT length(CAST(evidence AS BLOB)) FROM evidence"); n > MaxGLF+2000 {
		t.Errorf("evidence of %d bytes", n)
	}
}

// A spec that JSON cannot encode is refused with an error of kind Invalid.
func TestInsertGrid_RefusesASpecThatJSONCannotCarry(t *testing.T) {
	s := fresh(t)
	g := sampleGrid()
	g.Spec.Params = map[string]any{"f": func() {}}
	wantKind(t, s.Update(context.Background(), func(tx *Tx) error { return tx.InsertGrid(g) }), jjm.Invalid)
}

func FuzzDecodeEvidence(f *testing.F) {
	b, err := json.Marshal(sampleEnd(jjm.AttemptID{}).Evidence)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(b))
	f.Add("")
	f.Add(`{"batch":{"state":"NONSENSE"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		ev, err := decodeEvidence(text)
		if err != nil && jjm.KindOf(err) != jjm.Internal || err == nil && text != "" && ev == nil {
			t.Errorf("%q gives %v, %v", text, ev, err)
		}
	})
}
