package jobtype

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"jjm/internal/sys/tree"
)

// plenty is a budget that no test uses up.
func plenty() budget { return budget{bytes: mostCompared, names: mostNames} }

func TestDiffer_OnlyWhatIsKnownToDiffer(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	for name, c := range map[string]struct {
		a, b       string
		bytes      int64
		want, some bool // some: an error says that not all was compared
	}{
		"equal":                 {"same", "same", mostCompared, false, false},
		"empty":                 {"", "", mostCompared, false, false},
		"another byte":          {"same", "sane", mostCompared, true, false},
		"shorter":               {"sam", "same", mostCompared, true, false},
		"longer":                {long + "y", long, mostCompared, true, false},
		"a late byte":           {long + "y", long + "z", mostCompared, true, false},
		"behind what is looked": {long + "y", long + "z", 1, false, true},
	} {
		left := budget{bytes: c.bytes, names: 1}
		got, err := differ(strings.NewReader(c.a), strings.NewReader(c.b), &left)
		if got != c.want || err != nil != c.some {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	left := plenty()
	got, err := differ(iotest.ErrReader(errors.New("disk")), strings.NewReader("x"), &left)
	if got || err == nil {
		t.Errorf("a file that cannot be read: %v, %v: want an error", got, err)
	}
}

// Folders differ in names, links, content, and in whether the owner may execute files; not in the modes of folders.
func TestDifferTrees_ComparesWhatJobsSee(t *testing.T) {
	for name, c := range map[string]struct {
		change func(dir string) error
		names  int64
		want   bool
		some   bool
	}{
		"equal": {func(string) error { return nil }, mostNames, false, false},
		"a byte": {func(dir string) error {
			return os.WriteFile(dir+"/a/one", []byte("2"), 0o600)
		}, mostNames, true, false},
		"more":      {func(dir string) error { return os.WriteFile(dir+"/z", nil, 0o600) }, mostNames, true, false},
		"less":      {func(dir string) error { return os.Remove(dir + "/last") }, mostNames, true, false},
		"a mode":    {func(dir string) error { return os.Chmod(dir+"/a/one", 0o700) }, mostNames, true, false},
		"of folder": {func(dir string) error { return os.Chmod(dir+"/a", 0o755) }, mostNames, false, false},
		"too many":  {func(string) error { return nil }, 2, false, true},
		"a link": {func(dir string) error {
			return errors.Join(os.Remove(dir+"/last"), os.Symlink("a", dir+"/last"))
		}, mostNames, true, false},
	} {
		then, now := folder(t), folder(t)
		if err := c.change(now); err != nil {
			t.Fatal(err)
		}
		left := budget{bytes: mostCompared, names: c.names}
		if got, err := differTrees(stream(t, now), stream(t, then), &left); got != c.want || err != nil != c.some {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// folder makes a folder with a file in a folder, and a link.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := errors.Join(os.Mkdir(filepath.Join(dir, "a"), 0o700),
		os.WriteFile(filepath.Join(dir, "a/one"), []byte("1"), 0o600),
		os.Symlink("a/one", filepath.Join(dir, "last")))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// stream returns a folder as it is packed.
func stream(t *testing.T, dir string) io.Reader {
	t.Helper()
	s, err := tree.Read(dir, tree.Most{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A URL is not fetched again to compare it, and the answer says so.
func TestComparison_NamesURLsAsNotCompared(t *testing.T) {
	c := comparison{left: plenty()}
	if got, err := c.differs("https://example.org/data", "data"); got || err == nil || err.Error() != "it is a URL" {
		t.Errorf("%v, %v", got, err)
	}
}
