package xmldb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

const phase = `<fragment job="12.3"><phase name="d0gstar" done="117" total="250"/></fragment>`

func openDrop(t *testing.T) (*Drop, string, *warnings) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "drop")
	w := &warnings{}
	d, err := OpenDrop(dir, w.warn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, dir, w
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func scan(t *testing.T, d *Drop) []Dropped {
	t.Helper()
	found, err := d.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func names(found []Dropped) []string {
	var names []string
	for _, f := range found {
		names = append(names, f.Name)
	}
	return names
}

func TestDrop_ReturnsCompleteFilesTheOldestFirst(t *testing.T) {
	d, dir, w := openDrop(t)
	for i, name := range []string{"b.xml", "c.xml", "a.xml", ".hidden.xml", "partial.xml.tmp", "note.txt"} {
		path := filepath.Join(dir, name)
		put(t, path, strings.ReplaceAll(phase, "117", fmt.Sprint(i)))
		at := noon.Add(time.Duration(i/2) * time.Second)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	found := scan(t, d)
	if diff := cmp.Diff([]string{"b.xml", "c.xml", "a.xml"}, names(found)); diff != "" {
		t.Fatalf("found (-want +got):\n%s", diff)
	}
	f := found[1]
	if f.UID != os.Geteuid() || f.Fragment.Ref() != "12.3" || !f.Modified.Equal(noon) ||
		!strings.Contains(string(f.Fragment.XML()), `done="1"`) {
		t.Errorf("found %+v", f)
	}
	if again := scan(t, d); len(again) != 3 {
		t.Errorf("undecided files: %v, want them again", names(again))
	}
	for _, f := range found[:2] {
		if err := f.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	found[2].Refuse(errors.New("job 12 is not yours"))
	if again := scan(t, d); len(again) != 0 {
		t.Errorf("decided files: %v", names(again))
	}
	wantNames(t, dir, ".hidden.xml", "note.txt", "partial.xml.tmp", "refused")
	wantNames(t, filepath.Join(dir, "refused"), "a.xml", "a.xml.why")
	if got := readText(t, filepath.Join(dir, "refused/a.xml.why")); got != "job 12 is not yours\n" {
		t.Errorf("reason: %q", got)
	}
	if len(w.all()) > 0 {
		t.Errorf("warnings: %v", w.all())
	}
}

func TestDrop_RefusesFilesThatAreNoFragments(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	put(t, secret, phase)
	for _, tc := range []struct {
		name string
		make func(t *testing.T, path string)
		why  string
	}{
		{"not XML", func(t *testing.T, path string) { put(t, path, "hello") }, "text outside the root element"},
		{"empty", func(t *testing.T, path string) { put(t, path, "") }, "no element"},
		{"too long", func(t *testing.T, path string) {
			put(t, path, strings.Repeat("x", jjm.MaxFragment+1))
		}, "65537 bytes: want at most 65536"},
		{"huge and sparse", func(t *testing.T, path string) {
			put(t, path, "")
			if err := os.Truncate(path, 1<<40); err != nil {
				needs.Missing(t, "a file system that takes a sparse file of 1 TiB: "+err.Error(), "set TMPDIR to a folder of one")
			}
		}, "want at most 65536"},
		{"symbolic link", func(t *testing.T, path string) {
			if err := os.Symlink(secret, path); err != nil {
				t.Fatal(err)
			}
		}, "a link"},
		{"dangling link", func(t *testing.T, path string) {
			if err := os.Symlink("nowhere", path); err != nil {
				t.Fatal(err)
			}
		}, "a link"},
		{"hard link", func(t *testing.T, path string) {
			if err := os.Link(secret, path); err != nil {
				t.Fatal(err)
			}
		}, "more than one hard link"},
		{"fifo", func(t *testing.T, path string) {
			if err := syscall.Mkfifo(path, 0o666); err != nil {
				t.Fatal(err)
			}
		}, "a fifo"},
		{"folder", func(t *testing.T, path string) {
			if err := os.MkdirAll(filepath.Join(path, "a/b"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "a folder"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, dir, w := openDrop(t)
			for range 2 { // the second file replaces the first
				tc.make(t, filepath.Join(dir, "x.xml"))
				if found := scan(t, d); len(found) != 0 {
					t.Fatalf("accepted: %v", names(found))
				}
				wantNames(t, dir, "refused")
				kept := []string{"x.xml.why"} // no copy of too long or foreign files
				if tc.name == "not XML" || tc.name == "empty" {
					kept = []string{"x.xml", "x.xml.why"}
				}
				wantNames(t, filepath.Join(dir, "refused"), kept...)
				if got := readText(t, filepath.Join(dir, "refused/x.xml.why")); !strings.Contains(got, tc.why) {
					t.Errorf("reason %q, want %q", got, tc.why)
				}
			}
			if readText(t, secret) != phase {
				t.Error("the file behind the link was touched")
			}
			if len(w.all()) > 0 {
				t.Errorf("warnings: %v", w.all())
			}
		})
	}
}

func TestDrop_RefusesASocket(t *testing.T) {
	d, dir, _ := openDrop(t)
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	t.Chdir(dir) // the path of a socket must be short
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: "s.xml"}); err != nil {
		t.Fatal(err)
	}
	scan(t, d)
	if got := readText(t, "refused/s.xml.why"); !strings.Contains(got, "a socket") {
		t.Errorf("reason %q", got)
	}
}

func TestDrop_RefusesWhatItMayNotRead(t *testing.T) {
	d, dir, _ := openDrop(t)
	put(t, filepath.Join(dir, "x.xml"), phase)
	// The account that scans may move all files, and may read all files except this one.
	err := errors.Join(os.Chmod(filepath.Join(dir, "x.xml"), 0), os.Chmod(dir, 0o777),
		os.Chmod(filepath.Join(dir, "refused"), 0o777))
	if err != nil {
		t.Fatal(err)
	}
	needs.Unprivileged(t, func() { scan(t, d) })
	if got := readText(t, filepath.Join(dir, "refused/x.xml.why")); !strings.Contains(got, "chmod a+r") {
		t.Errorf("reason %q", got)
	}
}

func TestDrop_OddNames(t *testing.T) {
	d, dir, _ := openDrop(t)
	for _, name := range []string{"a\nb.xml", "\xff.xml", strings.Repeat("n", 251) + ".xml", "x.xml.why.xml",
		"refused.xml"} {
		put(t, filepath.Join(dir, name), "bad")
	}
	scan(t, d)
	wantNames(t, dir, "refused")
	entries, err := os.ReadDir(filepath.Join(dir, "refused"))
	if err != nil || len(entries) != 10 {
		t.Errorf("%d entries among the refused, %v; want 5 files and 5 reasons", len(entries), err)
	}
}

func TestDrop_AcceptLeavesANewerFileOfTheName(t *testing.T) {
	d, dir, _ := openDrop(t)
	path := filepath.Join(dir, "x.xml")
	put(t, path, phase)
	found := scan(t, d)
	writeText(t, path, strings.ReplaceAll(phase, "117", "118"))
	if err := found[0].Accept(); err != nil {
		t.Fatal(err)
	}
	found[0].Refuse(errors.New("too late"))
	again := scan(t, d)
	if len(again) != 1 || !strings.Contains(string(again[0].Fragment.XML()), "118") {
		t.Errorf("found %v, want the newer file", names(again))
	}
	if err := again[0].Accept(); err != nil {
		t.Fatal(err)
	}
	if err := again[0].Accept(); err != nil { // a missing file is no error
		t.Errorf("accepted twice: %v", err)
	}
}

func TestDrop_ReadsABoundedNumberAScan(t *testing.T) {
	d, dir, _ := openDrop(t)
	for i := range maxScan + 100 {
		put(t, filepath.Join(dir, fmt.Sprintf("%d.xml", i)), phase)
	}
	sum := 0
	for _, want := range []int{maxScan, 100, 0} {
		found := scan(t, d)
		if len(found) != want {
			t.Errorf("found %d, want %d", len(found), want)
		}
		for _, f := range found {
			if err := f.Accept(); err != nil {
				t.Fatal(err)
			}
			sum++
		}
	}
	if sum != maxScan+100 {
		t.Errorf("%d files in all", sum)
	}
}

func TestDrop_KeepsABoundedNumberOfRefused(t *testing.T) {
	d, dir, _ := openDrop(t)
	for i := range maxRefused + 500 {
		put(t, filepath.Join(dir, fmt.Sprintf("%d.xml", i)), "bad")
	}
	scan(t, d)
	entries, err := os.ReadDir(filepath.Join(dir, "refused"))
	if err != nil || len(entries) > maxRefused+1000 || len(entries) < maxRefused-2 {
		t.Errorf("%d entries among the refused, %v; want about %d", len(entries), err, maxRefused)
	}
}

func TestDrop_StopsWhenTheContextEnds(t *testing.T) {
	d, dir, _ := openDrop(t)
	put(t, filepath.Join(dir, "x.xml"), phase)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Scan(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context canceled", err)
	}
}

func TestOpenDrop_MakesAFolderForEverybody(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	_, dir, _ := openDrop(t)
	st, err := os.Stat(dir)
	if err != nil || st.Mode() != os.ModeDir|os.ModeSticky|0o733 {
		t.Errorf("mode %v, %v; want dtrwx-wx-wx", st.Mode(), err)
	}
	st, err = os.Stat(filepath.Join(dir, "refused"))
	if err != nil || st.Mode().Perm() != 0o711 {
		t.Errorf("mode of refused %v, %v; want 0711", st.Mode(), err)
	}
	d, err := OpenDrop(dir, nil) // OpenDrop also opens an existing folder
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
}

func TestOpenDrop_RefusesATrap(t *testing.T) {
	if _, err := OpenDrop("drop", nil); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("relative: %v", err)
	}
	dir := t.TempDir()
	if err := os.Symlink("/tmp", filepath.Join(dir, "refused")); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDrop(dir, nil); jjm.KindOf(err) != jjm.Denied {
		t.Errorf("refused/ is a link: %v, want kind denied", err)
	}
	if os.Geteuid() != 0 {
		return
	}
	dir = t.TempDir()
	refused := filepath.Join(dir, "refused")
	if err := errors.Join(os.Mkdir(refused, 0o777), os.Chown(refused, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDrop(dir, nil); jjm.KindOf(err) != jjm.Denied {
		t.Errorf("refused/ is somebody else's: %v, want kind denied", err)
	}
}

func TestWatch_SignalsCompleteFilesAndEnds(t *testing.T) {
	defer goleak.VerifyNone(t)
	d, dir, w := openDrop(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := d.Watch(ctx)
	put(t, filepath.Join(dir, ".part"), phase)
	if err := os.Rename(filepath.Join(dir, ".part"), filepath.Join(dir, "x.xml")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c:
	case <-time.After(await.Guard(time.Minute)):
		t.Fatal("nothing told of the file")
	}
	cancel()
	for range c { // until Watch closes the channel
	}
	if len(w.all()) > 0 {
		t.Errorf("warnings: %v", w.all())
	}
}

func TestWatch_ThatCannotWatchWarnsAndEnds(t *testing.T) {
	defer goleak.VerifyNone(t)
	d, dir, w := openDrop(t)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := d.Watch(ctx)
	cancel()
	for range c {
		t.Error("it told of something")
	}
	if len(w.all()) != 1 {
		t.Errorf("warnings: %v, want one", w.all())
	}
}

// The owner of a file can mount a file system over the file, and this file system need not answer.
func TestDrop_DoesNotWaitForAFileSystemThatAWriterMounted(t *testing.T) {
	dir := filepath.Join(needs.PublicDir(t), "drop")
	d, err := OpenDrop(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	put(t, filepath.Join(dir, "a.xml"), phase)
	put(t, filepath.Join(dir, "b.xml"), phase)
	theirs := needs.MountFUSE(t, filepath.Join(dir, "a.xml"), 1)
	theirs.Freeze()
	found := make(chan []string, 1)
	go func() {
		all, _ := d.Scan(context.Background())
		found <- names(all)
	}()
	select {
	case got := <-found:
		if diff := cmp.Diff([]string{"b.xml"}, got); diff != "" {
			t.Error(diff)
		}
	case <-time.After(await.Guard(time.Minute)):
		t.Error("the scan does not come back")
	}
}
