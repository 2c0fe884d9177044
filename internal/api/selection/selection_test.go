package selection_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/api/selection"
	"jjm/internal/jjm"
	"jjm/internal/testkit/golden"
)

const handle = "gabcdefghijklmnopqrstuvwx"

func TestParse_ReadsEveryForm(t *testing.T) {
	local := func(grid jjm.GridID, first, last int32) selection.Pattern {
		return selection.Pattern{Ref: jjm.Ref{Grid: grid, Locals: true, First: first, Last: last}}
	}
	grid := func(id jjm.GridID) selection.Pattern { return selection.Pattern{Ref: jjm.Ref{Grid: id}} }
	for _, c := range []struct {
		name  string
		words []string
		want  selection.List
	}{
		{"a grid job", []string{"12"}, selection.List{grid(12)}},
		{"a local job", []string{"12.3"}, selection.List{local(12, 3, 3)}},
		{"a range", []string{"12.3-7"}, selection.List{local(12, 3, 7)}},
		{"all local jobs", []string{"12.*"}, selection.List{local(12, 0, -1)}},
		{"a name", []string{"name:mc*"}, selection.List{{Name: "mc*"}}},
		{"a name with a dot", []string{"name:a.b?"}, selection.List{{Name: "a.b?"}}},
		{"a handle", []string{handle}, selection.List{{Handle: handle}}},
		{"local jobs of a handle", []string{handle + ".3-7"},
			selection.List{{Handle: handle, Ref: jjm.Ref{Locals: true, First: 3, Last: 7}}}},
		{"words", []string{"12", "13.4-9"}, selection.List{grid(12), local(13, 4, 9)}},
		{"a comma", []string{"12,13.4"}, selection.List{grid(12), local(13, 4, 4)}},
		{"a grid job behind a local job, as a word", []string{"12.3", "5"}, selection.List{local(12, 3, 3), grid(5)}},
		{"nothing", nil, nil},
	} {
		got, err := selection.Parse(c.words)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v, -want +got\n%s", c.name, err, diff)
		}
	}
}

func TestParse_ErrorsQuoteTheWordAndNameTheRemedy(t *testing.T) {
	for word, want := range map[string]string{
		"":                         `id "": want 12, 12.3, 12.*, 12.3-7 or name:GLOB`,
		"x":                        `id "x": want 12,`,
		"12.7-3":                   "the range ends before it begins: want 12.3-7",
		"12-14":                    "a range is of local jobs, such as 12.3-7; of grid jobs write each",
		"*":                        "all grid jobs are name:*",
		"mc*":                      "grid jobs whose names fit are name:GLOB",
		"12.3.4":                   `id "12.3.4": want 12,`,
		"012":                      `id "012": want 12,`,
		"12,":                      `"12,": nothing beside a comma`,
		",12":                      `",12": nothing beside a comma`,
		"12.3,5":                   `"12.3,5": is 5 a grid job or local job 12.5? Write 12.5, or the grid job as a word of its own`,
		"name:":                    "want a pattern of names, such as name:mc*",
		"name:a b":                 "names have no blanks",
		"name:" + long("x"):        "at most 128 characters",
		handle + ".x":              `id "` + handle,
		"12.99999999999":           `id "12.99999999999": want 12,`,
		"12.3-7,12.9-8":            "want 12.8-9",
		strings.Repeat("1", 1_000): `id "11111`,
	} {
		_, err := selection.Parse([]string{word})
		if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%.40q: error %v, want an invalid one with %q", word, err, want)
		}
	}
}

func long(s string) string { return strings.Repeat(s, selection.MaxName+1) }

// patterns draws a random pattern as people may write it.
func patterns(t *rapid.T) selection.Pattern {
	switch rapid.IntRange(0, 4).Draw(t, "form") {
	case 0:
		return selection.Pattern{Name: selection.Glob(rapid.StringMatching(`[A-Za-z0-9._*?-]{1,20}`).Draw(t, "name"))}
	case 1:
		return selection.Pattern{Handle: handle, Ref: locals(t)}
	case 2:
		return selection.Pattern{Ref: jjm.Ref{Grid: gridID(t)}}
	}
	ref := locals(t)
	ref.Grid = gridID(t)
	return selection.Pattern{Ref: ref}
}

func gridID(t *rapid.T) jjm.GridID { return jjm.GridID(rapid.Int64Min(1).Draw(t, "grid")) }

func locals(t *rapid.T) jjm.Ref {
	if rapid.Bool().Draw(t, "all") {
		return jjm.Ref{Locals: true, Last: -1}
	}
	first := rapid.Int32Min(0).Draw(t, "first")
	return jjm.Ref{Locals: true, First: first, Last: rapid.Int32Min(first).Draw(t, "last")}
}

func TestPattern_ParsedFromItsTextItIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := selection.List(rapid.SliceOf(rapid.Custom(patterns)).Draw(t, "list"))
		for _, p := range list {
			if err := p.Check(); err != nil {
				t.Fatalf("%v: %v", p, err)
			}
		}
		got, err := selection.Parse(list.Words())
		if diff := cmp.Diff(list, got, cmp.Transformer("nil", func(l selection.List) []selection.Pattern {
			return append([]selection.Pattern{}, l...)
		})); err != nil || diff != "" {
			t.Fatalf("%v: error %v, -want +got\n%s", list.Words(), err, diff)
		}
	})
}

// A range that Join returns selects exactly its members. For any local jobs, the ranges that Join returns together
// select exactly these local jobs.
func TestJoin_RangesSelectExactlyTheirMembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.MapOf(rapid.Int32Range(0, 30), rapid.Just(true)).Draw(t, "members")
		var refs []jjm.Ref
		for n := range int32(31) {
			if members[n] {
				refs = selection.Join(refs, jjm.LocalID{Grid: 7, N: n})
			}
		}
		jobs := 0
		for i, ref := range refs {
			p, err := selection.ParsePattern(ref.String())
			n, known := p.Jobs()
			if err != nil || !known || p.Ref != ref {
				t.Fatalf("%v: %+v, %v", ref, p, err)
			}
			jobs += n
			if i > 0 && refs[i-1].Last+1 == ref.First {
				t.Fatalf("%v and %v are one range", refs[i-1], ref)
			}
		}
		if jobs != len(members) {
			t.Fatalf("%v mean %d jobs, want %d", refs, jobs, len(members))
		}
		for n := range int32(31) {
			if got := slices.ContainsFunc(refs, func(r jjm.Ref) bool { return r.Has(n) }); got != members[n] {
				t.Fatalf("%v: member %d: %v", refs, n, got)
			}
		}
	})
}

func TestGlob_FitsAsItsPartsSay(t *testing.T) {
	for _, c := range []struct {
		glob, text string
		want       bool
	}{
		{"mc", "mc", true}, {"mc", "mcx", false}, {"mc", "xmc", false}, {"*", "", true}, {"?", "", false}, {"?", "ä", true},
		{"*disk*", "no space on /disk7/a", true}, {"a*b*c", "a1b2b3c", true}, {"a*b*c", "a1b2b3", false},
		{"a?c", "abc", true}, {"a?c", "ac", false}, {"**", "x", true}, {"[ab]", "a", false}, {"[ab]", "[ab]", true},
	} {
		if got := selection.Glob(c.glob).Fits(c.text); got != c.want {
			t.Errorf("%q, %q: %v", c.glob, c.text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := []rune(rapid.String().Draw(t, "text"))
		glob := slices.Clone(text)
		for i := range glob { // replace some characters by wildcards
			if r := rand.IntN(3); r == 0 {
				glob[i] = '?'
			} else if r == 1 {
				glob[i] = '*'
			}
		}
		if !selection.Glob(glob).Fits(string(text)) {
			t.Fatalf("%q does not fit %q", string(text), string(glob))
		}
	})
}

const day = 24 * time.Hour

func TestFilters_SelectWhatTheySay(t *testing.T) {
	held := &jjm.Holding{Since: 1, Code: "13/2", Text: "disk 7 is full"}
	l := func(change func(*jjm.LocalJob)) *jjm.LocalJob {
		job := &jjm.LocalJob{State: jjm.Failed, Host: "node7", Exit: 3, Cluster: "farm", Message: "exit code 3"}
		change(job)
		return job
	}
	same := func(*jjm.LocalJob) {}
	for _, c := range []struct {
		name    string
		filters selection.Filters
		job     *jjm.LocalJob
		want    bool
	}{
		{"none", selection.Filters{}, l(same), true},
		{"all of them", selection.Filters{State: "failed,killed", Host: "node?", Exit: "1,3-4", Reason: "*code 3",
			Cluster: "farm"}, l(same), true},
		{"another state", selection.Filters{State: "killed"}, l(same), false},
		{"its work was given back", selection.Filters{State: "failed"},
			l(func(l *jjm.LocalJob) { l.Phase = jjm.GivenBack }), false},
		{"another host", selection.Filters{Host: "node"}, l(same), false},
		{"another code", selection.Filters{Exit: "4-255"}, l(same), false},
		{"not ended", selection.Filters{Exit: "0-255"}, l(func(l *jjm.LocalJob) { l.Exit = -1 }), false},
		{"another cluster", selection.Filters{Cluster: "far"}, l(same), false},
		{"held by the application", selection.Filters{State: "held"}, l(func(l *jjm.LocalJob) { l.State = jjm.Held }), true},
		{"held by the batch system", selection.Filters{State: "held", Reason: "disk*"}, l(func(l *jjm.LocalJob) {
			l.State, l.Phase, l.Holding = jjm.Submitted, jjm.BatchHeld, held
		}), true},
		{"a hold that is over", selection.Filters{Reason: "disk*"},
			l(func(l *jjm.LocalJob) { l.Holding = &jjm.Holding{Text: held.Text} }), false},
		{"it waits", selection.Filters{Reason: "Resources"},
			l(func(l *jjm.LocalJob) { l.Waits = &jjm.Waiting{Reason: "Resources"} }), true},
	} {
		f, err := c.filters.Parse()
		if err != nil || f.Local(c.job) != c.want {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
}

func TestFilters_OfGridJobs(t *testing.T) {
	job := &jjm.GridJob{ID: 12, Owner: jjm.Owner{User: "alice"}, Status: jjm.Finished,
		Spec: jjm.Spec{Type: "script", Name: "mc7"}, Accepted: 1000}
	now := job.Accepted.Add(2 * day)
	for filters, want := range map[selection.Filters]bool{
		{Status: "finished", Type: "script", User: "alice", Age: "2d"}: true,
		{Status: "done"}: false, {Type: "concat"}: false, {User: "bob"}: false, {Age: "49h"}: false, {Age: "1d-2d"}: true,
		{Age: "0-12h"}: false, {State: "killed"}: true,
	} {
		f, err := filters.Parse()
		if err != nil || f.Grid(job, now) != want {
			t.Errorf("%+v: error %v, want %v", filters, err, want)
		}
	}
	list, err := selection.Parse([]string{"9", "name:mc*"})
	if err != nil || !list.Means(job) || list[:1].Means(job) || !(selection.List{}).Means(job) {
		t.Errorf("%v: %v", list, err)
	}
}

func TestFilters_ErrorsNameTheFilterAndTheRemedy(t *testing.T) {
	for filters, want := range map[selection.Filters]string{
		{State: "finished"}:              `state "finished": want new, submitting`,
		{State: "failed,"}:               `state "": want`,
		{Status: "held"}:                 `status: grid status "held": want registered`,
		{Exit: "7-3"}:                    `exit "7-3": want exit codes such as 3, or ranges such as 128-255`,
		{Exit: "-1"}:                     `exit "-1"`,
		{Age: "7"}:                       `age "7": want an age such as 7d or 36h`,
		{Age: "7d-"}:                     `age "7d-"`,
		{Age: "2d-1d"}:                   `age "2d-1d"`,
		{Host: long("x") + "xyz"}:        "",
		{Host: strings.Repeat("x", 257)}: "host: the filter is longer than 256 bytes",
	} {
		err := filters.Check()
		if want == "" && err == nil {
			continue
		}
		if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want an invalid one with %q", filters, err, want)
		}
	}
}

// MayHold returns false only for a status in which no local job can match, so that the filter overlooks no local job.
func TestFilter_MayHoldOverlooksNothing(t *testing.T) {
	for s := range jjm.NumStates {
		f, err := selection.Filters{State: jjm.State(s).String()}.Parse()
		if err != nil {
			t.Fatal(err)
		}
		for g := range jjm.NumGridStatuses {
			status, state := jjm.GridStatus(g), jjm.State(s)
			ends := state.Final() || state == jjm.New // a new local job may never be submitted
			possible := !status.Final() || state.IsCompleted() || ends && status != jjm.Done
			if got := f.MayHold(status); got != possible {
				t.Errorf("%v in %v: %v, want %v", state, status, got, possible)
			}
		}
	}
}

// everyState lists all states of local jobs.
const everyState = "new,submitting,submitted,running,completing,completed,failed,killed,held,completed_frozen," +
	"failed_frozen"

func TestPurpose_LeavesOutWhatACommandCannotChange(t *testing.T) {
	for _, c := range []struct {
		command selection.Purpose
		states  string // the states of local jobs that the command can change
		over    bool   // the command can change ended grid jobs
	}{
		{"", everyState, true},
		{selection.ToKill, "new,submitting,submitted,running,completing,held", false},
		{selection.ToRelease, "held", false}, {selection.ToResubmit, "failed,killed", true},
		{selection.ToResplit, "failed,killed", true},
		{selection.ToFreeze, "completed,failed,killed", false},
		{selection.ToUnfreeze, "completed_frozen,failed_frozen", false},
		{selection.ToRemove, everyState, true},
		{selection.ToShow, everyState, true},
	} {
		var states []string
		for s := range jjm.NumStates {
			if c.command.Local(&jjm.LocalJob{State: jjm.State(s)}) {
				states = append(states, jjm.State(s).String())
			}
		}
		got := strings.Join(states, ",")
		if got != c.states || c.command.Grid(jjm.Done) != c.over || c.command.Check() != nil {
			t.Errorf("%q: %s, over %v", c.command, got, c.command.Grid(jjm.Done))
		}
	}
	if selection.ToRemove.Grid(jjm.GridRunning) || selection.Purpose("eat").Check() == nil {
		t.Error("a running grid job is removed, or a purpose is unknown and accepted")
	}
}

// If a filter about local jobs is set, the commands that kill, show, release or resubmit select local jobs. The
// commands that list and remove select whole grid jobs whatever the filter is.
func TestPurpose_SelectsLocalJobsWhereAFilterIsOfThese(t *testing.T) {
	for purpose, want := range map[selection.Purpose][2]bool{"": {}, selection.ToKill: {false, true},
		selection.ToShow: {false, true}, selection.ToRemove: {}, selection.ToRelease: {true, true},
		selection.ToResubmit: {true, true}} {
		for i, filters := range []selection.Filters{{User: "alice"}, {User: "alice", Host: "node7*"}} {
			f, err := filters.Parse()
			if got := purpose.Locals(&f); err != nil || got != want[i] {
				t.Errorf("%q, %+v: %v, want %v; error %v", purpose, filters, got, want[i], err)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"12", "12.3-7", "12.*,13", "name:mc*", handle + ".0", "12.3,5", ",", "name:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, word string) {
		list, err := selection.Parse([]string{word})
		if err != nil {
			if jjm.KindOf(err) != jjm.Invalid {
				t.Fatalf("%q: %v", word, err)
			}
			return
		}
		again, err := selection.Parse(list.Words())
		if diff := cmp.Diff(list, again); err != nil || diff != "" {
			t.Fatalf("%q: error %v\n%s", word, err, diff)
		}
	})
}

// killRow is a row of the recorded table ganga_emulated_bulk about the kill of a grid job: the states of its local
// jobs, the result of each cancel in the batch system (ok or false), the local jobs for which a kill is attempted, and
// the error.
type killRow struct {
	Op        string
	Subjobs   []string
	Cancels   []string `json:"backendKill"`
	Attempted []bool
	Error     *string `json:"expect_error"`
}

// ToKill selects exactly the local jobs that the recorded rows attempt to kill. A row has an error if a cancel failed.
// jjm has no such error, because it stores the kill and repeats the cancel (decision R13); so the test only checks that
// a row has an error if and only if one of its attempted cancels failed.
func TestToKill_GoldenRows(t *testing.T) {
	t.Parallel()
	golden.Rows(t, "jedi/ganga_emulated_bulk", func(_ string, row killRow) string {
		if row.Op != "kill" {
			return ""
		}
		attempted, failed := []bool{}, false
		for i, word := range row.Subjobs {
			var l jjm.LocalJob
			if err := l.State.UnmarshalText([]byte(word)); err != nil {
				return err.Error()
			}
			attempted = append(attempted, selection.ToKill.Local(&l))
			failed = failed || attempted[i] && row.Cancels[i] == "false"
		}
		if diff := cmp.Diff(row.Attempted, attempted); diff != "" || failed != (row.Error != nil) {
			return fmt.Sprintf("an error: %v%s", failed, diff)
		}
		return ""
	})
}
