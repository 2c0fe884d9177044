package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

// madeFile writes a file of local job 16.n and returns its description.
func madeFile(t *testing.T, a *Area, n int32, text string) Given {
	t.Helper()
	path := AttemptDir(jjm.AttemptID{LocalID: jjm.LocalID{Grid: 16, N: n}}) + "/work/out"
	file := filepath.Join(a.Root(), path)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Given{Link: "out." + text, Path: path, Size: int64(len(text))}
}

// Files that local jobs made are transferred to an area that cannot see the first area, and get the same paths there.
// The files of each position are transferred separately. A missing file is left out.
func TestGiven_TravelsByPosition(t *testing.T) {
	a, b := newArea(t), newArea(t)
	if folder, err := a.GivenFolder(tag); folder != "" || err != nil {
		t.Fatalf("%q, error %v, of a bulk that is given nothing", folder, err)
	}
	gone := Given{Link: "gone", Path: "jobs/16/0xxx/9/attempt.0/work/out", Size: 1}
	as := []Assignment{{Given: []Given{madeFile(t, a, 0, "x"), gone, madeFile(t, a, 1, "yy")}}, {}}
	for range 2 { // the second call is as after a crash
		if err := a.LinkGiven(tag, as); err != nil {
			t.Fatal(err)
		}
	}
	folder, err := a.GivenFolder(tag)
	if err != nil {
		t.Fatal(err)
	}
	var sent []string
	for _, pos := range []string{"0", "1"} {
		entries, err := os.ReadDir(filepath.Join(folder, pos))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			sent = append(sent, pos+"/"+e.Name())
		}
	}
	if diff := cmp.Diff([]string{"0/0", "0/2"}, sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	brought := filepath.Join(t.TempDir(), "0")
	if err := os.CopyFS(brought, os.DirFS(filepath.Join(folder, "0"))); err != nil {
		t.Fatal(err)
	}
	if err := b.PutGiven(brought, &as[0]); err != nil {
		t.Fatal(err)
	}
	for i, want := range []jjm.FileState{jjm.FileReady, jjm.FileLost, jjm.FileReady} {
		g := as[0].Given[i]
		if is, why, err := b.CheckMade(g.Path, g.Size); is != want || err != nil || (why == "") != (want == jjm.FileReady) {
			t.Errorf("%s: %v, %q, error %v, want %v", g.Link, is, why, err, want)
		}
	}
	mustNot(t, "PutGiven", b.PutGiven(brought, &Assignment{Given: []Given{{Path: "../x"}}}), jjm.Invalid)
	mustNot(t, "LinkGiven", a.LinkGiven("../x", as), jjm.Invalid)
}

// MoveIn changes the paths of given files in a command, and leaves all other words unchanged.
func TestMoveIn_ChangesThePathsAlone(t *testing.T) {
	s := Assignment{In: "/w/in", Argv: []string{"run", "/w/in/a", "x=/w/in/b,/w/in/c", "/w/inside", "/w/in"},
		Env: map[string]string{"F": "/w/in/a", "G": "g"}, Analyse: []string{"/w/in/a"},
		Part: jjm.Part{Streams: map[string][]string{"S": {"/w/in/a", "lfn"}},
			Input: &jjm.PartInput{Files: []string{"/w/in/a", "lfn"}, More: &jjm.PartMore{Parents: []string{"/w/in/p"},
				Secondary: []jjm.StreamFiles{{Dataset: "d", Files: []string{"/w/in/s"}}}}}}}
	s.MoveIn("/here")
	want := Assignment{In: "/here", Argv: []string{"run", "/here/a", "x=/here/b,/here/c", "/w/inside", "/w/in"},
		Env: map[string]string{"F": "/here/a", "G": "g"}, Analyse: []string{"/here/a"},
		Part: jjm.Part{Streams: map[string][]string{"S": {"/here/a", "lfn"}},
			Input: &jjm.PartInput{Files: []string{"/here/a", "lfn"}, More: &jjm.PartMore{Parents: []string{"/here/p"},
				Secondary: []jjm.StreamFiles{{Dataset: "d", Files: []string{"/here/s"}}}}}}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	none := Assignment{Argv: []string{"/in/a"}}
	none.MoveIn("/here")
	if diff := cmp.Diff(Assignment{Argv: []string{"/in/a"}}, none); diff != "" {
		t.Errorf("one that is given nothing (-want +got):\n%s", diff)
	}
}
