package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
	"jjm/sandbox"
)

// reads makes the part of the attempt read outputs of the local jobs 16.0 and 16.1: the file out.dat of each, the
// second as a file of a secondary dataset.
func (s *site) reads() {
	s.t.Helper()
	a := &s.as[0]
	a.In = s.area.InDir(a.AttemptID())
	for n, link := range []string{"first.16.0.out.dat", "1/out.dat"} {
		file := sandbox.AttemptDir(jjm.AttemptID{LocalID: jjm.LocalID{Grid: 16, N: int32(n)}}) + "/work/out.dat"
		s.put(file, strings.Repeat("x", n+3)+"\n")
		a.Given = append(a.Given, sandbox.Given{Link: link, Path: file, Size: int64(n + 4)})
	}
	first, second := filepath.Join(a.In, a.Given[0].Link), filepath.Join(a.In, a.Given[1].Link)
	a.Argv = append(a.Argv, "sh", first)
	a.Env = map[string]string{"SECOND": "file:" + second}
	a.Part = jjm.Part{Unit: jjm.UnitFile, Count: 1, Serial: 1, Streams: map[string][]string{"IN": {first}},
		Input: &jjm.PartInput{Files: []string{first}, More: &jjm.PartMore{
			Secondary: []jjm.StreamFiles{{Dataset: "more", Files: []string{second}}}}}}
}

// put writes a file below the work area.
func (s *site) put(name, text string) {
	s.t.Helper()
	file := filepath.Join(s.area.Root(), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// readAll is a script that prints the contents of all files that the command line, the environment, the list of inputs
// and the JSON of the part name.
const readAll = `cat "$1" "${SECOND#file:}" $(cat "$JJM_INPUT_FILES"); tr , '\n' <"$JJM_INPUT" | sed -n 's/.*"\(\/[^"]*\)".*/\1/p' | xargs cat
echo "$1" >name`

func TestGiven_IsReadByItsNameInTheDataset(t *testing.T) {
	s := newSite(t, readAll)
	s.reads()
	s.run(exitOK)
	if got, want := s.file("stdout"), "xxx\nxxxx\nxxx\nxxx\nxxx\nxxxx\n"; got != want {
		t.Errorf("read %q, want %q; %s", got, want, s.file("stderr"))
	}
	if got, want := s.file("work/name"), filepath.Join(s.as[0].In, "first.16.0.out.dat")+"\n"; got != want {
		t.Errorf("the command has %q, want %q", got, want)
	}
	if gone := s.result().Gone; gone != nil {
		t.Errorf("gone: %v", gone)
	}
}

// On a worker that does not see the work area, the batch system transfers the files with the job, and the application
// gets the paths of the transferred files.
func TestGiven_ComesToAWorkerThatDoesNotSeeTheArea(t *testing.T) {
	s := newSite(t, readAll)
	s.reads()
	s.as[0].In = "/work/alice/jobs/17/0xxx/3/attempt.0/in"
	moved := s.as[0]
	moved.In = s.area.InDir(moved.AttemptID())
	moved.MoveIn(s.as[0].In)
	s.as[0] = moved
	s.carried(exitOK, func(dir string, box sandbox.Box) {
		s.bringAll(dir, box)
		if err := s.area.LinkGiven(testTag, s.as); err != nil {
			t.Fatal(err)
		}
		folder, err := s.area.GivenFolder(testTag)
		if err != nil {
			t.Fatal(err)
		}
		copyAll(t, filepath.Join(dir, "0"), filepath.Join(folder, "0"))
	})
	if r, err := s.area.TakeParcel(testTag, 0, s.as[0].AttemptID(), 0); err != nil || r == nil || r.Gone != nil {
		t.Fatalf("parcel: %+v, %v", r, err)
	}
	if got, want := s.file("stdout"), "xxx\nxxxx\nxxx\nxxx\nxxx\nxxxx\n"; got != want {
		t.Errorf("read %q, want %q; %s", got, want, s.file("stderr"))
	}
}

// The result names a missing or replaced file, and the application is not started.
func TestGiven_WhatIsGoneIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, file string)
		why   string
	}{
		"removed": {func(t *testing.T, file string) { _ = os.Remove(file) }, "it is not there any more"},
		"longer": {func(t *testing.T, file string) { _ = os.WriteFile(file, []byte("another\n"), 0o600) },
			"it has 8 bytes, and 5 were made"},
		"a folder": {func(t *testing.T, file string) { _ = os.Remove(file); _ = os.Mkdir(file, 0o700) },
			"it is a folder, not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, `echo ran`)
			s.reads()
			c.spoil(t, filepath.Join(s.area.Root(), s.as[0].Given[1].Path))
			s.run(exitOK)
			r := s.result()
			if diff := cmp.Diff([]jjm.GoneFile{{Link: "1/out.dat", Why: c.why}}, r.Gone); diff != "" {
				t.Errorf("gone (-want +got):\n%s", diff)
			}
			if r.Exit != exitNotExecutable || !strings.Contains(r.Error, "1/out.dat: "+c.why) {
				t.Errorf("exit %d, error %q", r.Exit, r.Error)
			}
		})
	}
}

// A forged assignment cannot name files outside the area.
func TestGiven_NamesAndPathsStayBelow(t *testing.T) {
	for _, g := range []sandbox.Given{{Link: "../out", Path: "jobs/x"}, {Link: "/etc/x", Path: "jobs/x"},
		{Link: "a/../../b", Path: "jobs/x"}, {Link: "a", Path: "../../etc/passwd"}, {Link: "a", Path: "/etc/passwd"}} {
		s := newSite(t, `echo ran`)
		s.as[0].Given = []sandbox.Given{g}
		s.run(exitOK)
		if r := s.result(); r.Exit != exitNotExecutable || !strings.Contains(r.Error, "want a name") {
			t.Errorf("%+v: exit %d, error %q", g, r.Exit, r.Error)
		}
	}
}
