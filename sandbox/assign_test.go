package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

func TestAssignment_EveryPositionHasItsOwn(t *testing.T) {
	a := newArea(t)
	var as []Assignment
	for i := range 1000 {
		as = append(as, Assignment{
			Grid: 17, Local: int32(i * 3), Attempt: int32(i % 4), Argv: []string{"sim", strings.Repeat("ü\n", i%50), "<&>"},
			Env: map[string]string{"A": fmt.Sprint(i)}, Outputs: []string{"*.root"}, RetryArgs: []string{"", "x y"},
			Part: jjm.Part{Unit: jjm.UnitEvent, First: int64(i) * 250, Count: 250, Serial: int64(i) + 1},
		})
	}
	if err := a.WriteAssignment(tag, as); err != nil {
		t.Fatal(err)
	}
	for i, want := range as {
		got, err := a.ReadAssignment(tag, int32(i))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("position %d (-want +got):\n%s", i, diff)
		}
	}
	for _, pos := range []int32{-1, 1000, 1 << 30} {
		_, err := a.ReadAssignment(tag, pos)
		mustNot(t, fmt.Sprint("position ", pos), err, jjm.Invalid)
	}
	for _, dir := range []string{"claims", "done", "progress"} {
		if info, err := os.Stat(filepath.Join(a.Root(), BulkDir(tag), dir)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if list := leftovers(t, a); list != nil {
		t.Errorf("left: %v", list)
	}
}

func TestWriteAssignment_MayBeRepeated(t *testing.T) {
	a := newBulk(t, 3)
	if _, won, err := a.Claim(tag, 0, jjm.Claim{Nonce: "x"}); !won || err != nil {
		t.Fatal(err)
	}
	if err := a.WriteAssignment(tag, []Assignment{{Grid: 18}}); err != nil {
		t.Fatal(err)
	}
	if s, err := a.ReadAssignment(tag, 0); s.Grid != 18 || err != nil {
		t.Errorf("%+v %v", s, err)
	}
	if c, err := a.ReadClaim(tag, 0); c == nil || err != nil {
		t.Errorf("the claim is gone: %v", err)
	}
}

func TestWriteAssignment_RefusesOneThatIsTooLong(t *testing.T) {
	a := newArea(t)
	err := a.WriteAssignment(tag, []Assignment{{Grid: 17, Local: 3, Argv: []string{strings.Repeat("x", MaxAssignment)}}})
	mustNot(t, "too long", err, jjm.Invalid)
	if exists(filepath.Join(a.Root(), BulkDir(tag))) || err == nil || !strings.Contains(err.Error(), "17.3") {
		t.Errorf("%v", err)
	}
}

func TestReadAssignment_DamageIsAnErrorNamingTheFile(t *testing.T) {
	whole := func(t *testing.T, a *Area) string {
		b, err := os.ReadFile(filepath.Join(a.Root(), assignFile(tag)))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	damages := map[string]func(s string) string{
		"empty":          func(string) string { return "" },
		"no header":      func(s string) string { return strings.Repeat("x", 2000) },
		"header no JSON": func(s string) string { return "{\n" + s },
		"other version":  func(s string) string { return strings.Replace(s, `"v":1`, `"v":2`, 1) },
		"other bulk":     func(s string) string { return strings.Replace(s, string(tag), "jother", 1) },
		"cut in offsets": func(s string) string { return s[:60] },
		"cut in lines":   func(s string) string { return s[:len(s)-10] },
		"bad offset":     func(s string) string { return strings.Replace(s, "\n0", "\n-", 1) },
		"huge offset":    func(s string) string { return strings.Replace(s, "\n00000", "\n99999", 1) },
		"not JSON":       func(s string) string { return strings.Replace(s, `{"grid"`, `["grid"`, 1) },
		"negative count": func(s string) string { return strings.Replace(s, `"n":3`, `"n":-3`, 1) },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			a := newBulk(t, 3)
			put(t, a, assignFile(tag), damage(whole(t, a)))
			failed := false
			for pos := range int32(3) {
				if _, err := a.ReadAssignment(tag, pos); err != nil {
					failed = true
					if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "assign") {
						t.Errorf("kind %v: %v", jjm.KindOf(err), err)
					}
				}
			}
			if !failed {
				t.Error("accepted")
			}
		})
	}
	a := newArea(t)
	_, err := a.ReadAssignment(tag, 0)
	mustNot(t, "no file", err, jjm.Gone)
}

func FuzzReadAssignment(f *testing.F) {
	head, body, err := encodeAssignments(tag, []Assignment{{Grid: 1, Argv: []string{"x"}}, {Grid: 2}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(head, body...), int32(1))
	f.Add([]byte(`{"v":1,"tag":"jtest7k2m9q4abc","n":9999999}`+"\n999999999999\n"), int32(9999998))
	a := newBulk(f, 1)
	f.Fuzz(func(t *testing.T, text []byte, pos int32) {
		put(t, a, assignFile(tag), string(text))
		if _, err := a.ReadAssignment(tag, pos); err != nil && jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("kind %v: %v", jjm.KindOf(err), err)
		}
	})
}

func TestWriteAssignment_OfAThousand(t *testing.T) {
	a := newArea(t)
	as := make([]Assignment, 1000)
	for i := range as {
		as[i] = Assignment{Grid: 17, Local: int32(i), Argv: []string{"sim", "--events", "250"}}
	}
	start := time.Now()
	if err := a.WriteAssignment(tag, as); err != nil {
		t.Fatal(err)
	}
	t.Logf("1000 assignments: %v", time.Since(start))
	if got, err := a.ReadAssignment(tag, 999); err != nil || got.Local != 999 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestJob_SurvivesTheFile(t *testing.T) {
	a := newArea(t)
	want := Job{Grid: 17, Package: "abc", Files: []string{"a"}, Env: map[string]string{"A": "b\n"}, Outputs: []string{"*"},
		Result: jjm.ResultGLF, Mode: "Test", Grace: jjm.Duration(time.Second), Heartbeat: jjm.Duration(time.Minute),
		MaxOutputBytes: 7}
	for range 2 {
		if err := a.WriteJob(want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := a.ReadJob(17)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	_, err = a.ReadJob(18)
	mustNot(t, "missing", err, jjm.Gone)
	for _, bad := range []string{"", "{", `{"grid":4}`, "null\x00"} {
		put(t, a, "jobs/17/job.json", bad)
		_, err = a.ReadJob(17)
		mustNot(t, bad, err, jjm.Invalid)
	}
}
