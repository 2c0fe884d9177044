package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

// manyOutputs returns more outputs than fit into a result.
func manyOutputs() (all []jjm.Output) {
	for i := range 10_000 {
		all = append(all, jjm.Output{Name: fmt.Sprintf("work/a-rather-long-name-of-an-output-file-%05d.root", i), Bytes: 5,
			SHA256: strings.Repeat("0", 64)})
	}
	return all
}

// If a result has too many outputs, PutResult stores all of them in a separate file.
func TestPutResult_KeepsAllOutputs(t *testing.T) {
	a := newBulk(t, 1)
	r := resultAt(0)
	r.Outputs = manyOutputs()
	done(t, a.PutResult(r))
	got, err := a.ReadResult(tag, 0)
	done(t, err)
	if diff := cmp.Diff(r, *got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	n := 0
	_, problems, err := a.Results(t.Context(), tag, Look{N: 1}, func(r *jjm.Result) bool {
		n += len(r.Outputs)
		return true
	})
	if err != nil || len(problems) > 0 || n != len(r.Outputs) {
		t.Errorf("%d outputs, %v, %v", n, problems, err)
	}
	done(t, a.PutResult(*got)) // as TakeParcel does
}

// A job can change the file with the list of outputs. ReadResult then returns an error with the reason, and never
// blocks.
func TestReadResult_WithADamagedListOfOutputsIsNone(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(list string) error
		want  string
	}{
		"gone":     {os.Remove, "is not there"},
		"changed":  {func(list string) error { return os.WriteFile(list, []byte("[]"), 0o600) }, "was changed"},
		"cut":      {func(list string) error { return os.Truncate(list, 1000) }, "was changed"},
		"too long": {func(list string) error { return os.Truncate(list, MaxOutputList+1) }, "longer than"},
		"a pipe": {func(list string) error {
			if err := os.Remove(list); err != nil {
				return err
			}
			return syscall.Mkfifo(list, 0o600)
		}, "is a fifo"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newBulk(t, 1)
			r := resultAt(0)
			r.Outputs = manyOutputs()
			done(t, a.PutResult(r))
			done(t, c.spoil(filepath.Join(a.Root(), BulkDir(tag), "outputs/0.json")))
			got, err := a.ReadResult(tag, 0)
			if err == nil || got != nil || !strings.Contains(err.Error(), c.want) || jjm.KindOf(err) == jjm.Gone {
				t.Errorf("%v, %v", got != nil, err)
			}
			_, problems, err := a.Results(t.Context(), tag, Look{N: 1}, func(*jjm.Result) bool { return true })
			if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Text, c.want) {
				t.Errorf("%v, %v", problems, err)
			}
		})
	}
}

// done ends the test if err is not nil.
func done(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
