package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

const tag = jjm.Tag("jtest7k2m9q4abc")

var first = jjm.AttemptID{LocalID: jjm.LocalID{Grid: 17, N: 3117}}

// newArea makes an empty area.
func newArea(t testing.TB) *Area {
	t.Helper()
	a, err := OpenArea(filepath.Join(t.TempDir(), "alice"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// newBulk makes an area with a bulk of n positions.
func newBulk(t testing.TB, n int) *Area {
	t.Helper()
	a := newArea(t)
	as := make([]Assignment, n)
	for i := range as {
		as[i] = Assignment{Grid: 17, Local: int32(i), Argv: []string{"/bin/true"}}
	}
	if err := a.WriteAssignment(tag, as); err != nil {
		t.Fatal(err)
	}
	return a
}

// put writes a file below the area without the area's methods.
func put(t testing.TB, a *Area, name, content string) {
	t.Helper()
	file := filepath.Join(a.Root(), name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// leftovers lists temporary names anywhere in the area.
func leftovers(t testing.TB, a *Area) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(a.Root(), func(p string, d fs.DirEntry, err error) error {
		if err == nil && isTmp(d.Name()) {
			list = append(list, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func mustNot(t *testing.T, what string, err error, kind jjm.Kind) {
	t.Helper()
	if err == nil || kind != jjm.Unclassified && jjm.KindOf(err) != kind {
		t.Errorf("%s: got error %v of kind %v, want kind %v", what, err, jjm.KindOf(err), kind)
	}
}

func TestOpenArea_MakesTheRootForItsOwnerOnly(t *testing.T) {
	a := newArea(t)
	info, err := os.Stat(a.Root())
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	again, err := OpenArea(a.Root() + "/")
	if err != nil || again.Root() != a.Root() {
		t.Errorf("root %q, %v", again.Root(), err)
	}
	again.Close()
}

// The folder of all areas may be missing because its file system is not mounted. OpenArea must not make the folder,
// because this would hide the missing file system.
func TestOpenArea_MakesNothingInThePlaceOfAFolderThatIsGone(t *testing.T) {
	work := filepath.Join(t.TempDir(), "work")
	_, err := OpenArea(filepath.Join(work, "alice"))
	mustNot(t, "below a folder that is gone", err, jjm.Unclassified)
	if _, err := os.Lstat(work); !os.IsNotExist(err) {
		t.Errorf("it was made: %v", err)
	}
}

// MakeAttempt makes the folder of an attempt in the area that was opened, even if the path of the area has been moved
// or leads to another folder by then.
func TestMakeAttempt_MakesNothingInThePlaceOfAnAreaThatIsGone(t *testing.T) {
	a := newArea(t)
	moved := a.Root() + ".away"
	if err := os.Rename(a.Root(), moved); err != nil {
		t.Fatal(err)
	}
	if err := a.MakeAttempt(first); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(a.Root()); !os.IsNotExist(err) {
		t.Errorf("it was made: %v", err)
	}
	if _, err := os.Stat(filepath.Join(moved, AttemptDir(first))); err != nil {
		t.Error(err)
	}
}

func TestOpenArea_WantsAnAbsoluteFolder(t *testing.T) {
	_, err := OpenArea("work/alice")
	mustNot(t, "relative", err, jjm.Invalid)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = OpenArea(file)
	mustNot(t, "a file", err, jjm.Unclassified)
}

func TestPaths_AreThoseOfTheLayout(t *testing.T) {
	if got, want := AttemptDir(first), "jobs/17/3xxx/3117/attempt.0"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	id := jjm.AttemptID{LocalID: jjm.LocalID{Grid: 1}, Attempt: 12}
	if got, want := AttemptDir(id), "jobs/1/0xxx/0/attempt.12"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := BulkDir(tag), "bulks/jtest7k2m9q4abc"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOutputPath_NeverLeavesTheAttempt(t *testing.T) {
	for _, name := range []string{"", ".", "..", "../x", "a/../../x", "/etc/passwd", "a//b", "a/./b", "a/"} {
		_, err := OutputPath(first, name)
		mustNot(t, name, err, jjm.Invalid)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[./a]{0,12}`)).Draw(t, "name")
		p, err := OutputPath(first, name)
		if err == nil && (!strings.HasPrefix(p, AttemptDir(first)+"/") || filepath.Clean(p) != p) {
			t.Fatalf("%q gave %q", name, p)
		}
	})
}

// everyMethod calls each method that takes a tag or an id.
func everyMethod(a *Area, tag jjm.Tag) map[string]error {
	errs := map[string]error{}
	_, errs["ReadAssignment"] = a.ReadAssignment(tag, 0)
	_, _, errs["Claim"] = a.Claim(tag, 0, jjm.Claim{Nonce: "x"})
	errs["PutResult"] = a.PutResult(jjm.Result{Version: 1, Tag: tag})
	_, _, errs["Results"] = resultsOf(a, tag, nil)
	_, errs["DoneChanged"] = a.DoneChanged(tag)
	errs["PutProgress"] = a.PutProgress(tag, 0, jjm.Progress{Phase: "x"}, 1000)
	_, errs["ReadResult"] = a.ReadResult(tag, 0)
	_, _, errs["Progress"] = a.Progress(context.Background(), tag, Look{N: 10}, time.Time{})
	errs["WriteAssignment"] = a.WriteAssignment(tag, nil)
	return errs
}

func TestTags_InvalidOnesAreRefusedEverywhere(t *testing.T) {
	a := newBulk(t, 1)
	for _, bad := range []jjm.Tag{"", "..", "../../x", "j/../x", "J1", "j\x00", jjm.Tag(strings.Repeat("j", 16))} {
		for what, err := range everyMethod(a, bad) {
			mustNot(t, what, err, jjm.Invalid)
		}
		_, err := a.ReadClaim(bad, 0)
		mustNot(t, "ReadClaim", err, jjm.Invalid)
		mustNot(t, "RemoveBulk", a.RemoveBulk(context.Background(), bad), jjm.Invalid)
	}
}

func TestArea_LinksThatLeadOutAreRefused(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "job.glf")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{
		"absolute": outside,
		"climbing": "../../../../../../../../../../../../../../.." + outside,
	}
	for name, target := range links {
		t.Run(name, func(t *testing.T) {
			a := newArea(t)
			for _, dir := range []string{"bulks", "jobs"} {
				if err := os.Symlink(target, filepath.Join(a.Root(), dir)); err != nil {
					t.Fatal(err)
				}
			}
			for what, err := range everyMethod(a, tag) {
				mustNot(t, what, err, jjm.Unclassified)
			}
			mustNot(t, "WriteJob", a.WriteJob(Job{Grid: 17}), jjm.Unclassified)
			_, err := a.ReadJob(17)
			mustNot(t, "ReadJob", err, jjm.Unclassified)
			_, err = a.OpenJobFile(first, Stdout)
			mustNot(t, "OpenJobFile", err, jjm.Unclassified)
			if err := a.RemoveGrid(context.Background(), 17); err == nil && !exists(secret) {
				t.Error("RemoveGrid removed a file outside")
			}
			entries, err := os.ReadDir(outside)
			if err != nil || len(entries) != 1 {
				t.Errorf("written outside: %v, %v", entries, err)
			}
		})
	}
}

func TestRemoveGrid_RemovesLinksNotTheirTargets(t *testing.T) {
	a := newArea(t)
	keep := filepath.Join(t.TempDir(), "keep")
	if err := os.WriteFile(keep, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, a, AttemptDir(first)+"/stdout", "x")
	if err := os.Symlink(filepath.Dir(keep), filepath.Join(a.Root(), AttemptDir(first), "link")); err != nil {
		t.Fatal(err)
	}
	err := a.RemoveGrid(context.Background(), 17)
	if err != nil || exists(filepath.Join(a.Root(), "jobs/17")) || !exists(keep) {
		t.Errorf("%v", err)
	}
	if err := errors.Join(a.RemoveGrid(context.Background(), 17), a.RemoveBulk(context.Background(), tag)); err != nil {
		t.Errorf("removing what is not there: %v", err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestOpenRegular_RefusesDevicesAndDoesNotWaitForFIFOs(t *testing.T) {
	a := newArea(t)
	dir := AttemptDir(first)
	put(t, a, dir+"/stdout", "x")
	if err := syscall.Mkfifo(filepath.Join(a.Root(), dir, "stderr"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(a.Root(), dir, GLFName), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := a.OpenJobFile(first, Stderr)
	mustNot(t, "a FIFO", err, jjm.Unclassified)
	_, _, err = a.ReadGLF(first)
	mustNot(t, "a folder", err, jjm.Unclassified)
	_, err = a.OpenJobFile(first, "../stdout")
	mustNot(t, "another word", err, jjm.Invalid)
	f, err := a.OpenJobFile(first, Stdout)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestKindOf_ClassifiesErrorsOfFileSystems(t *testing.T) {
	tests := map[error]jjm.Kind{
		syscall.ENOSPC: jjm.Busy, syscall.EDQUOT: jjm.Busy, syscall.EFBIG: jjm.Busy, syscall.ESTALE: jjm.Busy,
		syscall.EIO:    jjm.Busy,
		syscall.ENOENT: jjm.Gone, syscall.EACCES: jjm.Denied, syscall.EINVAL: jjm.Unclassified,
		jjm.Errorf(jjm.Conflict, "x"): jjm.Conflict,
	}
	for err, want := range tests {
		if got := jjm.KindOf(wrap(&fs.PathError{Op: "write", Path: "x", Err: err}, "write")); got != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
	if wrap(nil, "x") != nil {
		t.Error("nil became an error")
	}
}
