package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"jjm/internal/testkit/said"
)

// saidVar is the environment variable with the folder in which each jjm of a script stores a copy of its output.
const saidVar = "JJM_TEST_SAID"

// runRecorded is the program jjm in scripts: it runs jjm and stores a copy of the output.
func runRecorded() int {
	c, dir := standard(), os.Getenv(saidVar)
	if dir == "" {
		return c.main(os.Args[1:])
	}
	keep := func(w io.Writer) io.Writer {
		kept, err := os.CreateTemp(dir, "said")
		if err != nil {
			panic(err)
		}
		return io.MultiWriter(w, kept)
	}
	if !slices.Contains(os.Args, "output") { // jjm output may write a tar to standard output
		c.out = bufio.NewWriter(keep(c.outFile))
	}
	if !isTerminal(c.errFile) { // on a terminal, jjm draws bars again and again
		c.err = keep(c.errFile)
	}
	return c.main(os.Args[1:])
}

// recordOutput makes the folder for the output of a script's commands. At the end of the script, it checks that all
// output follows the rules for texts that people read.
func recordOutput(env *testscript.Env, t testing.TB) error {
	dir := filepath.Join(env.WorkDir, ".said")
	env.Vars = append(env.Vars, saidVar+"="+dir)
	env.Defer(func() {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(files) == 0 {
			t.Errorf("the script ran no jjm: %v", err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Error(err)
			}
			for _, wrong := range said.Wrong(string(text)) {
				t.Error(wrong)
			}
		}
	})
	return os.Mkdir(dir, 0o700)
}
