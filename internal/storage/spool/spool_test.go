package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

func box(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "spool")
	if err := Make(dir, 0o666, -1); err != nil {
		t.Fatal(err)
	}
	return dir
}

var self = os.Geteuid()

func submitNote(key string) Note {
	return Note{Verb: VerbSubmit, Handle: jjm.HandleOf(self, key),
		Submit: &wire.Submit{Name: "j", Text: "type = \"x\"\n\"", BaseDir: "/", Key: key}}
}

func put(t *testing.T, dir string, n Note, at int64) {
	t.Helper()
	if err := Put(dir, n, time.Unix(0, at)); err != nil {
		t.Fatal(err)
	}
}

// mine opens the caller's box. If the box does not exist, mine makes it.
func mine(t *testing.T, dir string) *Box {
	t.Helper()
	in, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	boxes, err := in.BoxesOf(self)
	if err == nil && len(boxes) == 0 {
		var b *Box
		b, err = in.make(self)
		boxes = []*Box{b}
	}
	if err != nil || len(boxes) != 1 {
		t.Fatal(boxes, err)
	}
	t.Cleanup(func() { _ = boxes[0].Close() })
	return boxes[0]
}

func names(t *testing.T, b *Box) []Name {
	t.Helper()
	ns, _, _, err := b.List(MaxEntries)
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

func TestPut_EntriesAreListedInTheOrderOfPut(t *testing.T) {
	dir := box(t)
	k := Note{Verb: VerbKill, Handle: jjm.HandleOf(self, "a"), Rest: ".3"}
	put(t, dir, submitNote("a"), 100)
	put(t, dir, submitNote("b"), 50)
	put(t, dir, k, 20) // the clock was set back
	put(t, dir, submitNote("a"), 100)
	var got []Note
	b := mine(t, dir)
	for _, n := range names(t, b) {
		note, owner, err := b.Read(n)
		if err != nil || owner.UID != self {
			t.Fatal(n, owner, err)
		}
		got = append(got, note)
	}
	if d := cmp.Diff([]Note{submitNote("b"), submitNote("a"), k, submitNote("a")}, got); d != "" {
		t.Error(d)
	}
	in, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	mode := os.FileMode(0o600)
	if in.shared() { // the daemon is not root, and reads the box through its group
		mode = 0o644
	}
	for _, n := range names(t, b) {
		info, err := os.Stat(filepath.Join(b.Path(), n.String()))
		if err != nil || info.Mode().Perm() != mode {
			t.Error(n, info.Mode(), err)
		}
		if err := errors.Join(b.Remove(n.String()), b.Remove(n.String())); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(b.Path()); len(left) != 0 {
		t.Error(left)
	}
}

// Read rejects everything that is not a proper entry, and never blocks.
func TestRead_RejectsEverythingButEntries(t *testing.T) {
	other := filepath.Join(t.TempDir(), "secret")
	good := `{"verb":"kill","handle":"` + string(jjm.HandleOf(1, "k")) + `"}`
	name := Name{Seq: 1, Handle: jjm.HandleOf(1, "k"), Verb: VerbKill}
	for what, make := range map[string]func(path string) error{
		"a link":      func(p string) error { return os.Symlink(other, p) },
		"a hard link": func(p string) error { return os.Link(other, p) },
		"a pipe":      func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"a folder":    func(p string) error { return os.Mkdir(p, 0o700) },
		"a socket":    func(p string) error { return syscall.Mknod(p, syscall.S_IFSOCK|0o600, 0) },
		"writable by all": func(p string) error {
			return errors.Join(os.WriteFile(p, []byte(good), 0o600), os.Chmod(p, 0o666))
		},
		"too long": func(p string) error {
			return errors.Join(os.WriteFile(p, nil, 0o600), os.Truncate(p, MaxEntry+1))
		},
		"empty": func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"another handle": func(p string) error {
			return os.WriteFile(p, []byte(strings.Replace(good, `"g`, `"h`, 1)), 0o600)
		},
		"another verb": func(p string) error {
			return os.WriteFile(p, []byte(strings.Replace(good, "kill", "submit", 1)), 0o600)
		},
		"a bad rest": func(p string) error { return os.WriteFile(p, []byte(good[:len(good)-1]+`,"rest":"../x"}`), 0o600) },
	} {
		t.Run(what, func(t *testing.T) {
			b := mine(t, box(t))
			if err := os.WriteFile(other, []byte(good), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := make(filepath.Join(b.Path(), name.String())); err != nil {
				t.Fatal(err)
			}
			_, _, err := b.Read(name)
			var bad *Rejected
			if !errors.As(err, &bad) {
				t.Errorf("error %v", err)
			}
			if got := names(t, b); len(got) != 1 {
				t.Errorf("listed: %v", got)
			}
		})
	}
}

// The daemon rejects a submission if its handle belongs to another account than its file.
func TestRead_RejectsASubmissionUnderTheHandleOfAnotherAccount(t *testing.T) {
	dir := box(t)
	forged := submitNote("k")
	forged.Handle = jjm.HandleOf(self+1, "k")
	put(t, dir, forged, 1)
	keyless := submitNote("")
	put(t, dir, keyless, 2)
	dry := submitNote("d")
	dry.Submit.DryRun = true
	put(t, dir, dry, 3)
	b := mine(t, dir)
	for _, n := range names(t, b) {
		var bad *Rejected
		if _, _, err := b.Read(n); !errors.As(err, &bad) {
			t.Errorf("%v: %v", n, err)
		}
	}
}

func TestList_SeparatesEntriesFromOtherNames(t *testing.T) {
	dir := box(t)
	b := mine(t, dir)
	for _, name := range []string{"..x", ".tmp-1", fmt.Sprintf("%022d.%s.kill", int64(maxSeq)+1, jjm.HandleOf(1, "k")),
		"17", "1.g.submit", strings.Repeat("9", 22) + "." + string(jjm.HandleOf(1, "k")) + ".kill",
		"-000000000000000000001." + string(jjm.HandleOf(1, "k")) + ".kill",
		"0000000000000000000001." + string(jjm.HandleOf(1, "k")) + ".order"} {
		if err := os.WriteFile(filepath.Join(b.Path(), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(t, dir, submitNote("k"), 1)
	ns, strange, more, err := b.List(MaxEntries)
	if err != nil || len(ns) != 1 || len(strange) != 7 || more {
		t.Errorf("%v, %v, %v", ns, strange, err)
	}
	if _, strange, more, err := b.List(3); err != nil || !more || len(strange) != 8 {
		t.Errorf("too many: %v, %v, %v", strange, more, err)
	}
}

func TestPut_ErrorsSayWhyNothingWasAdded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if err := Put(dir, submitNote("k"), time.Now()); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("no folder: %v", err)
	}
	long := submitNote("k")
	long.Submit.Text = strings.Repeat("x", MaxEntry)
	if err := Put(box(t), long, time.Now()); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("too long: %v", err)
	}
}

func TestMake_SetsModes(t *testing.T) {
	dir := box(t)
	all := 0o777 | fs.ModeSticky
	if os.Geteuid() != 0 {
		all |= fs.ModeSetgid
	}
	for mode, want := range map[fs.FileMode][2]fs.FileMode{0o666: {0o711, all}, 0o660: {0o710, all},
		0o600: {0o700, 0o700}} {
		if err := Make(dir, mode, -1); err != nil {
			t.Fatal(err)
		}
		for i, at := range []string{dir, filepath.Join(dir, inName)} {
			if info, err := os.Stat(at); err != nil || info.Mode()&^fs.ModeDir != want[i] {
				t.Errorf("%o: %s: %v, %v; want %v", mode, at, info.Mode(), err, want[i])
			}
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := Make(link, 0o666, -1); err == nil {
		t.Error("a link was taken for the folder")
	}
}

// A file with the largest sequence does not make later sequences overflow. Put returns an error that asks to remove the
// file.
func TestPut_ReportsAnEntryWithTheLargestSequence(t *testing.T) {
	dir := box(t)
	b := mine(t, dir)
	last := Name{Seq: maxSeq, Handle: submitNote("k").Handle, Verb: VerbKill}
	if err := os.WriteFile(filepath.Join(b.Path(), last.String()), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Put(dir, submitNote("k"), time.Now()); jjm.KindOf(err) != jjm.Busy ||
		!strings.Contains(err.Error(), "remove it") {
		t.Errorf("behind the last: %v", err)
	}
	put(t, dir, submitNote("other"), 1)
}

// If another account takes the name of an account's box, Put makes a box under another name, and the daemon takes the
// name away from the other account.
func TestPut_MakesABoxThoughItsNameIsTaken(t *testing.T) {
	needs.Root(t, "to give a folder to another account")
	dir := box(t)
	taken := filepath.Join(dir, inName, boxName(self))
	if err := errors.Join(os.Mkdir(taken, 0o700), os.WriteFile(filepath.Join(taken, "x"), nil, 0o600),
		os.Chown(taken, 4711, 4711)); err != nil {
		t.Fatal(err)
	}
	put(t, dir, submitNote("a"), 1)
	put(t, dir, submitNote("b"), 2)
	if b := mine(t, dir); len(names(t, b)) != 2 || b.Name() == boxName(self) {
		t.Errorf("%s: %v", b.Name(), names(t, b))
	}
	in, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var boxes []Found
	if done, err := in.Survey(MaxEntries, func(f Found) {
		boxes = append(boxes, f)
	}, func(string, error) {}); !done || err != nil || len(boxes) != 1 {
		t.Errorf("survey: %v, %v, %v", boxes, done, err)
	}
	if _, err := os.Lstat(taken); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the name is still taken: %v", err)
	}
}

// FuzzParse checks that every accepted entry agrees with its file name.
func FuzzParse(f *testing.F) {
	f.Add("0000000000000000000001."+string(jjm.HandleOf(1, "k"))+".submit", 1,
		`{"verb":"submit","handle":"`+string(jjm.HandleOf(1, "k"))+`","submit":{"key":"k","text":"x","base_dir":"/"}}`)
	f.Add("0000000000000000000001."+string(jjm.HandleOf(1, "k"))+".kill", 1,
		`{"verb":"kill","handle":"`+string(jjm.HandleOf(1, "k"))+`","rest":".3-7"}`)
	f.Fuzz(func(t *testing.T, file string, uid int, text string) {
		name, ok := ParseName(file)
		if !ok {
			return
		}
		if name.String() != file {
			t.Fatalf("%q reads as %q", file, name)
		}
		n, err := parse(name, uid, []byte(text))
		if err != nil {
			return
		}
		if n.Verb != name.Verb || n.Handle != name.Handle || n.Verb == VerbSubmit &&
			jjm.HandleOf(uid, n.Submit.Key) != name.Handle {
			t.Fatalf("%q: accepted %q", file, text)
		}
	})
}

// Entries that jjm 0.1.0 wrote, such as the box of account 1003 in testdata/v1, can be read by later versions.
func TestParse_ReadsEntriesOfVersion1(t *testing.T) {
	entries, err := os.ReadDir("testdata/v1")
	if err != nil {
		t.Fatal(err)
	}
	h := jjm.HandleOf(1003, "request-4711")
	want := []Note{
		{Verb: "submit", Handle: h, Submit: &wire.Submit{Name: "job.toml", Key: "request-4711", Anew: true,
			BaseDir:     "/home/alice",
			Text:        "type = \"script\"\ncommand = [\"./run.sh\"]\n",
			Origin:      &jjm.Origin{Gatekeeper: "gram5 ce.example.org", Job: "x/1", Subject: "/DC=org/CN=Alice", Memo: "m"},
			Credentials: []jjm.Credential{{Kind: "token", Secret: "a.b.c"}}}},
		{Verb: "kill", Handle: h, Rest: ".3-7"},
		{Verb: "kill", Handle: h},
	}
	var got []Note
	for _, e := range entries {
		name, ok := ParseName(e.Name())
		text, err := os.ReadFile(filepath.Join("testdata/v1", e.Name()))
		if !ok || err != nil {
			t.Fatalf("%s: ok %v, error %v", e.Name(), ok, err)
		}
		n, err := parse(name, 1003, text)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, n)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestParseName_AcceptsExactlyTheSpooledVerbs(t *testing.T) {
	for _, v := range wire.Verbs() {
		name := Name{Seq: 1, Handle: jjm.HandleOf(1, "k"), Verb: v.Name}
		if _, ok := ParseName(name.String()); ok != v.Spooled {
			t.Errorf("%s: an entry %v, want %v", name, ok, v.Spooled)
		}
	}
}
