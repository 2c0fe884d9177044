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

// saidVar names the folder in which each jjm of a script stores its output.
const saidVar = "JJM_TEST_SAID"

// runRecorded runs jjm for scripts and stores a copy of its output.
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
	if !slices.Contains(os.Args, "output") { // with output, the tar of a job goes to standard output
		c.out = bufio.NewWriter(keep(c.outFile))
	}
	if !isTerminal(c.errFile) { // a terminal gets bars that are drawn again and again
		c.err = keep(c.errFile)
	}
	return c.main(os.Args[1:])
}

// recordOutput prepares the folder for the output of a script's commands. At the end of the script it checks all of it
// against the rules for text that people read.
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
