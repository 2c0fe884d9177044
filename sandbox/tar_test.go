package sandbox

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

const tarDest = "jobs/17/output/out.tar"

func entriesOf(entries ...TarEntry) iter.Seq2[TarEntry, error] {
	return func(yield func(TarEntry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// untar reads a finished tar and checks that it agrees with its TarInfo. It returns the content of the files, their
// order, and the manifest.
func untar(t testing.TB, a *Area, info TarInfo) (files map[string]string, order []string, manifest []manifestLine) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(a.Root(), info.Path))
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(b)) != info.Bytes || sha(string(b)) != info.SHA256 {
		t.Errorf("tar of %d bytes, sha256 %s; told %+v", len(b), sha(string(b)), info)
	}
	files = map[string]string{}
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := files[h.Name]; twice || h.Uid != 0 || h.Gid != 0 || h.Mode != 0o644 || h.Typeflag != tar.TypeReg {
			t.Errorf("header %+v", h)
		}
		files[h.Name], order = string(content), append(order, h.Name)
	}
	last := order[len(order)-1]
	if err := json.Unmarshal([]byte(files[last]), &manifest); err != nil {
		t.Fatalf("%s: %v\n%s", last, err, files[last])
	}
	present := 0
	for _, m := range manifest {
		content, ok := files[m.Path]
		switch {
		case m.Absent != "" && ok && m.SHA256 != sha(content):
		case m.Absent == "" && (!ok || m.Size != int64(len(content)) || m.SHA256 != sha(content)):
			t.Errorf("manifest line %+v does not describe its file (present: %t)", m, ok)
		case m.Absent == "":
			present++
		}
	}
	if present != info.Files || len(manifest)-present != info.Absent || len(order) != present+1 {
		t.Errorf("%d files, %d lines, %+v", len(order), len(manifest), info)
	}
	return files, order, manifest
}

// absent returns the reasons for absence in a manifest, by path.
func absent(manifest []manifestLine) map[string]string {
	m := map[string]string{}
	for _, l := range manifest {
		if l.Absent != "" {
			m[l.Path] = l.Absent
		}
	}
	return m
}

func TestWriteTar_HoldsFilesInOrderAndAManifestAtLast(t *testing.T) {
	a := newArea(t)
	dir := AttemptDir(first) + "/"
	put(t, a, dir+"stdout", "out")
	put(t, a, dir+"work/a.root", strings.Repeat("data", 100_000))
	put(t, a, dir+"work/empty", "")
	info, err := a.WriteTar(t.Context(), tarDest, "mc-17", entriesOf(
		TarEntry{Name: "mc.17.3117.stdout", Path: dir + "stdout"},
		TarEntry{Name: "jjm.log", Content: []byte("log\n")},
		TarEntry{Name: "mc.17.3117.a.root", Path: dir + "work/a.root", SHA256: sha(strings.Repeat("data", 100_000)),
			Bytes: 400_000},
		TarEntry{Name: "mc.17.3118.stdout", Absent: "never started"},
		TarEntry{Name: "mc.17.3117.empty", Path: dir + "work/empty"},
		TarEntry{Name: "none", Content: nil},
	), 0)
	if err != nil {
		t.Fatal(err)
	}
	files, order, manifest := untar(t, a, info)
	want := []string{"mc-17/mc.17.3117.stdout", "mc-17/jjm.log", "mc-17/mc.17.3117.a.root", "mc-17/mc.17.3117.empty",
		"mc-17/none", "mc-17/manifest.json"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if files[want[0]] != "out" || len(files[want[2]]) != 400_000 || info.Path != tarDest {
		t.Errorf("contents differ")
	}
	if diff := cmp.Diff(map[string]string{"mc-17/mc.17.3118.stdout": "never started"}, absent(manifest)); diff != "" {
		t.Errorf("absent (-want +got):\n%s", diff)
	}
}

func TestWriteTar_IsDeterministic(t *testing.T) {
	a := newArea(t)
	put(t, a, "jobs/x", "x")
	when := time.Date(2008, 3, 13, 12, 0, 0, 123456789, time.UTC)
	if err := os.Chtimes(filepath.Join(a.Root(), "jobs/x"), when, when); err != nil {
		t.Fatal(err)
	}
	var sums []string
	for range 2 {
		info, err := a.WriteTar(t.Context(), tarDest, "p",
			entriesOf(TarEntry{Name: "x", Path: "jobs/x"}, TarEntry{Name: "log", Content: []byte("l")}), 0)
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, info.SHA256)
	}
	if sums[0] != sums[1] {
		t.Error("two tars of the same files differ")
	}
	b, err := os.ReadFile(filepath.Join(a.Root(), tarDest))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(bytes.NewReader(b))
	for range 3 {
		if h, err := r.Next(); err != nil || !h.ModTime.Equal(when.Truncate(time.Second)) || h.Format != tar.FormatUSTAR {
			t.Errorf("header %+v %v", h, err)
		}
	}
}

func TestWriteTar_WhatCannotBeReadIsAbsentWithItsReason(t *testing.T) {
	a := newArea(t)
	put(t, a, "jobs/good", "good")
	put(t, a, "jobs/wrong", "wrong")
	at := func(name string) string { return filepath.Join(a.Root(), "jobs", name) }
	if err := errors.Join(syscall.Mkfifo(at("fifo"), 0o600), os.Mkdir(at("folder"), 0o700),
		os.Symlink("/etc/passwd", at("out")), os.Symlink("../../../../../../../../etc/passwd", at("climb")),
		os.Symlink("good", at("in"))); err != nil {
		t.Fatal(err)
	}
	lost := 0
	info, err := a.WriteTar(t.Context(), tarDest, "p", entriesOf(
		TarEntry{Name: "good", Path: "jobs/good", SHA256: sha("good"), Bytes: 4},
		TarEntry{Name: "missing", Path: "jobs/missing", SHA256: sha("x"), Bytes: 1, Lost: func() { lost++ }},
		TarEntry{Name: "fifo", Path: "jobs/fifo", Lost: func() { lost += 100 }},
		TarEntry{Name: "folder", Path: "jobs/folder"},
		TarEntry{Name: "out", Path: "jobs/out"},
		TarEntry{Name: "climb", Path: "jobs/climb"},
		TarEntry{Name: "in", Path: "jobs/in"},
		TarEntry{Name: "up", Path: "../x"},
		TarEntry{Name: "size", Path: "jobs/wrong", SHA256: sha("wrong"), Bytes: 6, Lost: func() { lost++ }},
		TarEntry{Name: "sum", Path: "jobs/wrong", SHA256: sha("right"), Bytes: 5, Lost: func() { lost++ }},
		TarEntry{Name: "content", Content: []byte("x"), SHA256: sha("y")},
		TarEntry{Name: "../evil", Path: "jobs/good"},
		TarEntry{Name: "/evil", Path: "jobs/good"},
		TarEntry{Name: "", Path: "jobs/good"},
		TarEntry{Name: "a\x00b", Path: "jobs/good"},
		TarEntry{Name: "a\nb", Content: []byte("x")},
		TarEntry{Name: "last", Path: "jobs/good", SHA256: sha("good"), Bytes: 4, Lost: func() { lost += 100 }},
	), 0)
	if err != nil {
		t.Fatal(err)
	}
	if lost != 3 {
		t.Errorf("%d told as lost, want 3", lost)
	}
	files, _, manifest := untar(t, a, info)
	if len(files) != 4 || files["p/good"] != "good" || files["p/in"] != "good" || files["p/last"] != "good" {
		t.Errorf("files %v", files)
	}
	want := map[string]string{
		"p/missing": "no such file or directory", "p/fifo": "is a fifo, not a regular file",
		"p/folder": "is a folder, not a regular file",
		"p/out":    "path escapes from parent", "p/climb": "path escapes from parent", "p/up": "path escapes from parent",
		"p/size": "its size is 5 instead of 6", "p/sum": "its SHA-256 is " + sha("wrong") + " instead",
		"p/content": "its SHA-256 is " + sha("x") + " instead",
		"p/../evil": "bad name: want a relative path without . or ..",
		"p//evil":   "bad name: want a relative path without . or ..",
		"p/":        "bad name: want a relative path without . or ..", "p/a\x00b": "bad name: control characters",
		"p/a\nb": "bad name: control characters",
	}
	if diff := cmp.Diff(want, absent(manifest)); diff != "" {
		t.Errorf("absent (-want +got):\n%s", diff)
	}
}

func TestWriteTar_NamesGivenTwiceAreKeptApart(t *testing.T) {
	a := newArea(t)
	info, err := a.WriteTar(t.Context(), tarDest, "p", entriesOf(
		TarEntry{Name: "x", Content: []byte("1")}, TarEntry{Name: "x", Content: []byte("2")},
		TarEntry{Name: "x.2", Content: []byte("3")}, TarEntry{Name: "x", Content: []byte("4")}), 0)
	if err != nil {
		t.Fatal(err)
	}
	files, order, _ := untar(t, a, info)
	if len(order) != 5 || files["p/x"] != "1" || files["p/x.2"] != "2" {
		t.Errorf("files %v", files)
	}
}

func TestWriteTar_TheSizeCapStopsFilesButNotJJMsOwn(t *testing.T) {
	a := newArea(t)
	for _, name := range []string{"a", "b", "c"} {
		put(t, a, "jobs/"+name, strings.Repeat(name, 40))
	}
	info, err := a.WriteTar(t.Context(), tarDest, "p",
		entriesOf(TarEntry{Name: "a", Path: "jobs/a"}, TarEntry{Name: "b", Path: "jobs/b"},
			TarEntry{Name: "c", Path: "jobs/c"}, TarEntry{Name: "log", Content: make([]byte, 1000)}), 60)
	if err != nil {
		t.Fatal(err)
	}
	files, _, manifest := untar(t, a, info)
	if len(files) != 3 || len(files["p/log"]) != 1000 {
		t.Errorf("files %v", files)
	}
	if diff := cmp.Diff(map[string]string{"p/b": "size cap of 60 bytes reached", "p/c": "size cap of 60 bytes reached"},
		absent(manifest)); diff != "" {
		t.Errorf("absent (-want +got):\n%s", diff)
	}
}

func TestWriteTar_ErrorsOfSequenceOrContextLeaveTheOldTar(t *testing.T) {
	a := newArea(t)
	put(t, a, tarDest, "old")
	ctx, cancel := context.WithCancel(t.Context())
	tests := map[string]iter.Seq2[TarEntry, error]{
		"sequence": func(yield func(TarEntry, error) bool) {
			_ = yield(TarEntry{Name: "a", Content: make([]byte, 5<<20)}, nil) &&
				yield(TarEntry{}, errors.New("database is gone"))
		},
		"cancelled": func(yield func(TarEntry, error) bool) {
			cancel()
			for i := 0; yield(TarEntry{Name: fmt.Sprint(i), Content: []byte("x")}, nil); i++ {
			}
		},
	}
	for name, entries := range tests {
		info, err := a.WriteTar(ctx, tarDest, "p", entries, 0)
		if err == nil || info != (TarInfo{}) || !strings.Contains(err.Error(), tarDest) {
			t.Errorf("%s: %+v %v", name, info, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(a.Root(), tarDest)); string(b) != "old" || err != nil {
		t.Errorf("the old tar: %.20q %v", b, err)
	}
	if list := leftovers(t, a); list != nil {
		t.Errorf("left: %v", list)
	}
	_, err := a.WriteTar(t.Context(), tarDest, "../p", entriesOf(), 0)
	mustNot(t, "bad prefix", err, jjm.Invalid)
}

// busyFS changes a file as soon as it has been opened for reading.
type busyFS struct {
	FS
	change func(name string)
}

func (b busyFS) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	f, err := b.FS.OpenFile(name, flag, perm)
	if err == nil && flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		b.change(name)
	}
	return f, err
}

// A file that changes while it is written is taken back from the tar, and replaced by the reason for its absence. The
// test covers files that are still in the buffer, and files that were already written to disk.
func TestWriteTar_ReplacesFilesThatChangeByTheirReason(t *testing.T) {
	for _, size := range []int{100, 3 << 20, 9 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			a := newArea(t)
			for _, name := range []string{"a", "sum", "b", "c"} {
				put(t, a, "jobs/"+name, strings.Repeat(name[:1], size))
			}
			info, err := a.WriteTar(t.Context(), tarDest, "p", entriesOf(
				TarEntry{Name: "a", Path: "jobs/a"},
				TarEntry{Name: "sum", Path: "jobs/sum", SHA256: sha("other"), Bytes: int64(size)},
				TarEntry{Name: "b", Path: "jobs/b"},
				TarEntry{Name: "sum2", Path: "jobs/sum", SHA256: sha("other"), Bytes: int64(size)},
				TarEntry{Name: "c", Path: "jobs/c"},
			), 0)
			if err != nil {
				t.Fatal(err)
			}
			files, order, manifest := untar(t, a, info)
			if len(order) != 4 || files["p/a"] != strings.Repeat("a", size) || files["p/c"] != strings.Repeat("c", size) ||
				len(absent(manifest)) != 2 {
				t.Errorf("order %v", order)
			}
		})
	}
}

func TestWriteTar_AFileThatShrinksOrGrowsMeanwhileIsAbsent(t *testing.T) {
	a := newArea(t)
	for _, name := range []string{"a", "shrink", "grow", "b"} {
		put(t, a, "jobs/"+name, strings.Repeat("x", 3<<20))
	}
	// The size is checked after the file is opened, so the file must change when its first byte is read. A separate reader
	// does that.
	entries := func(yield func(TarEntry, error) bool) {
		for _, name := range []string{"a", "shrink", "grow", "b"} {
			if !yield(TarEntry{Name: name, Path: "jobs/" + name}, nil) {
				return
			}
		}
	}
	tr := tarring{area: a, prefix: "p", names: map[string]int{}}
	tr.hash = sha256.New()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr.sink = newTarSink(f)
	defer tr.sink.stop()
	tr.tw = tar.NewWriter(tr.sink)
	for _, name := range []string{"shrink", "grow"} {
		src, before, err := a.openRegular("jobs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		if err := tr.tw.WriteHeader(tr.header("p/"+name, before.Size(), before.ModTime())); err != nil {
			t.Fatal(err)
		}
		change := map[string]int64{"shrink": 1000, "grow": 4 << 20}[name]
		if err := os.Truncate(filepath.Join(a.Root(), "jobs", name), change); err != nil {
			t.Fatal(err)
		}
		sum, reason, err := tr.copyFile(t.Context(), src, before.Size())
		if reason == nil {
			reason = changed(src, before, "", sum)
		}
		if reason == nil || err != nil {
			t.Errorf("%s: reason %v, error %v", name, reason, err)
		}
	}
	if _, err := a.WriteTar(t.Context(), tarDest, "p", entries, 0); err != nil {
		t.Error(err)
	}
	busy := NewArea(a.Root(), busyFS{a.fs, func(name string) {
		if name == "jobs/b" {
			_ = os.Remove(filepath.Join(a.Root(), name))
		}
	}})
	info, err := busy.WriteTar(t.Context(), tarDest, "p", entries, 0)
	if err != nil {
		t.Fatal(err)
	}
	if files, _, _ := untar(t, a, info); len(files["p/b"]) != 3<<20 {
		t.Error("a file that was removed after it was opened is not there")
	}
}

func TestTarSink_HashIsThatOfTheFileAfterRollbacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := os.CreateTemp("", "jjm-sandbox-test-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(f.Name())
		defer f.Close()
		s := newTarSink(f)
		defer s.stop()
		var want []byte
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "rewind") {
				mark := rapid.Int64Range(0, int64(len(want))).Draw(t, "mark")
				if err := s.rewind(mark); err != nil {
					t.Fatal(err)
				}
				want = want[:mark]
			} else {
				b := bytes.Repeat([]byte{byte(len(want))}, rapid.IntRange(0, 3*tarBuffer/2).Draw(t, "n"))
				if _, err := s.Write(b); err != nil {
					t.Fatal(err)
				}
				want = append(want, b...)
			}
		}
		if err := s.flush(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(f.Name())
		if err != nil || !bytes.Equal(got, want) || s.sum() != sha(string(want)) || s.size() != int64(len(want)) {
			t.Fatalf("%d bytes, want %d; %v", len(got), len(want), err)
		}
	})
}

func TestOutputOf_ReadsWhatOutputNameWrites(t *testing.T) {
	id := jjm.LocalID{Grid: 17, N: 3117}
	for _, name := range []string{"a.root", "d/a.b.c", "x"} {
		if got, ok := OutputOf(OutputName("mc_1-2", id, name)); !ok || got != id {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "a", "mc.17.3", "mc.17.x.a", "mc.0.3.a", "mc.17.3-9.a", "mc.17.*.a", "/d/mc.17.3.a",
		"a.b.17.3.c"} {
		if got, ok := OutputOf(name); ok {
			t.Errorf("%q is taken for an output of %v", name, got)
		}
	}
}

func TestOutputName_IsStemLocalJobAndBaseName(t *testing.T) {
	if got, want := OutputName("mc", first.LocalID, "work/d/a.root"), "mc.17.3117.a.root"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWriteTar_GNUTarReadsIt(t *testing.T) {
	gnu := needs.Program(t, "tar", "tar")
	a := newArea(t)
	long := strings.Repeat("d/", 120) + "ü"
	info, err := a.WriteTar(t.Context(), tarDest, "p", entriesOf(TarEntry{Name: long, Content: []byte("x")}), 0)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if msg, err := exec.Command(gnu, "-xf", filepath.Join(a.Root(), info.Path), "-C", out).CombinedOutput(); err != nil ||
		len(msg) > 0 {
		t.Fatalf("%v: %s", err, msg)
	}
	if b, err := os.ReadFile(filepath.Join(out, "p", long)); string(b) != "x" || err != nil {
		t.Errorf("%q %v", b, err)
	}
}

// BenchmarkWriteTar writes a tar of 10 000 files of 100 kB. For comparison it also runs GNU tar on the same files, and
// syncs that tar too.
func BenchmarkWriteTar(b *testing.B) {
	a := newArea(b)
	const n, size = 10_000, 100_000
	block := bytes.Repeat([]byte("0123456789"), size/10)
	var entries []TarEntry
	for i := range n {
		id := jjm.AttemptID{LocalID: jjm.LocalID{Grid: 17, N: int32(i)}}
		name := AttemptDir(id) + "/work/a.root"
		put(b, a, name, string(block))
		entries = append(entries, TarEntry{Name: OutputName("mc", id.LocalID, "a.root"), Path: name,
			SHA256: sha(string(block)), Bytes: size})
	}
	b.Run("jjm", func(b *testing.B) {
		b.SetBytes(n * size)
		for b.Loop() {
			if info, err := a.WriteTar(b.Context(), tarDest, "p", entriesOf(entries...), 0); err != nil || info.Files != n {
				b.Fatal(info, err)
			}
		}
	})
	b.Run("gnu", func(b *testing.B) {
		b.SetBytes(n * size)
		for b.Loop() {
			cmd := exec.Command("sh", "-c", "tar -cf out.tar jobs/17/?xxx && sync out.tar")
			cmd.Dir = a.Root()
			if msg, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, msg)
			}
		}
	})
}
