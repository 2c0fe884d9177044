package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

// from opens inputs of the given contents.
func from(contents map[string]string) func(string) (io.ReadCloser, error) {
	return func(path string) (io.ReadCloser, error) {
		c, ok := contents[path]
		if !ok {
			return nil, &os.PathError{Op: "open", Path: path, Err: os.ErrNotExist}
		}
		return io.NopCloser(strings.NewReader(c)), nil
	}
}

const helloSHA = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // sha256("hello")

func TestPack_IsAddressedByContent(t *testing.T) {
	a := newArea(t)
	open := from(map[string]string{"/in/run.sh": "#!/bin/sh\n", "data/b": "hello", "other/b": "hello"})
	inputs := []jjm.Input{{Path: "/in/run.sh", Executable: true}, {Path: "data/b", SHA256: strings.ToUpper(helloSHA)}}
	pkg, files, err := a.Pack(t.Context(), inputs, open)
	if err != nil || len(pkg) != 64 {
		t.Fatal(pkg, err)
	}
	if diff := cmp.Diff([]string{"run.sh", "b"}, files); diff != "" {
		t.Error(diff)
	}
	for name, mode := range map[string]os.FileMode{"run.sh": 0o700, "b": 0o600, "": 0o700} {
		info, err := os.Stat(filepath.Join(a.Root(), "packages", pkg, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%q: %v %v", name, info, err)
		}
	}
	same := []jjm.Input{{Path: "other/b"}, {Path: "/in/run.sh", Executable: true}}
	if again, _, err := a.Pack(t.Context(), same, open); again != pkg || err != nil {
		t.Errorf("the same content elsewhere, in another order: %s, want %s, %v", again, pkg, err)
	}
	for what, in := range map[string][]jjm.Input{
		"mode": {{Path: "data/b"}, {Path: "/in/run.sh"}},
		"name": {{Path: "data/b", Name: "c"}, {Path: "/in/run.sh", Executable: true}},
		"less": {{Path: "data/b"}},
	} {
		if other, _, err := a.Pack(t.Context(), in, open); other == pkg || err != nil {
			t.Errorf("other %s: same package, %v", what, err)
		}
	}
	if list := leftovers(t, a); list != nil {
		t.Errorf("left: %v", list)
	}
}

func TestPack_WithoutInputsThereIsNoPackage(t *testing.T) {
	a := newArea(t)
	if pkg, files, err := a.Pack(t.Context(), nil, nil); pkg != "" || files != nil || err != nil {
		t.Errorf("%q %v %v", pkg, files, err)
	}
}

// endless is an input without an end. Each Read calls the function after.
type endless struct{ after func() }

func (e endless) Read(b []byte) (int, error) { e.after(); return len(b), nil }
func (endless) Close() error                 { return nil }

func TestPack_AnErrorLeavesNothing(t *testing.T) {
	broken := errors.New("read error")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tests := []struct {
		name string
		ctx  context.Context
		in   []jjm.Input
		kind jjm.Kind
		says string
	}{
		{"missing", t.Context(), []jjm.Input{{Path: "hello"}, {Path: "gone"}}, jjm.Gone, "gone"},
		{"checksum", t.Context(), []jjm.Input{{Path: "hello", SHA256: strings.Repeat("0", 64)}}, jjm.Invalid, helloSHA},
		{"read error", t.Context(), []jjm.Input{{Path: "hello"}, {Path: "broken"}}, jjm.Unclassified, "broken"},
		{"cancelled", ctx, []jjm.Input{{Path: "endless"}}, jjm.Unclassified, "canceled"},
		{"two of a name", t.Context(), []jjm.Input{{Path: "a/x"}, {Path: "b/x"}}, jjm.Invalid, "inputs[1].name"},
		{"empty name", t.Context(), []jjm.Input{{Path: ""}, {Path: "/"}, {Path: ".."}}, jjm.Invalid, "3 problems"},
		{"climbs", t.Context(), []jjm.Input{{Path: "hello", Name: "../x"}}, jjm.Invalid, "plain file name"},
		{"folder", t.Context(), []jjm.Input{{Path: "hello", Name: "a/x"}}, jjm.Invalid, "plain file name"},
		{"NUL", t.Context(), []jjm.Input{{Path: "hello", Name: "a\x00"}}, jjm.Invalid, "control"},
		{"newline", t.Context(), []jjm.Input{{Path: "hello", Name: "a\n"}}, jjm.Invalid, "control"},
		{"long", t.Context(), []jjm.Input{{Path: "hello", Name: strings.Repeat("x", 256)}}, jjm.Invalid, "255"},
		{"reserved", t.Context(), []jjm.Input{{Path: "hello", Name: tmpPrefix + "x"}}, jjm.Invalid, "reserved"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newArea(t)
			open := func(path string) (io.ReadCloser, error) {
				switch path {
				case "hello":
					return io.NopCloser(strings.NewReader("hello")), nil
				case "broken":
					return io.NopCloser(io.MultiReader(strings.NewReader("x"), failing{broken})), nil
				case "endless":
					return endless{cancel}, nil
				}
				return nil, &os.PathError{Op: "open", Path: path, Err: os.ErrNotExist}
			}
			_, _, err := a.Pack(tt.ctx, tt.in, open)
			mustNot(t, tt.name, err, tt.kind)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v does not say %q", err, tt.says)
			}
			if names, _ := os.ReadDir(filepath.Join(a.Root(), "packages")); len(names) != 0 {
				t.Errorf("left: %v", names)
			}
		})
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestPack_ManyAtOnceAgree(t *testing.T) {
	a := newArea(t)
	open := from(map[string]string{"x": "hello"})
	var all sync.WaitGroup
	pkgs := make([]string, 10)
	for i := range pkgs {
		all.Go(func() {
			var err error
			if pkgs[i], _, err = a.Pack(t.Context(), []jjm.Input{{Path: "x"}}, open); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, p := range pkgs {
		if p != pkgs[0] {
			t.Errorf("packages %v", pkgs)
		}
	}
	if names, _ := os.ReadDir(filepath.Join(a.Root(), "packages")); len(names) != 1 {
		t.Errorf("folders: %v", names)
	}
}

func TestInstallWrapper_IsIdempotentAndKeepsOldVersions(t *testing.T) {
	a := newArea(t)
	binary := filepath.Join(t.TempDir(), "w")
	var dirs []string
	for _, content := range []string{"one", "two", "one"} {
		if err := os.WriteFile(binary, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		dir, err := a.InstallWrapper(binary)
		if err != nil || !strings.HasPrefix(dir, a.Root()+"/bin/") || len(filepath.Base(dir)) != 12 {
			t.Fatal(dir, err)
		}
		for _, name := range []string{WrapperName, LogHelper, ProgressHelper} {
			if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != content || err != nil {
				t.Errorf("%s: %q %v", name, got, err)
			}
		}
		if info, err := os.Lstat(filepath.Join(dir, WrapperName)); err != nil || info.Mode() != 0o700 {
			t.Errorf("mode %v %v", info.Mode(), err)
		}
		dirs = append(dirs, dir)
	}
	if dirs[0] != dirs[2] || dirs[0] == dirs[1] {
		t.Errorf("folders %v", dirs)
	}
	if list := leftovers(t, a); list != nil {
		t.Errorf("left: %v", list)
	}
}

func TestInstallWrapper_RefusesAnIncompleteFolder(t *testing.T) {
	a := newArea(t)
	binary := filepath.Join(t.TempDir(), "w")
	if err := os.WriteFile(binary, []byte("one"), 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := a.InstallWrapper(binary)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, WrapperName), 1); err != nil {
		t.Fatal(err)
	}
	_, err = a.InstallWrapper(binary)
	mustNot(t, "damaged", err, jjm.Conflict)
	_, err = a.InstallWrapper(binary + ".gone")
	mustNot(t, "missing", err, jjm.Gone)
}

func TestFull_ErrorsNameTheFileAndLeaveNothing(t *testing.T) {
	disks := map[string]func(t *testing.T, a *Area){"disk": nil, "file size limit": limitFileSize}
	big := strings.Repeat("x", 1<<20)
	acts := map[string]struct {
		act  func(t *testing.T, a *Area) error
		says string
	}{
		"WriteJob": {func(_ *testing.T, a *Area) error { return a.WriteJob(Job{Grid: 17, Mode: big}) }, "jobs/17/job.json"},
		"WriteAssignment": {func(_ *testing.T, a *Area) error {
			return a.WriteAssignment(tag, []Assignment{{Argv: []string{big}}})
		}, "bulks/" + string(tag) + "/assign"},
		"PutResult": {func(_ *testing.T, a *Area) error {
			r := resultAt(0)
			r.GLF = big[:900<<10]
			return a.PutResult(r)
		}, "done/0.json"},
		"Pack": {func(t *testing.T, a *Area) error {
			_, _, err := a.Pack(t.Context(), []jjm.Input{{Path: "x"}}, from(map[string]string{"x": big}))
			return err
		}, `"x"`},
		"Claim": {func(_ *testing.T, a *Area) error {
			_, _, err := a.Claim(tag, 0, jjm.Claim{Nonce: "x", Batch: big})
			return err
		}, "claims/0"},
		"WriteTar": {func(t *testing.T, a *Area) error {
			_, err := a.WriteTar(t.Context(), "jobs/17/output/x.tar", "x",
				entriesOf(TarEntry{Name: "a", Content: []byte(big + big)}), 0)
			return err
		}, "jobs/17/output/x.tar"},
	}
	for disk, limit := range disks {
		for name, tt := range acts {
			t.Run(disk+"/"+name, func(t *testing.T) {
				a := newArea(t)
				if limit == nil {
					a = smallArea(t)
				}
				put(t, a, "jobs/17/output/x.tar", "old")
				for _, d := range []string{"claims", "done", "progress"} {
					if err := os.MkdirAll(filepath.Join(a.Root(), BulkDir(tag), d), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				if limit != nil {
					limit(t, a)
				}
				err := tt.act(t, a)
				mustNot(t, name, err, jjm.Busy)
				if err == nil || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("error %v does not name %s", err, tt.says)
				}
				if list := leftovers(t, a); list != nil {
					t.Errorf("left: %v", list)
				}
				if b, err := os.ReadFile(filepath.Join(a.Root(), "jobs/17/output/x.tar")); string(b) != "old" || err != nil {
					t.Errorf("the old tar: %.20q %v", b, err)
				}
				for _, file := range []string{"jobs/17/job.json", assignFile(tag), "bulks/" + string(tag) + "/done/0.json",
					"bulks/" + string(tag) + "/claims/0"} {
					if exists(filepath.Join(a.Root(), file)) {
						t.Errorf("%s exists", file)
					}
				}
				if c, err := a.ReadClaim(tag, 0); c != nil || err != nil {
					t.Errorf("claim %v %v", c, err)
				}
			})
		}
	}
}

func TestFull_APartialPackageDoesNotGetTheName(t *testing.T) {
	a := newArea(t)
	limitFileSize(t, a)
	in := []jjm.Input{{Path: "x"}}
	_, _, err := a.Pack(t.Context(), in, from(map[string]string{"x": strings.Repeat("x", 1<<20)}))
	mustNot(t, "too big", err, jjm.Busy)
	if names, _ := os.ReadDir(filepath.Join(a.Root(), "packages")); len(names) != 0 {
		t.Errorf("left: %v", names)
	}
	if pkg, _, err := a.Pack(t.Context(), in, from(map[string]string{"x": "small"})); err != nil {
		t.Errorf("%s %v", fmt.Sprint(pkg), err)
	}
}
