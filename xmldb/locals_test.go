package xmldb

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
	"jjm/xmldb/head"
)

// The local jobs that are read from a record equal the written local jobs, across shards and with elements that others
// added.
func TestLocals_ComeBackAsTheyWere(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	want := make([]jjm.LocalJob, 2500)
	for i := range want {
		want[i] = sampleJob(17, i)
	}
	want[1] = jjm.LocalJob{ID: jjm.LocalID{Grid: 17, N: 1}, Exit: -1}
	want[2].State, want[2].Phase, want[2].Exit, want[2].Kill = jjm.Failed, "limit", 137, true
	want[2].Message, want[2].Step, want[2].NotBefore = "a <b> & c", 1, 1700000000123
	want[2].Counters = jjm.Counters{Early: 1, LateHandled: 2, LateUnhandled: 3}
	want[2].Again = jjm.Again{Times: 2, Stopped: "2 of 4"}
	want[2].Part.Args = []string{"a b", "", "<c>"}
	want[3].Waits = &jjm.Waiting{Reason: "Priority", Hold: "21", Starts: 1700000000001, Source: "squeue",
		At: 1700000000002}
	want[4].State, want[4].Holding = jjm.Held, &jjm.Holding{By: "operator", Since: 1700000000003}
	shards := func(yield func(Shard) bool) {
		for n := range 3 {
			if !yield(Shard{N: n, Jobs: want[n*ShardSize : min((n+1)*ShardSize, len(want))]}) {
				return
			}
		}
	}
	if err := db.Publish(context.Background(), sampleHead(17, len(want)), shards); err != nil {
		t.Fatal(err)
	}
	for ref, part := range map[string][]jjm.LocalJob{
		"17.*": want, "17.3": want[3:4], "17.998-1002": want[998:1003], "17.2400-9999": want[2400:], "17.2500": nil,
		"17.5000-2147483647": nil,
	} {
		r, err := jjm.ParseRef(ref)
		if err != nil {
			t.Fatal(err)
		}
		got, err := head.Locals(dir, r, 10_000)
		if diff := cmp.Diff(part, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", ref, err, diff)
		}
	}
	if got, err := head.Locals(dir, jjm.Ref{Grid: 17, Locals: true, Last: -1}, 1200); err != nil || len(got) != 1200 {
		t.Errorf("at most 1200: %d, %v", len(got), err)
	}
}

func TestLocals_SayWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"": "no element localjobs", "<gridjob/>": "want localjobs",
		"<localjobs><localjob id=\"17\"/></localjobs>":                               "one local job",
		"<localjobs><localjob id=\"17.0\" state=\"odd\"/></localjobs>":               "attribute state",
		"<localjobs><localjob id=\"17.0\" state=\"new\" attempt=\"x\"/></localjobs>": "not a number",
		"<localjobs><localjob id=\"17.0\"":                                           "unexpected EOF",
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "17"), 0o755); err != nil {
			t.Fatal(err)
		}
		writeText(t, filepath.Join(dir, "17", head.ShardFile(0)), text)
		_, err := head.Locals(dir, jjm.Ref{Grid: 17, Locals: true}, 10)
		if jjm.KindOf(err) != jjm.Internal || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestIDs_AreNewestFirstAndOnlyThose(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"9", "10", "2", "handles", "010", "-1", "0", "3.x", "99999999999999999999"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if ids, err := head.IDs(dir); err != nil || !slices.Equal(ids, []jjm.GridID{10, 9, 2}) {
		t.Errorf("%v, %v", ids, err)
	}
	if _, err := head.IDs(dir + "/none"); jjm.KindOf(err) != jjm.Gone {
		t.Errorf("no folder: %v", err)
	}
}
