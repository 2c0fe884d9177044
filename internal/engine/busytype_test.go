package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// hangingUsers runs all commands of owners as hanging, which never end by their deadlines.
type hangingUsers struct{ *slowUsers }

func (hangingUsers) Runner(jjm.Owner) run.Runner { return hanging{} }

type hanging struct{}

func (hanging) UID() int { return 0 }

// Run returns a second after the command's deadline, like a command that has to be killed because a first signal did
// not end it.
func (hanging) Run(_ context.Context, c run.Cmd) (run.Output, error) {
	time.Sleep(c.Deadline + time.Second)
	return run.Output{}, jjm.Errorf(jjm.Ambiguous, "%w", context.DeadlineExceeded)
}

// If the program of a job type does not end in time, or is not started because too many programs run, this is no
// mistake in the job file: a submission and a dry run return an error of kind Busy.
func TestSubmit_ProgramsThatAreBusy(t *testing.T) {
	t.Parallel()
	inWorld(t, options{users: hangingUsers{&slowUsers{}}}, func(t *testing.T, w *world) {
		for _, dry := range []bool{true, false} {
			var all sync.WaitGroup
			errs := make(chan error, 3)
			for range 3 {
				all.Go(func() { errs <- w.submitBusy(bob, dry) })
			}
			all.Wait()
			close(errs)
			ended, places := 0, 0
			for err := range errs {
				if jjm.KindOf(err) != jjm.Busy {
					t.Fatalf("dry run %v: %v is of kind %v, want %v", dry, err, jjm.KindOf(err), jjm.Busy)
				}
				if strings.Contains(err.Error(), "it did not end within 20 s") {
					ended++
				}
				if strings.Contains(err.Error(), "2 programs of job types run for bob already: try again") {
					places++
				}
			}
			if ended != 2 || places != 1 {
				t.Errorf("dry run %v: %d did not end, %d found no place, want 2 and 1", dry, ended, places)
			}
		}
	})
}

// The daemon carries out the entries of the spool one after another, so it cannot wait for a program that hangs. The
// submission is refused as Invalid, and the program is not started again.
func TestSubmit_AProgramThatHangsIsFinalInTheSpool(t *testing.T) {
	t.Parallel()
	inWorld(t, options{users: hangingUsers{&slowUsers{}}}, func(t *testing.T, w *world) {
		caller := bob
		caller.Spooled = true
		err := w.submitBusy(caller, false)
		if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "it did not end within 20 s") {
			t.Errorf("%v is of kind %v, want %v", err, jjm.KindOf(err), jjm.Invalid)
		}
	})
}

// submitBusy submits a job of the type busytest, whose description comes from a program.
func (w *world) submitBusy(c wire.Caller, dry bool) error {
	_, err := w.engine.Submit(context.Background(), c, wire.Submit{Name: "j.toml", Text: "type = \"busytest\"\n",
		BaseDir: w.dir, DryRun: dry})
	return err
}
