package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/handlers"
	"jjm/handlers/declared"
	"jjm/internal/jjm"
)

// If the machine is busy, the program of a job type may not end in its time. This is no fault of the type. The exit
// codes of "job-types test" and of a preview then mean that a retry can help.
func TestTypes_ABusyMachineHasItsOwnExitCode(t *testing.T) {
	dir := t.TempDir()
	for name, text := range asks(`reply "$(rows $n)" "$word"`) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	busy := func(p handlers.Program) (handlers.Ran, error) {
		if bytes.Contains(p.Stdin, []byte(`"describe"`)) {
			return runProgram(p)
		}
		return handlers.Ran{}, jjm.Errorf(jjm.Busy, "it did not end within 20 s")
	}
	var out bytes.Buffer
	err := (&testType{Args: []string{filepath.Join(dir, "toy.toml")}, run: busy}).Run(&out)
	if own := (*exit)(nil); !errors.As(err, &own) || own.code != exitBusy ||
		!strings.Contains(out.String(), "it did not end within 20 s") {
		t.Errorf("test: %v\n%s", err, out.String())
	}
	h, problems := declared.Read(filepath.Join(dir, "toy.toml"), busy)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	spec := &jjm.Spec{Type: "toy", Params: map[string]any{"n": int64(2), "word": "a"}}
	if err := typeMistakes(h, handlers.Site{Run: busy}, spec).Err(); err == nil || codeOf(err) != exitBusy {
		t.Errorf("preview: %v, exit code %d", err, codeOf(err))
	}
}
