package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

func TestDecode_ErrorsNameTheRemedy(t *testing.T) {
	submit := `{"verb":"submit","submit":{"name":"a.toml","text":"x","base_dir":"/tmp"}}`
	for _, c := range []struct{ name, line, want string }{
		{"ping", `{"verb":"ping"}`, ""},
		{"submit", submit, ""},
		{"lookup", `{"verb":"lookup","refs":["12","13"]}`, ""},
		{"list without its member", `{"verb":"list"}`, ""},
		{"blanks around", "  {\"verb\":\"ping\"}\r", ""},
		{"empty", ``, "the line is empty or ends early"},
		{"half", `{"verb":"pi`, "the line is empty or ends early"},
		{"garbage", `GET / HTTP/1.1`, "want one JSON object"},
		{"an array", `["ping"]`, "want one JSON object"},
		{"null", `null`, "verb is missing"},
		{"two objects", `{"verb":"ping"}{"verb":"ping"}`, "one object per line"},
		{"NUL", "{\"verb\":\"pi\x00ng\"}", "invalid character"},
		{"escaped NUL in a path", `{"verb":"record","refs":["1"],"path":"a\u0000b"}`, "path"},
		{"not UTF-8", "{\"verb\":\"\xff\"}", "not UTF-8"},
		{"unknown verb names the nearest", `{"verb":"sumbit"}`, `unknown verb "sumbit": did you mean "submit"?`},
		{"unknown verb names the known", `{"verb":"destroy"}`, `unknown verb "destroy": want advertise, ban`},
		{"unknown verb names the daemon", `{"verb":"destroy"}`, "the daemon is jjm test: if the client is newer"},
		{"a member of another verb", `{"verb":"kill","refs":["1"],"path":"x"}`,
			`kill: unknown member "path": want verb, v, refs, first, dry_run or stop`},
		{"a number as verb", `{"verb":7}`, "want one JSON object"},
		{"unknown member names the nearest", `{"verb":"lookup","ref":["1"]}`, `unknown member "ref": did you mean "refs"?`},
		{"member of another object", `{"verb":"list","owner":"anna"}`, `member "owner" is not in its place: want it in "list"`},
		{"unknown inner member", `{"verb":"submit","submit":{"basedir":"/"}}`, `did you mean "base_dir"?`},
		{"unknown member with nothing near", `{"verb":"ping","frobnicate":1}`,
			`ping: unknown member "frobnicate": want verb or v`},
		{"wrong type", `{"verb":"lookup","refs":"12"}`, "cannot unmarshal string"},
		{"no refs", `{"verb":"kill"}`, "at least one id"},
		{"two refs for one", `{"verb":"log","refs":["1","2"]}`, "exactly one id"},
		{"long ref", `{"verb":"kill","refs":["` + strings.Repeat("1", 65) + `"]}`, "want 12, 12.3"},
		{"too many refs", `{"verb":"kill","refs":[` + strings.Repeat(`"1",`, MaxRefs) + `"1"]}`, "at most 10000"},
		{"submit without its member", `{"verb":"submit"}`, "member submit is missing"},
		{"unknown way to roll back", `{"verb":"submit","submit":{"text":"x","base_dir":"/","rollback":"undo"}}`,
			`submit.rollback "undo": want remove or keep`},
		{"rollback for a gatekeeper", `{"verb":"submit","submit":{"text":"x","base_dir":"/","rollback":"keep","origin":{"gatekeeper":"g"}}}`,
			"submit.rollback: is not for a gatekeeper"},
		{"submitted again with a job file", `{"verb":"submit","submit":{"again":17,"text":"x","base_dir":"/"}}`,
			"submit.again: submits grid job 17 as it is"},
		{"submitted again with another number", `{"verb":"submit","submit":{"again":-1}}`,
			"submit.again -1: want the number of a grid job"},
		{"submitted again", `{"verb":"submit","submit":{"again":17}}`, ""},
		{"empty job file", `{"verb":"submit","submit":{"name":"a","base_dir":"/"}}`, "the job file is empty"},
		{"relative base", strings.Replace(submit, "/tmp", "tmp", 1), "want an absolute path"},
		{"NUL in base", strings.Replace(submit, "/tmp", `/t\u0000mp`, 1), "want an absolute path"},
		{"NUL in name", strings.Replace(submit, "a.toml", `a\u0000`, 1), "want a file name"},
		{"long key", `{"verb":"submit","submit":{"text":"x","base_dir":"/","key":"` + strings.Repeat("k", 257) + `"}}`,
			"at most 256"},
		{"negative attempt", `{"verb":"cat","refs":["1.0"],"file":"stdout","attempt":-1}`, "want the number of an attempt, from 0"},
		{"unknown file", `{"verb":"cat","refs":["1.0"],"file":"../../etc/passwd"}`, "want stdout, stderr, script or glf"},
		{"orders of a job", `{"verb":"history","refs":["1"],"orders":true}`, "not both"},
		{"history of nothing", `{"verb":"history"}`, "want 1 to 64 ids, or orders"},
		{"history of orders", `{"verb":"history","orders":true}`, ""},
		{"negative limit", `{"verb":"history","refs":["1"],"limit":-1}`, "limit"},
		{"long filter", `{"verb":"list","list":{"owner":"` + strings.Repeat("o", 300) + `"}}`, "filter"},
		{"deep nesting", strings.Repeat("[", 100_000), "JSON"},
		{"huge number", `{"verb":"history","refs":["1"],"limit":1e99}`, "cannot unmarshal number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := decode([]byte(c.line))
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
			if jjm.KindOf(err) != jjm.Invalid {
				t.Errorf("kind %v, want invalid", jjm.KindOf(err))
			}
			if len(err.Error()) > 1000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestParseRefs_RefusesLocalJobsIfGridIsSet(t *testing.T) {
	_, err := ParseRefs("lookup", []string{"12", "13.4"}, true)
	if err == nil || !strings.Contains(err.Error(), `lookup: id "13.4": want a grid job, such as 13`) {
		t.Errorf("error %v", err)
	}
	refs, err := ParseRefs("lookup", []string{"12", "13.4"}, false)
	if err != nil || len(refs) != 2 || refs[1].First != 4 {
		t.Errorf("refs %v, error %v", refs, err)
	}
	if _, err := ParseRefs("lookup", []string{"../12"}, false); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("error %v", err)
	}
}

func TestReadLine_ReadsAtMostMaxBytes(t *testing.T) {
	for _, c := range []struct {
		name, in string
		max      int
		want     string
		err      error
		text     string
	}{
		{"a line", "abc\ndef", 10, "abc", nil, ""},
		{"an empty line", "\n", 10, "", nil, ""},
		{"exactly as long as allowed", "abc\n", 3, "abc", nil, ""},
		{"a byte too long", "abcd\n", 3, "", nil, "longer than 3 bytes"},
		{"too long without an end", strings.Repeat("x", 1<<20), 5000, "", nil, "longer than 5000 bytes"},
		{"nothing", "", 10, "", io.EOF, ""},
		{"half a line", "abc", 10, "", io.ErrUnexpectedEOF, "3 bytes without its newline"},
		{"longer than the buffer", strings.Repeat("y", 9000) + "\n", 10_000, strings.Repeat("y", 9000), nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ReadLine(bufio.NewReader(strings.NewReader(c.in)), c.max, nil)
			if string(got) != c.want {
				t.Errorf("line of %d bytes, want %d", len(got), len(c.want))
			}
			if c.err != nil && !errors.Is(err, c.err) || (c.err == nil && c.text == "") != (err == nil) {
				t.Errorf("error %v", err)
			}
			if c.text != "" && !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v, want one with %q", err, c.text)
			}
		})
	}
}

func TestReadLine_StopsWhenGrowReturnsAnError(t *testing.T) {
	full := errors.New("full")
	held := 0
	src := &counting{r: strings.NewReader(strings.Repeat("z", 1<<20))}
	_, err := ReadLine(bufio.NewReader(src), 1<<20, func(n int) error {
		if held+n > 10_000 {
			return full
		}
		held += n
		return nil
	})
	if !errors.Is(err, full) || src.n > 20_000 {
		t.Errorf("error %v after %d bytes read", err, src.n)
	}
	broken := errors.New("broken")
	if _, err := ReadLine(bufio.NewReader(iotest.ErrReader(broken)), 10, nil); !errors.Is(err, broken) {
		t.Errorf("error %v, want the reader's", err)
	}
}

type counting struct {
	r io.Reader
	n int
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += n
	return n, err
}

func TestLine_RoundTripsAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := SubmitRequest{Head: Head{Verb: "submit"}, Submit: &Submit{
			Name: "a.toml", Text: rapid.StringN(1, -1, -1).Draw(t, "text"), BaseDir: "/tmp",
			DryRun: rapid.Bool().Draw(t, "dry"),
		}}
		line, err := VerbSubmit().Line(want)
		if err != nil {
			t.Fatal(err)
		}
		read, err := ReadLine(bufio.NewReader(strings.NewReader(string(line))), MaxRequest, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, got, err := decode(read)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Request(want), got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestError_KeepsItsKindAndProblemsOnTheWire(t *testing.T) {
	ps := jjm.Problems{{Where: "a:1", Field: "type", Text: "unknown"}, {Text: "no size"}}
	line, err := Line(Reply{Error: ErrorOf(fmt.Errorf("submit: %w", ps.Err()))})
	if err != nil {
		t.Fatal(err)
	}
	a, err := VerbPing().DecodeAnswer(line)
	if err != nil {
		t.Fatal(err)
	}
	back := a.Error.Err()
	var got jjm.Problems
	if jjm.KindOf(back) != jjm.Invalid || !errors.As(back, &got) {
		t.Fatalf("error %v of kind %v", back, jjm.KindOf(back))
	}
	if diff := cmp.Diff(ps, got); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		err  error
		want jjm.Kind
	}{
		{errors.New("plain"), jjm.Internal},
		{jjm.Errorf(jjm.Gone, "no such job"), jjm.Gone},
		{jjm.Problems{{Text: "bare"}}, jjm.Invalid},
	} {
		if e := ErrorOf(c.err); e.Kind != c.want || jjm.KindOf(e.Err()) != c.want {
			t.Errorf("%v: kind %v, want %v", c.err, e.Kind, c.want)
		}
	}
	if ErrorOf(nil) != nil || (*Error)(nil).Err() != nil {
		t.Error("no error became one")
	}
	if e := ErrorOf(errors.New(strings.Repeat("x", 1<<20))); len(e.Text) > maxErrorText+3 {
		t.Errorf("an error of %d bytes travels", len(e.Text))
	}
	if e := ErrorOf(make(jjm.Problems, 5000)); len(e.Problems) > maxProblems {
		t.Errorf("%d problems travel", len(e.Problems))
	}
}

func TestDecodeAnswer_RefusesOtherText(t *testing.T) {
	for _, line := range []string{``, `{}`, `[]`, `hello`, `{"ok":false}`} {
		if _, err := VerbLookup().DecodeAnswer([]byte(line)); jjm.KindOf(err) != jjm.Internal {
			t.Errorf("%q: error %v", line, err)
		}
	}
	a, err := VerbPing().DecodeAnswer([]byte(`{"ok":true,"version":"2","from_the_future":1}`))
	if err != nil || a.Version != "2" {
		t.Errorf("answer %v, error %v", a, err)
	}
}

func TestSocketAddress_ReachesLongPaths(t *testing.T) {
	short, done, err := SocketAddress("/run/jjm.sock")
	if err != nil || short != "/run/jjm.sock" {
		t.Fatalf("address %q, error %v", short, err)
	}
	done()
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 120))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "jjm.sock"), []byte("here"), 0o600); err != nil {
		t.Fatal(err)
	}
	long, done, err := SocketAddress(filepath.Join(dir, "jjm.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if b, err := os.ReadFile(long); err != nil || string(b) != "here" || len(long) > maxSocketPath {
		t.Errorf("address %q leads to %q, error %v", long, b, err)
	}
	tooLong, nowhere := filepath.Join(dir, strings.Repeat("n", 120)), filepath.Join(dir, "no/such/jjm.sock")
	for _, bad := range []string{"", "/tmp/a\x00b", tooLong, nowhere} {
		if _, _, err := SocketAddress(bad); err == nil {
			t.Errorf("%.40q was accepted", bad)
		}
	}
}

func FuzzDecodeRequest(f *testing.F) {
	for _, s := range []string{
		`{"verb":"ping"}`, `{"verb":"lookup","refs":["12"]}`, `{"verb":"cat","refs":["1.0"],"file":"glf","follow":true}`,
		`{"verb":"submit","submit":{"name":"a","text":"type = \"script\"","base_dir":"/"}}`,
		`{"verb":"list","list":{"all":true,"limit":5,"before":7}}`, `{"verb":`, "\xff", `{"Verb":"ping","verb":"kill"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		v, r, err := decode(line)
		if err != nil {
			if kind := jjm.KindOf(err); kind != jjm.Invalid && kind != jjm.Busy {
				t.Fatalf("error %v of kind %v", err, kind)
			}
			return
		}
		if s, ok := r.(SubmitRequest); ok && s.Submit == nil {
			t.Fatal("a submission of nothing")
		}
		again, err := v.line(r)
		if err != nil && len(line)*6 > v.MaxBytes {
			return // the escaped text is too long
		}
		if err != nil {
			t.Fatal(err)
		}
		_, back, err := decode(again[:len(again)-1])
		if err != nil {
			t.Fatalf("a request does not survive its own writing: %v: %s", err, again)
		}
		empty := cmp.Transformer("empty", func(s []string) []string { return append([]string{}, s...) })
		// A request of version 1 may contain its version, which line leaves out.
		form := cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Head.Version" }, cmp.Ignore())
		if diff := cmp.Diff(r, back, empty, form); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestDecode_ChecksOrders(t *testing.T) {
	for order, want := range map[string]string{
		`null`: "",
		`{"verb":"pause","kind":"user","name":"alice","reason":"x","for":"2h"}`:       "",
		`{"verb":"resume","kind":"cluster","name":"slurm"}`:                           "",
		`{"verb":"stop","kind":"user","name":"alice","reason":"x"}`:                   "want drain, pause or resume",
		`{"verb":"pause","kind":"node","name":"long","reason":"x"}`:                   "want cluster, queue, type, user or job",
		`{"verb":"pause","kind":"queue","name":"long","reason":"x"}`:                  "such as slurm/long",
		`{"verb":"drain","kind":"queue","name":"slurm/long","reason":"x"}`:            "",
		`{"verb":"pause","kind":"job","name":"17"}`:                                   "",
		`{"verb":"drain","kind":"job","name":"17","reason":"x"}`:                      "cannot be drained",
		`{"verb":"pause","kind":"user","name":"","reason":"x"}`:                       "want the name of a user",
		`{"verb":"pause","kind":"user","name":"a\nb","reason":"x"}`:                   "want the name of a user",
		`{"verb":"pause","kind":"user","name":"a","reason":" "}`:                      "reason is missing",
		`{"verb":"pause","kind":"user","name":"a","reason":"x\u001b[2J"}`:             "want one line",
		`{"verb":"pause","kind":"user","name":"a","reason":"x","for":"2h","until":5}`: "or neither",
		`{"verb":"pause","kind":"user","name":"a","reason":"x","for":"-2h"}`:          "duration",
		`{"verb":"resume","kind":"user","name":"a","for":"2h"}`:                       "leave out for and until",
		`{"verb":"pause","kind":"user","name":"a","reason":"x","untill":5}`:           `did you mean "until"`,

		`{"verb":"drain","kind":"cluster","name":"slurm","reason":"x","from":5,"until":9}`:            "",
		`{"verb":"drain","kind":"queue","name":"slurm/long","reason":"x","from":5,"for":"2h"}`:        "",
		`{"verb":"drain","kind":"cluster","name":"slurm","from":5,"until":9}`:                         "reason is missing",
		`{"verb":"drain","kind":"cluster","name":"slurm","reason":"x","from":5}`:                      "needs an end",
		`{"verb":"drain","kind":"cluster","name":"slurm","reason":"x","from":9,"until":9}`:            "would end (",
		`{"verb":"drain","kind":"cluster","name":"slurm","reason":"x","from":-9,"until":9}`:           "want a time",
		`{"verb":"drain","kind":"user","name":"alice","reason":"x","from":5,"until":9}`:               "not a user",
		`{"verb":"pause","kind":"cluster","name":"slurm","reason":"x","from":5,"until":9}`:            "a pause holds at once",
		`{"verb":"resume","kind":"cluster","name":"slurm","from":5}`:                                  "a resume holds at once",
		`{"verb":"maintenance","kind":"cluster","name":"slurm","reason":"x","from":5,"until":9}`:      "want drain, pause or resume",
		`{"verb":"drain","kind":"cluster","name":"slurm","reason":"x","from":5,"until":9,"for":"1h"}`: "or neither",
	} {
		_, _, err := decode([]byte(`{"verb":"order","order":` + order + `}`))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", order, err, want)
		}
	}
}

func TestDecode_ChecksBans(t *testing.T) {
	long := strings.Repeat("x", 3000)
	for text, want := range map[string]string{
		`{"verb":"exclude"}`: "",
		`{"verb":"exclude","exclude":{"hosts":["a","b.c"],"reason":"x","for":"2h"}}`:     "",
		`{"verb":"exclude","exclude":{"hosts":["a"],"include":true}}`:                    "",
		`{"verb":"exclude","exclude":{"hosts":[],"reason":"x"}}`:                         "0 names: want 1 to 100",
		`{"verb":"exclude","exclude":{"hosts":["a,b"],"reason":"x"}}`:                    `exclude.hosts[0] "a,b": want the name`,
		`{"verb":"exclude","exclude":{"hosts":["a","-b"],"reason":"x"}}`:                 `exclude.hosts[1] "-b": want the name`,
		`{"verb":"exclude","exclude":{"hosts":["a","a"],"reason":"x"}}`:                  "named twice",
		`{"verb":"exclude","exclude":{"hosts":["a"],"reason":"x\u001b[2J"}}`:             "want one line",
		`{"verb":"exclude","exclude":{"hosts":["a"],"include":true,"for":"2h"}}`:         "leave out for and until",
		`{"verb":"exclude","exclude":{"hosts":["a"],"reason":"x","for":"2h","until":5}}`: "want for, until, or neither",
		`{"verb":"exclude","exclude":{"hosts":["a"],"reason":"x","cluster":"a\nb"}}`:     "exclude.cluster",
		`{"verb":"ban"}`: "",
		`{"verb":"ban","ban":{"name":"mallory","reason":"x"}}`:                   "",
		`{"verb":"ban","ban":{"name":"/CN=Mallory","lift":true}}`:                "",
		`{"verb":"ban","ban":{"name":"mallory"}}`:                                "reason is missing",
		`{"verb":"ban","ban":{"name":"mallory","reason":" "}}`:                   "reason is missing",
		`{"verb":"ban","ban":{"name":" ","reason":"x"}}`:                         "want the name of an account",
		`{"verb":"ban","ban":{"name":"a\nb","reason":"x"}}`:                      "want the name of an account",
		`{"verb":"ban","ban":{"name":"` + long + `","reason":"x"}}`:              "want the name of an account",
		`{"verb":"ban","ban":{"name":"mallory","reason":"x\u001b[2J"}}`:          "want one line",
		`{"verb":"ban","ban":{"name":"mallory","reason":"` + long[:1001] + `"}}`: "want one line",
		`{"verb":"ban","ban":{"name":"mallory","reasons":"x"}}`:                  `did you mean "reason"`,
	} {
		_, _, err := decode([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.100s: %v, want %q", text, err, want)
		}
	}
}
