package verbs_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"jjm/internal/api/gate"
	"jjm/internal/api/gate/verbs"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/gatetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// replies are the functions of every verb. They return the recorded answers of version 1 and record their arguments.
type replies struct {
	t        *testing.T
	recorded [][]byte // the lines of the recorded answer
	asked    string
}

// note records the arguments of a call as JSON.
func (r *replies) note(args ...any) {
	text, err := json.Marshal(args)
	if err != nil {
		r.t.Error(err)
	}
	r.asked = string(text)
}

// reads decodes the first line of the recorded answer.
func reads[Ans any](r *replies) (a Ans) {
	if err := json.Unmarshal(r.recorded[0], &a); err != nil {
		r.t.Error(err)
	}
	return a
}

// resolve knows no handles, because the recorded requests have none.
func resolve(context.Context, gate.Caller, jjm.Handle) (jjm.GridID, error) {
	return 0, jjm.Errorf(jjm.Gone, "no grid job is known by it")
}

func (r *replies) verbs() []gate.Verb {
	type (
		ctx    = context.Context
		caller = gate.Caller
	)
	find := verbs.Resolve(resolve)
	return []gate.Verb{
		verbs.Ping("1.2"),
		verbs.Submit(func(_ ctx, _ caller, s wire.Submit) (wire.Submitted, error) {
			r.note(s.Name, s.Text, s.BaseDir, s.Key, s.Anew, s.DryRun)
			return *reads[wire.SubmitAnswer](r).Submit, nil
		}),
		verbs.Lookup(find, func(_ ctx, _ caller, ids []jjm.GridID) []wire.Lookup {
			r.note(ids)
			return reads[wire.LookupAnswer](r).Lookup
		}),
		verbs.Kill(find, func(_ ctx, _ caller, refs []jjm.Ref, how wire.KillHow) []wire.Killed {
			r.note(refs, how)
			return reads[wire.KillAnswer](r).Kill
		}),
		verbs.Release(find, func(_ ctx, _ caller, refs []jjm.Ref, dry bool) []wire.Released {
			r.note(refs, dry)
			return reads[wire.ReleaseAnswer](r).Release
		}),
		verbs.Resubmit(find, func(_ ctx, _ caller, refs []jjm.Ref, how wire.ResubmitHow) []wire.Resubmitted {
			r.note(refs, how)
			return reads[wire.ResubmitAnswer](r).Resubmit
		}),
		verbs.Copy(find, func(_ ctx, _ caller, id jjm.GridID, how wire.CopyHow) (wire.Copied, error) {
			r.note(id, how)
			return *reads[wire.CopyAnswer](r).Copied, nil
		}),
		verbs.Remove(find, func(_ ctx, _ caller, refs []jjm.Ref, force, dry bool) []wire.Removed {
			r.note(refs, force, dry)
			return reads[wire.RemoveAnswer](r).Remove
		}),
		verbs.Select(find, func(_ ctx, _ caller, s wire.SelectRequest) (wire.Selected, error) {
			r.note(s.Refs, s.Where, s.For)
			return *reads[wire.SelectAnswer](r).Select, nil
		}),
		verbs.Status(find, func(_ ctx, _ caller, refs []jjm.Ref) ([]wire.Status, error) {
			r.note(refs)
			return reads[wire.StatusAnswer](r).Status, nil
		}),
		verbs.List(find, func(_ ctx, _ caller, l wire.List) ([]wire.Status, error) {
			r.note(l)
			return reads[wire.StatusAnswer](r).Status, nil
		}),
		verbs.Wait(find, func(_ ctx, _ caller, refs []jjm.Ref, send func([]wire.Status) error) error {
			r.note(refs)
			return send(reads[wire.StatusAnswer](r).Status)
		}),
		verbs.Record(find, func(_ ctx, _ caller, id jjm.GridID, path string) ([]string, error) {
			r.note(id, path)
			return reads[wire.RecordAnswer](r).Record, nil
		}),
		verbs.Records(func(_ ctx, _ caller, path string, of wire.Selection, send func(wire.Found) error) error {
			r.note(path, of)
			return send(*reads[wire.RecordsAnswer](r).Found)
		}),
		verbs.Output(find, func(_ ctx, _ caller, ref jjm.Ref, want wire.Wanted) (
			io.ReadCloser, int64, wire.Output, error) {
			r.note(ref.Grid, want.Partial)
			a := reads[wire.OutputAnswer](r)
			return io.NopCloser(strings.NewReader(strings.Repeat("x", int(a.Bytes)))), a.Bytes, *a.Output, nil
		}),
		verbs.Cat(find, func(_ ctx, _ caller, ref jjm.Ref, file wire.CatFile) (io.ReadCloser, func() bool, error) {
			r.note(ref, file)
			return io.NopCloser(strings.NewReader("text")), nil, nil
		}, func(ctx, caller, jjm.Ref, *int32) ([]jjm.JobFile, bool, error) {
			return nil, false, nil
		}, time.Millisecond),
		verbs.History(find, func(_ ctx, _ caller, ref jjm.Ref, limit int) ([]jjm.JournalEntry, error) {
			r.note(ref, limit)
			return reads[wire.HistoryAnswer](r).History, nil
		}, func(ctx, caller, jjm.Ref) ([]wire.Attempt, error) { return reads[wire.HistoryAnswer](r).Attempts, nil }),
		verbs.Explain(find, func(_ ctx, _ caller, ref jjm.Ref, attempt *int32) (wire.Explained, error) {
			r.note(ref, attempt)
			return *reads[wire.ExplainAnswer](r).Explain, nil
		}),
		verbs.Why(find, func(_ ctx, _ caller, refs []jjm.Ref) ([]wire.Why, error) {
			r.note(refs)
			return reads[wire.WhyAnswer](r).Why, nil
		}),
		verbs.Log(find, func(_ ctx, _ caller, id jjm.GridID) ([]string, error) {
			r.note(id)
			return reads[wire.LogAnswer](r).Log, nil
		}),
		verbs.JobTypes(func() []wire.JobType { return reads[wire.JobTypesAnswer](r).JobTypes }),
		verbs.Models(func() []wire.Model { return reads[wire.ModelsAnswer](r).Models }),
		verbs.Clusters(func(ctx, caller) []wire.Cluster { return reads[wire.ClustersAnswer](r).Clusters },
			func(caller) []string { return reads[wire.ClustersAnswer](r).Notes }),
		verbs.Health(func(ctx, caller) *wire.Health { return reads[wire.HealthAnswer](r).Health }),
		verbs.Order(find, func(_ ctx, _ caller, o *wire.Order) ([]jjm.Order, error) {
			r.note(o)
			return reads[wire.OrderAnswer](r).Orders, nil
		}),
		verbs.Reset(func(_ ctx, _ caller, cluster string) error {
			r.note(cluster)
			return nil
		}),
		verbs.Ban(func(_ ctx, _ caller, b *wire.Ban) (wire.Banned, error) {
			r.note(b)
			return *reads[wire.BanAnswer](r).Banned, nil
		}),
		verbs.Renew(find, func(_ ctx, _ caller, id jjm.GridID, given []jjm.Credential) (wire.Renewal, error) {
			r.note(id, len(given), given[0].Kind)
			a := reads[wire.RenewAnswer](r)
			return wire.Renewal{Kinds: a.Renewed, NotReached: a.NotReached}, nil
		}),
		verbs.Remark(find, func(_ ctx, _ caller, id jjm.GridID, text string) (bool, error) {
			r.note(id, text)
			return reads[wire.RemarkAnswer](r).News, nil
		}),
		verbs.Advertise(func(_ ctx, now bool) (wire.Advertised, error) {
			r.note(now)
			return *reads[wire.AdvertiseAnswer](r).Advertised, nil
		}),
		verbs.Dataset(func(_ ctx, _ caller, d wire.Dataset) (wire.Datasets, error) {
			r.note(d.Do, d.Name)
			return *reads[wire.DatasetAnswer](r).Datasets, nil
		}),
		verbs.Verify(find, func(_ ctx, _ caller, id jjm.GridID, recovery string) (wire.Verified, error) {
			r.note(id, recovery)
			return *reads[wire.VerifyAnswer](r).Verify, nil
		}),
		verbs.Retract(find, func(_ ctx, _ caller, id jjm.GridID, w wire.Retract) (wire.Retracted, error) {
			r.note(id, w)
			return *reads[wire.RetractAnswer](r).Retracted, nil
		}),
		verbs.Replay(find, func(_ ctx, _ caller, id jjm.GridID) (wire.Replayed, error) {
			r.note(id)
			return *reads[wire.ReplayAnswer](r).Replay, nil
		}),
	}
}

// v1 has the requests and answers that a jjm from before versions wrote.
const v1 = "../../wire/testdata/v1"

// wants has the call that each request must lead to.
func wants() map[string]string {
	return map[string]string{
		"ping": ``, "job-types": ``, "models": ``, "clusters": ``, "health": ``,
		"submit":   `["a.toml","type = \"script\"\n","/tmp","k",true,true]`,
		"lookup":   `[[12,13]]`,
		"kill":     `[[{"grid":12},{"grid":12,"locals":true,"first":3,"last":7}],{}]`,
		"release":  `[[{"grid":12,"locals":true,"last":-1}],false]`,
		"resubmit": `[[{"grid":12},{"grid":12,"locals":true,"first":3,"last":7}],{"all":true,"dry_run":true}]`,
		"copy":     `[12,{"set":["params.events=500","name=again"],"key":"k","credentials":[{"kind":"token","secret":"a.b.c"}],"dry_run":true}]`,
		"remove":   `[[{"grid":12},{"grid":13}],true,true]`,
		"select":   `[["12","13.4-9","name:mc*"],{"state":"failed,killed","host":"n7*","exit":"1-255","age":"7d"},"resubmit"]`,
		"status":   `[[{"grid":12,"locals":true,"first":3,"last":3}]]`,
		"list":     `[{"all":true,"status":"done","type":"script","owner":"alice","limit":5,"before":7}]`,
		"wait":     `[[{"grid":12}]]`,
		"record":   `[12,"/gridjob/@id"]`,
		"records": `["/gridjob/@id",{"status":"text of string","type":"text of string","owner":"text of string",` +
			`"cluster":"text of string","since":1792396412000,"until":1792396412000}]`,
		"output":         `[12,true]`,
		"cat":            `[{"grid":12,"locals":true},{"file":"stderr"}]`,
		"history":        `[{"grid":12},3]`,
		"history-orders": `[{"grid":0},0]`,
		"explain":        `[{"grid":12,"locals":true,"first":3,"last":3},1]`,
		"why":            `[[{"grid":12,"locals":true,"first":3,"last":3}]]`,
		"log":            `[12]`,
		"order":          `[{"verb":"pause","kind":"user","name":"alice","reason":"x","for":"2h0m0s"}]`,
		"order-list":     `[null]`,
		"reset":          `["slurm"]`,
		"ban":            `[{"lift":true,"name":"mallory","reason":"x"}]`,
		"ban-list":       `[null]`,
		"renew":          `[12,1,"token"]`,
		"remark":         `[12,"seen"]`,
		"advertise":      `[true]`,
		"dataset":        `["add","raw"]`,
		"dataset-mark":   `["mark","raw"]`,
		"verify":         `[12,"missing.json"]`,
		"replay":         `[12]`,
		"retract":        `[12,{"outputs":["o"],"reason":"r","dry_run":true,"recovery":"m.json"}]`,
	}
}

// A client of version 1 sends every verb and receives the recorded answer, byte by byte.
func TestVerbs_AnswerClientsOfVersion1AsRecorded(t *testing.T) {
	served := map[string]bool{}
	for name, want := range wants() {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(v1, name+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.SplitAfter(text, []byte("\n"))
			request, answer := lines[0], lines[1:len(lines)-1]
			r := &replies{t: t, recorded: answer}
			got := converse(t, r.verbs(), request, len(answer))
			if want := bytes.Join(answer, nil); !bytes.Equal(got, want) {
				t.Errorf("answer\n%s, want\n%s", got, want)
			}
			if r.asked != want {
				t.Errorf("asked %s, want %s", r.asked, want)
			}
			served[name] = true
		})
	}
	for _, v := range wire.Verbs() {
		if !served[v.Name] {
			t.Errorf("%s was not asked for", v.Name)
		}
	}
}

// converse sends a request and returns the lines of the answer.
func converse(t *testing.T, served []gate.Verb, request []byte, lines int) []byte {
	t.Helper()
	conn, err := net.Dial("unix", gatetest.Serve(t, served, gate.Config{}, nil).Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(await.Guard(2 * time.Minute))); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(request); err != nil {
		t.Fatal(err)
	}
	var got []byte
	for r := bufio.NewReader(conn); lines > 0; lines-- {
		line, err := r.ReadBytes('\n')
		if err != nil {
			t.Fatalf("after %s: %v", got, err)
		}
		got = append(got, line...)
	}
	return got
}
