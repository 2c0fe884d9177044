package pbs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// scattered returns references to n members, of which no two are neighbours: every second one in refs.
func scattered(refs []adapters.Ref, n int) (some []adapters.Ref) {
	for i := range n {
		some = append(some, refs[2*i])
	}
	return some
}

func TestCommands_OfACancelNameOneOperandOfAnArrayEach(t *testing.T) {
	array := target{seq: "25", array: true}
	for ref, index := range []int32{9, 3, 4, 5, 1} {
		array.members = append(array.members, memberRef{index, ref})
	}
	targets := []target{{seq: "7", members: []memberRef{{0, 5}}}, array,
		{seq: "30", array: true, whole: true, members: []memberRef{{0, 6}}}, {seq: "8", members: []memberRef{{0, 7}}}}
	for atOnce, want := range map[int]string{
		operandsAtOnce: "qdel 7 30[] 8\nqdel 25[3-5]\nqdel 25[1]\nqdel 25[9]",
		1:              "qdel 7\nqdel 30[]\nqdel 8\nqdel 25[3-5]\nqdel 25[1]\nqdel 25[9]",
	} {
		var got []string
		for _, c := range commands(adapters.Cancel, openpbs, targets, atOnce) {
			got = append(got, strings.Join(c.argv, " "))
		}
		if text := strings.Join(got, "\n"); text != want {
			t.Errorf("%d operands at once:\n%s\nwant\n%s", atOnce, text, want)
		}
	}
}

// The members to cancel are not neighbours, so no range describes them. A single qdel with all of them would delete
// only two of them, or end the server.
func TestCancel_ScatteredMembersOfAnArray(t *testing.T) {
	s := newSite(t)
	s.fault("qdel-crash", true)
	b := s.bulk(1000, "exit 0")
	refs := members(b, s.submit(b).ID)
	s.good(adapters.Cancel, scattered(refs, 100)...)
	found := s.list(b.Tag)
	for i := range int32(1000) {
		want := jjm.BatchHold
		if i%2 == 0 && i < 200 {
			want = jjm.BatchCancelled
		}
		if found[i].State != want {
			t.Fatalf("member %d is %v, want %v", i, found[i].State, want)
		}
	}
	s.good(adapters.Cancel, refs[900:]...) // these members form one range
	if found := s.list(b.Tag); found[999].State != jjm.BatchCancelled || found[899].State != jjm.BatchHold {
		t.Errorf("%+v, %+v", found[899], found[999])
	}
}

func TestCancel_TheRestOfManyIsBusy(t *testing.T) {
	s := newSite(t)
	b := s.bulk(300, "exit 0")
	some := scattered(members(b, s.submit(b).ID), maxDeletes+20)
	busy := 0
	for _, err := range s.control(adapters.Cancel, some...) {
		if err != nil {
			s.wantKind("cancel", err, jjm.Busy)
			busy++
		}
	}
	if busy != 20 {
		t.Errorf("%d are busy, want 20", busy)
	}
	s.good(adapters.Cancel, some...)
}

// replace replaces a command by a shell script, in which "$real" is the path of the command.
func (s *site) replace(name, body string) {
	s.t.Helper()
	path := filepath.Join(s.bin, name)
	real := filepath.Join(s.t.TempDir(), name)
	if err := os.Rename(path, real); err != nil {
		s.t.Fatal(err)
	}
	syscall.ForkLock.RLock() // a child must not hold the file open for writing
	defer syscall.ForkLock.RUnlock()
	text := fmt.Sprintf("#!/bin/sh\nreal=%s state=%s\n%s\n", adapters.Quote(real), adapters.Quote(s.state), body)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

func TestCancel_AWaitingJobThatQdelDidNotDeleteIsBusy(t *testing.T) {
	s := newSite(t)
	array, single := s.bulk(4, "exit 0"), s.bulk(1, "exit 0")
	refs := append(members(array, s.submit(array).ID)[:2], members(single, s.submit(single).ID)...)
	s.replace("qdel", "exit 0")
	for i, err := range s.control(adapters.Cancel, refs...) {
		s.wantKind(fmt.Sprint("cancel of ", refs[i]), err, jjm.Busy)
	}
}

// singles submits n plain jobs.
func (s *site) singles(n int) (refs []adapters.Ref) {
	s.t.Helper()
	for range n {
		b := s.bulk(1, "exit 0")
		refs = append(refs, members(b, s.submit(b).ID)...)
	}
	return refs
}

func TestCancel_ACommandThatEndedTheServerIsNotRepeated(t *testing.T) {
	if _, err := exec.LookPath("touch"); err != nil {
		t.Fatal(err)
	}
	s := newSite(t)
	refs := s.singles(3)
	// The script imitates a recorded qdel: the qdel whose request ends the server exits with 0.
	s.replace("qdel", `echo "$*" >>"$state/deleted"
[ $# = 1 ] || [ -e "$state/sound" ] || { touch "$state/faults/refused"; exit 0; }
exec "$real" "$@"`)
	ran := func() (lines []string) { // returns the qdel commands since its last call
		path := filepath.Join(s.state, "deleted")
		text, err := os.ReadFile(path)
		if err = errors.Join(err, os.Remove(path)); err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	crash := func(refs []adapters.Ref) {
		t.Helper()
		_, err := s.a.Control(t.Context(), s.owner, adapters.Cancel, refs)
		s.wantKind("cancel", err, jjm.Busy)
		if lines := ran(); len(lines) != 1 {
			t.Errorf("qdel ran with %q, want one command", lines)
		}
		s.clk.advance(firstRest) // in an outage the time does not count towards the rest
		s.fault("refused", false)
		s.good(adapters.Cancel, refs...)
		if lines := ran(); len(lines) != len(refs) {
			t.Errorf("qdel ran with %q, want each of %d jobs alone", lines, len(refs))
		}
	}
	crash(refs)
	alone := func(rest time.Duration) {
		t.Helper()
		s.clk.advance(rest - time.Minute)
		s.good(adapters.Cancel, s.singles(2)...)
		if lines := ran(); len(lines) != 2 {
			t.Errorf("before the rest is over qdel ran with %q", lines)
		}
		s.clk.advance(time.Minute)
	}
	alone(firstRest)
	crash(s.singles(3)) // this qdel ends the server again
	alone(2 * firstRest)
	if err := os.WriteFile(filepath.Join(s.state, "sound"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	s.good(adapters.Cancel, s.singles(3)...)
	if lines := ran(); len(lines) != 1 {
		t.Errorf("once the server was well for a while, qdel ran with %q", lines)
	}
	if s.a.alone != (solitude{}) {
		t.Errorf("a command that worked is still suspect: %+v", s.a.alone)
	}
}

func TestSolitude_OneOutageCountsOnceAndAMissingPortNever(t *testing.T) {
	a := makeAdapter(t, func(*Config) {})
	now := time.Unix(1_000_000, 0)
	a.env.Now = func() time.Time { return now }
	shared := []command{{argv: []string{"qdel", "7", "8"}, operands: map[string][]int{"7": {0}, "8": {1}}}}
	sent := []bool{true}
	a.noteShared(shared, sent, errors.New("qstat: exit 255: pbs_iff: all reserved ports in use pbs_iff: cannot connect "+
		"to host auth: error returned: -1 qstat: cannot connect to server pbshost (errno=-1)"))
	if a.operandsNow() != operandsAtOnce {
		t.Error("a missing port counts as the end of the server")
	}
	gone := errors.New("Connection refused qstat: cannot connect to server pbshost (errno=15010)")
	for range 4 {
		a.noteShared(shared, sent, gone)
	}
	if a.operandsNow() != 1 || a.alone.rest != firstRest {
		t.Errorf("after commands that ran at the same time: %+v", a.alone)
	}
	now = now.Add(-time.Hour) // the clock is set back
	a.operandsNow()
	if now = now.Add(firstRest); a.operandsNow() != operandsAtOnce {
		t.Errorf("a rest after the clock was set back: %+v", a.alone)
	}
}
