package rights_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/sys/rights"
	"jjm/internal/testkit/needs"
)

// Only root may replace a program that root executes: no other account may change the file, a folder above it, or the
// target of a link.
func TestHeld_NobodyElseCanPutSomethingInItsPlace(t *testing.T) {
	t.Parallel()
	needs.Root(t, "to give folders to other accounts")
	for _, test := range []struct {
		name, want string
		spoil      func(dir string) error
	}{
		{name: "all is root's"},
		{name: "the file is another's", want: "belongs to uid 4711",
			spoil: func(dir string) error { return os.Chown(dir+"/a/b/prog", 4711, 4711) }},
		{name: "its folder is another's", want: "the folder DIR/a/b belongs to uid 4711 (mode drwxr-xr-x)",
			spoil: func(dir string) error { return os.Chown(dir+"/a/b", 4711, 4711) }},
		{name: "a folder further up is another's", want: "chown 0 DIR/a",
			spoil: func(dir string) error { return os.Chown(dir+"/a", 4711, 4711) }},
		{name: "all may write its folder", want: "DIR/a/b (uid 0, mode drwxrwxrwx)",
			spoil: func(dir string) error { return os.Chmod(dir+"/a/b", 0o777) }},
		{name: "a group may write a folder further up", want: "chmod go-w",
			spoil: func(dir string) error { return os.Chmod(dir+"/a", 0o775) }},
		{name: "a sticky folder further up",
			spoil: func(dir string) error { return os.Chmod(dir+"/a", 0o777|fs.ModeSticky) }},
		{name: "a link to a safe place", spoil: func(dir string) error { return relink(dir, dir+"/safe/prog") }},
		{name: "a link by ..", spoil: func(dir string) error { return relink(dir, "../../safe/prog") }},
		{name: "a link to another's folder", want: "the folder DIR/theirs belongs to uid 4711",
			spoil: func(dir string) error { return relink(dir, "../../theirs/prog") }},
		{name: "a link in another's hands", want: "chown -h", spoil: func(dir string) error {
			return errors.Join(os.Chmod(dir+"/a", 0o777|fs.ModeSticky), os.Rename(dir+"/a/b", dir+"/c"),
				os.Symlink(dir+"/c", dir+"/a/b"), os.Lchown(dir+"/a/b", 4711, 4711))
		}},
	} {
		dir := t.TempDir()
		for _, folder := range []string{"a/b", "safe", "theirs"} {
			if err := errors.Join(os.MkdirAll(filepath.Join(dir, folder), 0o755),
				os.WriteFile(filepath.Join(dir, folder, "prog"), nil, 0o755)); err != nil {
				t.Fatal(err)
			}
		}
		err := os.Chown(dir+"/theirs", 4711, 4711)
		if test.spoil != nil {
			err = errors.Join(err, test.spoil(dir))
		}
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := rights.Held(dir+"/a/b/prog", rights.Holders{}); err != nil {
			got = err.Error()
		}
		if want := strings.ReplaceAll(test.want, "DIR", dir); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", test.name, got, want)
		}
	}
}

func relink(dir, to string) error {
	return errors.Join(os.Remove(dir+"/a/b/prog"), os.Symlink(to, dir+"/a/b/prog"))
}
