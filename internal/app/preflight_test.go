package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"jjm/adapters"
	adaptersall "jjm/adapters/all"
	"jjm/internal/jjm"
)

// The configuration of every kind of cluster implements adapters.Checked, so that "jjm config check" can check its
// values without opening the cluster.
func TestExamine_EveryKindChecksItsSettings(t *testing.T) {
	for kind, build := range adaptersall.Registry() {
		checked := false
		_, _ = build("x", adapters.Env{}, func(into any) error {
			_, checked = into.(adapters.Checked)
			return errOnlyChecked
		})
		if !checked {
			t.Errorf("%s: its settings are no adapters.Checked: jjm config check could not find mistakes in their values", kind)
		}
	}
}

// breakage is a common mistake: lines of a part of the configuration, or something on the disk.
type breakage struct {
	part  string
	lines string
	disk  func(dir string) error
}

func breakages() []breakage {
	put := func(name, text string, mode os.FileMode) func(dir string) error {
		return func(dir string) error {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte(text), mode); err != nil {
				return err
			}
			return os.Chmod(path, mode)
		}
	}
	all := []breakage{
		{part: "top", lines: `work = "DIR/file/work"`, disk: put("file", "", 0o644)},
		{part: "top", lines: `work = "relative"`},
		{part: "top", lines: `wrapper = "DIR/none"`},
		{part: "top", lines: `log = "loud"`},
		{part: "top", lines: `lgo = "info"`},
		{part: "top", lines: `run_as = "everybody"`},
		{part: "top", lines: `reserve_bytes = -1`},
		{part: "top", lines: `job_types = "DIR/nofolder"`, disk: put("nofolder", "", 0o644)},
		{part: "engine", lines: `poll = "0s"`},
		{part: "engine", lines: `workers = 0`},
		{part: "engine", lines: `exit_not_done = 300`},
		{part: "gate", lines: `mode = "0777"`},
		{part: "gate", lines: `group = "no-such-group"`},
		{part: "gate", lines: `admins = ["no-such-account"]`},
		{part: "accounting", lines: `blah = "relative"`},
		{part: "accounting", lines: "blah = \"DIR/none/blah.log\"\nce = \"ce:9619/ce\""},
		{part: "advertise", lines: `quality = "splendid"`},
		{part: "metrics", lines: `listen = "0.0.0.0:9137"`},
		{part: "metrics", lines: `listen = "DIR/none/scrapes"`},
		{part: "metrics", lines: `allow = "all"`},
		{part: "web", lines: `listen = "0.0.0.0:9138"`},
		{part: "web", lines: `listen = "DIR/none/page"`},
		{part: "web", lines: "listen = \"DIR/page\"\ntokens = \"DIR/tokens\"", disk: put("tokens", "a b\n", 0o600)},
		{part: "web", lines: "listen = \"DIR/page\"\nuser_header = \"Host\""},
		{part: "web", lines: "listen = \"DIR/page\"\nuser_header = \"X-User\"\nproxy = \"no-such-account\""},
		{part: "advertise", lines: `bin = "bin"`},
		{part: "local", lines: `slots = -4`},
		{part: "local", lines: `keep = "1s"`},
		{part: "local", lines: `slot = 4`},
		{part: "local", lines: `max_pending = -1`},
		{part: "more", lines: "[[cluster]]\nname = \"b\"\nkind = \"lcoal\"\nslots = -4"},
		{part: "more", lines: "[[cluster]]\nname = \"b c\"\nkind = \"nqs\"\nmax_running = -1\nown = 3"},
		{part: "more", lines: "[[cluster]]\nname = \"b\"\nkind = \"command\"\ndescription = \"DIR/b.toml\"",
			disk: put("b.toml", "name = \"b\"\nlits = 3\n", 0o644)},
	}
	for kind, bad := range map[string]string{"slurm": "history = \"1s\"", "condor": "grace = \"0s\"",
		"pbs": "dialect = \"x\"\nenv = { TZ = \"Middle/Earth\" }", "sge": "qos = \"high\""} {
		all = append(all, breakage{part: "more", lines: fmt.Sprintf("[[cluster]]\nname = %q\nkind = %q\n%s", kind, kind,
			bad)})
	}
	slices.SortStableFunc(all, func(a, b breakage) int { return strings.Compare(a.lines, b.lines) })
	return all
}

// configuration writes a configuration with mistakes into a folder, and returns the path of its main file.
func configuration(dir string, broken []breakage) (path string, err error) {
	parts := map[string]string{}
	for _, b := range broken {
		if b.disk != nil {
			if err := b.disk(dir); err != nil {
				return "", err
			}
		}
		for line := range strings.Lines(b.lines + "\n") {
			parts[b.part] += line
		}
	}
	text := parts["top"]
	for _, part := range []string{"engine", "gate", "accounting", "advertise", "metrics", "web"} {
		text += "[" + part + "]\n" + parts[part]
	}
	text += "[[cluster]]\nname = \"local\"\nkind = \"local\"\n" + parts["local"] + parts["more"]
	path = filepath.Join(dir, "jjm.toml")
	return path, os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o644)
}

// For any mistakes in any files, the daemon starts if the check lists no mistakes, and otherwise refuses to start with
// the listed mistakes. A mistake that is listed for a file with only this mistake is also listed together with other
// mistakes.
func TestExamine_WhatServeRefusesIsWhatCheckListed(t *testing.T) {
	all := breakages()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "jjmx")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		var broken []breakage
		keys := map[string]bool{} // a repeated key would hide the rest of the file
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(all)-1), 0, 6, rapid.ID).Draw(t, "mistakes") {
			b := all[i]
			if key, _, _ := strings.Cut(b.lines, " = "); b.part == "more" || !keys[b.part+key] {
				keys[b.part+key] = true
				broken = append(broken, b)
			}
		}
		path, err := configuration(dir, broken)
		if err != nil {
			t.Fatal(err)
		}
		opts := Options{Config: path, Getenv: getenv(map[string]string{"JJM_STATE": dir + "/s"}), Stderr: &strings.Builder{},
			Executable: "/bin/sh"}
		wrapper := filepath.Join(dir, "jjm-wrapper")
		if err := os.WriteFile(wrapper, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if rapid.Float64().Draw(t, "wrapper") < 0.9 {
			opts.Executable = filepath.Join(dir, "jjm-daemon")
		}
		_, _, listed := Examine(opts)
		if _, err := os.Stat(dir + "/s"); err == nil {
			t.Fatal("a check made the state folder")
		}
		a, refused := New(context.Background(), opts)
		if refused == nil {
			refused = a.Close()
		}
		text := func(err error) string {
			if err == nil {
				return ""
			}
			return err.Error()
		}
		if text(refused) != text(listed.Err()) {
			t.Fatalf("it was listed:\n%v\nthe daemon refuses:\n%v", listed, refused)
		}
		if len(listed) < len(broken) {
			t.Fatalf("%d mistakes %+v, and listed were\n%v", len(broken), broken, listed)
		}
		for _, p := range listed {
			if p.Field == "" || p.Text == "" || p.Where == "" || strings.Contains(p.Text, "\n") {
				t.Fatalf("not a place, a key and a remedy: %+v", p)
			}
		}
		if len(listed) > 0 && jjm.KindOf(refused) != jjm.Invalid {
			t.Fatalf("kind %v", jjm.KindOf(refused))
		}
	})
}
