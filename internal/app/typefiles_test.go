package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
)

// If another account could replace the program of a job type, the job type is off, and the reported problem names the
// folder. For all other programs of the daemon, only root or an account that may change job types may be able to write
// to the program's folder and to the folders above it. A program that another account could replace is refused before
// it runs.
func TestExamine_RefusesWhatOthersCouldReplace(t *testing.T) {
	needs.Root(t, "to give folders to other accounts")
	for _, test := range []struct {
		name, lines string
		disk        func(dir string) error
	}{
		{"a program in a folder of all", `job_types = "DIR/types"`, func(dir string) error {
			return errors.Join(declare(dir), os.Chmod(dir+"/theirs", 0o777))
		}},
		{"a program in another account's folder", `job_types = "DIR/types"`, func(dir string) error {
			return errors.Join(declare(dir), os.Chown(dir+"/theirs", 4711, 4711))
		}},
		{"a link that leads there", `job_types = "DIR/types"`, func(dir string) error {
			return errors.Join(os.Symlink("../theirs/prog", dir+"/types/prog"), os.Chown(dir+"/theirs", 4711, 4711))
		}},
		{"the folder of job types", `job_types = "DIR/theirs/types"`, func(dir string) error {
			return errors.Join(os.Mkdir(dir+"/theirs/types", 0o755), os.Chown(dir+"/theirs", 4711, 4711))
		}},
		{"the wrapper", `wrapper = "DIR/theirs/prog"`, func(dir string) error { return os.Chmod(dir+"/theirs", 0o777) }},
		{"a hook", section(`hook = "DIR/theirs/prog"`), func(dir string) error { return os.Chmod(dir+"/theirs", 0o777) }},
		{"commands", section(`bin = "DIR/theirs"`), func(dir string) error { return os.Chown(dir+"/theirs", 4711, 4711) }},
	} {
		dir := t.TempDir()
		err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(dir+"/types", 0o755), os.Mkdir(dir+"/theirs", 0o755),
			os.WriteFile(dir+"/theirs/prog", []byte("#!/bin/sh\ntouch "+dir+"/ran\n"), 0o755), test.disk(dir),
			os.WriteFile(dir+"/jjm.toml", []byte(strings.ReplaceAll("state = \"DIR/s\"\n"+test.lines+"\n", "DIR", dir)), 0o644))
		if err != nil {
			t.Fatal(err)
		}
		config, _, problems := Examine(Options{Config: filepath.Join(dir, "jjm.toml"), Getenv: noEnv})
		types, _ := config.Types()
		Untold(types.Registry) // this runs the programs of job types, but none that another account can replace
		problems = append(problems, types.Mistakes()...)
		if said := fmt.Sprint(problems.Err()); !strings.Contains(said, "the folder "+dir+"/theirs ") ||
			!strings.Contains(said, "mode d") {
			t.Errorf("%s: %s", test.name, said)
		}
		if _, err := os.Stat(dir + "/ran"); err == nil {
			t.Errorf("%s: it was run", test.name)
		}
	}
}

// declare writes the file of a job type whose program is in the folder "theirs".
func declare(dir string) error {
	return os.WriteFile(dir+"/types/own.toml", []byte(fmt.Sprintf("name = \"own\"\nprogram = %q\n", dir+"/theirs/prog")),
		0o644)
}

func section(lines string) string {
	return "[[cluster]]\nname = \"s\"\nkind = \"slurm\"\n" + lines
}

// A mistake in the file of a job type does not stop the daemon: it starts, the type is off, and the mistakes are
// reported with the whole path.
func TestTypes_AMistakeInAFileDoesNotStopTheStart(t *testing.T) {
	dir := t.TempDir()
	err := errors.Join(os.Mkdir(dir+"/types", 0o755),
		os.WriteFile(dir+"/types/bad.toml", []byte("nme = \"bad\"\n"), 0o644),
		os.WriteFile(dir+"/types/script.toml", []byte(good("script")), 0o644),
		os.WriteFile(dir+"/types/own.toml", []byte(good("own")), 0o644),
		os.WriteFile(dir+"/jjm-wrapper", []byte("#!/bin/sh\n"), 0o755),
		os.WriteFile(dir+"/jjm.toml", []byte(fmt.Sprintf("state = %q\njob_types = %q\n", dir+"/s", dir+"/types")), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	log := &strings.Builder{}
	opts := Options{Config: dir + "/jjm.toml", Getenv: noEnv, Stderr: log, Executable: dir + "/jjm-daemon"}
	a, err := New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, line := range []string{"file=" + dir + "/types/bad.toml mistakes=\"" + dir + "/types/bad.toml:1: nme: ",
		"file=" + dir + "/types/script.toml mistakes=\"" + dir + "/types/script.toml: name: "} {
		if strings.Count(log.String(), line) != 1 {
			t.Errorf("not once %s in the log:\n%s", line, log)
		}
	}
	off, rows := map[string]bool{}, map[string]int{}
	for _, typ := range a.engine.JobTypes() {
		off[typ.Type] = typ.Off
		if rows[typ.Type]++; rows[typ.Type] > 1 {
			t.Errorf("%s has more than one row", typ.Type)
		}
		if typ.Off && (len(typ.Problems) == 0 || typ.Remedy == "" || typ.File == "") {
			t.Errorf("%+v", typ)
		}
	}
	if own, there := off["own"]; !there || own || !off["bad"] || off["script"] || !off["script.toml"] {
		t.Errorf("off are %v", off)
	}
	for _, typ := range a.facts().Types {
		if typ.Name == "bad" {
			t.Error("a type that is off is advertised")
		}
	}
	if next, _, err := Load(opts.Config, noEnv); err != nil || next.JobTypes != dir+"/types" {
		t.Errorf("a reload: %v", err)
	}
}

// good returns the file of a job type without mistakes.
func good(name string) string {
	return fmt.Sprintf("name = %q\nsummary = \"x\"\ncommand = [\"true\"]\n[work]\ncount = 1\n", name)
}
