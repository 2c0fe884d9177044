package declared

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jjm/handlers"
	"jjm/internal/jjm"
)

// folder writes the files of a folder of job types. Files whose text begins with "#!" are programs.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		mode := os.FileMode(0o600)
		if strings.HasPrefix(text, "#!") {
			mode = 0o700
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// named returns the text of a valid type.
func named(name string) string {
	return strings.Replace(head, "toy", name, 1) + "[work]\ncount = 2\n" + settings
}

func program(name, path string) string {
	return "name = \"" + name + "\"\nprogram = \"" + path + "\"\n"
}

// A file with mistakes turns off only its own type, with all its mistakes as reasons. All other types are loaded as
// declared.
func TestLoad_AMistakeCostsItsOwnType(t *testing.T) {
	dir := folder(t, map[string]string{
		"good.toml": named("good"), "asked.toml": program("asked", "asked.sh"), "asked.sh": "#!/bin/sh\n",
		"syntax.toml":   "name = \"other\"\nsummary = \"open\n",
		"keys.toml":     "name = \"keys\"\nsumary = \"x\"\nresultt = \"exit\"\n",
		"lost.toml":     program("lost", "nowhere"),
		"plain.toml":    program("plain", "text"),
		"text":          "no program",
		"replaced.toml": program("replaced", "theirs.sh"), "theirs.sh": "#!/bin/sh\n",
		"theirs.toml": named("good"), // a file that others can write is not read, not even its name
		"script.toml": named("script"),
		"Odd!.toml":   "name = \"Odd!\"\n",
	})
	if err := os.Symlink("nothing", filepath.Join(dir, "gone.toml")); err != nil {
		t.Fatal(err)
	}
	loaded, err := Folder{Dir: dir, Known: handlers.NewRegistry(parsed(t, named("script"))),
		Held: func(path string) error {
			if strings.HasPrefix(filepath.Base(path), "theirs.") {
				return errors.New("others can write it: chmod go-w it")
			}
			return nil
		}}.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"good", "asked"} {
		if h := loaded.Types[name]; h == nil || name == "good" && handlers.OffOf(h) != nil {
			t.Errorf("%s: %v", name, h)
		}
	}
	got := map[string]handlers.Off{}
	for _, off := range loaded.Types.AllOff(loaded.Off...) {
		got[off.Type] = off
	}
	for _, want := range []struct {
		typ, file string
		mistakes  []string // their beginnings, without the folder
	}{
		{"other", "syntax.toml", []string{"syntax.toml:2: not TOML"}},
		{"keys", "keys.toml", []string{"keys.toml:2: sumary: ", "keys.toml:3: resultt: "}},
		{"lost", "lost.toml", []string{"lost.toml:2: program: there is no "}},
		{"plain", "plain.toml", []string{"plain.toml:2: program: "}},
		{"replaced", "theirs.sh", []string{"theirs.sh: others can write it: chmod"}},
		{"theirs", "theirs.toml", []string{"theirs.toml: others can write it: chmod"}},
		{"script.toml", "script.toml", []string{"script.toml: name: \"script\" is the name of a type of jjm itself: choose"}},
		{"Odd!.toml", "Odd!.toml", []string{"Odd!.toml:1: name: "}},
		{"gone", "gone.toml", []string{"gone.toml: cannot be read: "}},
	} {
		off := got[want.typ]
		if off.File != filepath.Join(dir, want.file) || !off.Restart {
			t.Errorf("%s: %+v", want.typ, off)
		}
		for _, mistake := range want.mistakes {
			if !slices.ContainsFunc(off.Why, func(p jjm.Problem) bool {
				return strings.HasPrefix(p.String(), filepath.Join(dir, mistake))
			}) {
				t.Errorf("%s: %v, want %s", want.typ, off.Why, mistake)
			}
		}
		delete(got, want.typ)
	}
	if len(got) > 0 || loaded.Types["script"] != nil || len(loaded.Loose) > 0 {
		t.Errorf("more is off: %v; %v", got, loaded)
	}
}

// If several files declare the same type, the file that is named after the type is used, even if it has mistakes. If no
// file is named after the type, the first file is used.
func TestLoad_OneTypeOfAName(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		on    string // the file that is used, "" if the type is off
		off   []string
	}{
		{"the first", map[string]string{"a.toml": named("toy"), "b.toml": named("toy"), ".c.toml": "x", "d.txt": "x"},
			"a.toml", []string{"b.toml"}},
		{"the one of the name", map[string]string{"a.toml": named("toy"), "toy.toml": named("toy")},
			"toy.toml", []string{"a.toml"}},
		{"an old copy does not step in", map[string]string{"a.toml": named("toy"), "toy.toml": "name = \"toy\"\n"},
			"", []string{"toy.toml", "a.toml"}},
	} {
		loaded, err := Folder{Dir: folder(t, c.files)}.Load()
		if err != nil {
			t.Fatal(err)
		}
		var off []string
		for _, o := range loaded.Types.AllOff(loaded.Off...) {
			off = append(off, filepath.Base(o.File))
		}
		if !slices.Equal(off, c.off) {
			t.Errorf("%s: off are %v, want %v", c.name, off, c.off)
		}
		if h, on := loaded.Types["toy"].(*Type); on != (c.on != "") || on && filepath.Base(h.path) != c.on {
			t.Errorf("%s: %v counts, want %s", c.name, loaded.Types["toy"], c.on)
		}
	}
	if loaded, err := (Folder{Dir: filepath.Join(t.TempDir(), "none")}).Load(); err != nil || len(loaded.Types) > 0 {
		t.Errorf("no folder: %v, %v", loaded, err)
	}
}

// If other accounts can change a file in the folder of the types, every type that may read this file is off: types that
// pack the file, and types with a program in the same folder. If there is no such type, the file is reported
// nevertheless.
func TestLoad_AFileBesideThatOthersCanChange(t *testing.T) {
	held := func(path string) error {
		if filepath.Base(path) == "lib.py" {
			return errors.New("others can write it")
		}
		return nil
	}
	packs := strings.Replace(named("packs"), "[work]", "[[inputs]]\npath = \"lib.py\"\n[work]", 1)
	for _, c := range []struct {
		files map[string]string
		off   []string
		loose int
	}{
		{map[string]string{"packs.toml": packs, "good.toml": named("good")}, []string{"packs"}, 0},
		{map[string]string{"asked.toml": program("asked", "asked.sh"), "asked.sh": "#!/bin/sh\n", "good.toml": named("good")},
			[]string{"asked"}, 0},
		{map[string]string{"good.toml": named("good")}, nil, 1},
	} {
		c.files["lib.py"] = "x"
		loaded, err := Folder{Dir: folder(t, c.files), Held: held}.Load()
		if err != nil {
			t.Fatal(err)
		}
		var off []string
		for _, o := range loaded.Types.AllOff() {
			off = append(off, o.Type)
			if filepath.Base(o.File) != "lib.py" || !strings.Contains(o.Remedy(), "/lib.py and start the daemon again") {
				t.Errorf("%s: the file to mend is %s: want lib.py", o.Type, o.File)
			}
		}
		if !slices.Equal(off, c.off) || len(loaded.Loose) != c.loose {
			t.Errorf("%v: off are %v, want %v; %v belong to no type", c.files, off, c.off, loaded.Loose)
		}
	}
}

// A file that other accounts can change is not packed, not even for a job that was accepted before: that job waits.
func TestOffType_PacksNothingThatOthersCanChange(t *testing.T) {
	packs := strings.Replace(named("toy"), "[work]", "[[inputs]]\npath = \"lib.py\"\n[work]", 1)
	spec := &jjm.Spec{Type: "toy", Params: map[string]any{textKey: packs, "words": []any{"a"}}}
	for _, c := range []struct {
		name string
		held func(path string) error
		text string
		wait bool
	}{
		{"a mistake", nil, "name = \"toy\"\n", false},
		{"others can change a file", func(path string) error {
			if filepath.Base(path) == "lib.py" {
				return errors.New("others can write it")
			}
			return nil
		}, packs, true},
	} {
		loaded, err := Folder{Dir: folder(t, map[string]string{"toy.toml": c.text, "lib.py": "x"}), Held: c.held}.Load()
		if err != nil {
			t.Fatal(err)
		}
		if err := handlers.MayPack(loaded.Types["toy"], spec, handlers.Site{}); (err != nil) != c.wait ||
			c.wait && jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A type that is off refuses new jobs. Jobs that were accepted before run as they were planned.
func TestOffType_RefusesNewJobsAndRunsAcceptedOnes(t *testing.T) {
	was := parsed(t, named("toy"))
	words := func() *jjm.Spec { return &jjm.Spec{Type: "toy", Params: map[string]any{"words": []any{"a"}}} }
	spec, problems := handlers.Ready(was, words(), handlers.Site{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	loaded, err := Folder{Dir: folder(t, map[string]string{"toy.toml": "name = \"toy\"\nnmae = 1\n"})}.Load()
	if err != nil {
		t.Fatal(err)
	}
	off := loaded.Types["toy"]
	_, problems = handlers.Ready(off, words(), handlers.Site{})
	if len(problems) != 1 || problems[0].Field != "type" || !strings.Contains(problems[0].Text, "toy is off: ") ||
		!strings.Contains(problems[0].Text, "toy.toml and start the daemon again") {
		t.Errorf("a new job: %v", problems)
	}
	cut, err := off.Split(spec, handlers.Site{})
	if err != nil || cut.Jobs != 2 {
		t.Errorf("an accepted job is cut into %d: %v", cut.Jobs, err)
	}
	job := &jjm.LocalJob{Part: jjm.Part{Unit: jjm.UnitRow, First: 0, Count: 1}}
	want, err := was.Command(spec, job)
	got, again := off.Command(spec, job)
	if err != nil || again != nil || !slices.Equal(got.Argv, want.Argv) {
		t.Errorf("%v %v, want %v %v", got.Argv, again, want.Argv, err)
	}
}

// The files that a type packs are checked again for each grid job. A file that other accounts can change by then is not
// packed.
func TestPrepare_ChecksTheFilesAgain(t *testing.T) {
	var loose error
	packs := strings.Replace(named("packs"), "[work]", "[[inputs]]\npath = \"lib.py\"\n[work]", 1)
	dir := folder(t, map[string]string{"packs.toml": packs, "lib.py": "x"})
	held := func(path string) error {
		if filepath.Base(path) == "lib.py" {
			return loose
		}
		return nil
	}
	loaded, err := Folder{Dir: dir, Held: held}.Load()
	if err != nil {
		t.Fatal(err)
	}
	packed, err := handlers.Added(loaded.Types["packs"], &jjm.Spec{Type: "packs"}, handlers.Site{})
	if err != nil || len(packed) != 1 {
		t.Errorf("while only the owner can change it: %v, %v", packed, err)
	}
	loose = errors.New("others can write it")
	_, err = handlers.Added(loaded.Types["packs"], &jjm.Spec{Type: "packs"}, handlers.Site{})
	if jjm.KindOf(err) != jjm.Busy || !strings.Contains(err.Error(), "lib.py: others can write it") {
		t.Errorf("when others can change it: %v", err)
	}
}
