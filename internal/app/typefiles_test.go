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

// What the daemon executes lies in folders that only root, or whoever may say what jobs run, can write, up to the top.
// A program that somebody else could replace is refused before it runs, and the problem names the folder.
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
		_, _, problems := Examine(Options{Config: filepath.Join(dir, "jjm.toml"), Getenv: noEnv})
		if said := fmt.Sprint(problems.Err()); !strings.Contains(said, "the folder "+dir+"/theirs ") ||
			!strings.Contains(said, "mode d") {
			t.Errorf("%s: %s", test.name, said)
		}
		if _, err := os.Stat(dir + "/ran"); err == nil {
			t.Errorf("%s: it was run", test.name)
		}
	}
}

// declare puts a job type of a program in the folder "theirs".
func declare(dir string) error {
	return os.WriteFile(dir+"/types/own.toml", []byte(fmt.Sprintf("name = \"own\"\nprogram = %q\n", dir+"/theirs/prog")),
		0o644)
}

func section(lines string) string {
	return "[[cluster]]\nname = \"s\"\nkind = \"slurm\"\n" + lines
}
