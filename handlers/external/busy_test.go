package external

import (
	"errors"
	"strings"
	"testing"

	"jjm/handlers"
	"jjm/internal/jjm"
)

// A request to a program can fail because too many programs run, or because the program is too slow. Then the error
// does not blame the job file.
func TestPlan_ABusyMachineIsNoMistake(t *testing.T) {
	for _, c := range []struct {
		err  error
		want jjm.Kind
	}{
		{jjm.Errorf(jjm.Busy, "2 programs of job types run already: try again"), jjm.Busy},
		{errors.New("permission denied"), jjm.Invalid},
	} {
		p := plans(`{"plan": {"rows": [["a"]], "command": ["x"]}}`)
		h, site := newType(t, p)
		if problems := h.Learn(); len(problems) > 0 {
			t.Fatal(problems)
		}
		p.err = c.err
		_, problems := handlers.Ready(h, job(int64(2)), site)
		if err := problems.Err(); jjm.KindOf(err) != c.want || !strings.Contains(err.Error(), c.err.Error()) {
			t.Errorf("%v is of kind %v, want %v", err, jjm.KindOf(err), c.want)
		}
	}
}

// If the program of a type does not describe its type in time, the type is off: the daemon asks the program again, and
// a person has to act.
func TestLearn_ABusyMachineTurnsTheTypeOff(t *testing.T) {
	p := plans("")
	p.err = jjm.Errorf(jjm.Busy, "it did not end within 20 s")
	h, site := newType(t, p)
	_, problems := handlers.Ready(h, job(int64(2)), site)
	if err := problems.Err(); jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "scan is off: ") {
		t.Errorf("%v is of kind %v", err, jjm.KindOf(err))
	}
}
