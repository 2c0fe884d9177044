package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

// logFiles returns the contents of the files in the log of an attempt, by name.
func logFiles(t *testing.T, text string) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(content)
	}
}

// The log contains the output of the job, even if the job failed. If the job file requests no log, there is none.
func TestLog_HoldsWhatTheJobWrote(t *testing.T) {
	for _, script := range []string{"echo to stdout; echo to stderr >&2; $GBS_LOG SUCCEEDED -",
		"echo to stdout; echo to stderr >&2; $GBS_LOG FAILED -; exit 3"} {
		s := newSite(t, script)
		s.as[0].Log = true
		s.run(exitOK)
		r := s.result()
		if len(r.Outputs) != 1 || r.Outputs[0].Name != "log.tgz" || r.Outputs[0].Absent != "" ||
			len(r.Outputs[0].SHA256) != 64 {
			t.Fatalf("%+v", r.Outputs)
		}
		got := logFiles(t, s.file("log.tgz"))
		if diff := cmp.Diff(map[string]string{"stdout": s.file("stdout"), "stderr": s.file("stderr"),
			"job.glf": s.file("job.glf")}, got); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		if !strings.Contains(got["job.glf"], "END") && !strings.Contains(got["job.glf"], "exit") {
			t.Errorf("the log ends before the job does: %q", got["job.glf"])
		}
	}
	s := newSite(t, "true")
	s.run(exitOK)
	if exists(s.attemptDir() + "/log.tgz") {
		t.Error("a log that nobody asked for")
	}
}

// If the application created a file with the name of the log, this file is not collected, and the result has the
// reason.
func TestLog_OfAnotherMakerIsNotTaken(t *testing.T) {
	s := newSite(t, "echo mine > ../log.tgz; $GBS_LOG SUCCEEDED -")
	s.as[0].Log = true
	s.run(exitOK)
	r := s.result()
	if len(r.Outputs) != 1 || !strings.HasPrefix(r.Outputs[0].Absent, "pack the log: ") {
		t.Errorf("%+v", r.Outputs)
	}
}

// The file input.json, which describes the part to the application, has the values of the streams.
func TestInput_TellsTheStreams(t *testing.T) {
	s := newSite(t, `cp "$JJM_INPUT" seen; $GBS_LOG SUCCEEDED seen`)
	s.as[0].Part.Input = &jjm.PartInput{Files: []string{"f1"}}
	s.as[0].Part.Streams = map[string][]string{"EVNT": {"EVNT.000001.root"}}
	s.run(exitOK)
	if got := s.file("work/seen"); !strings.Contains(got, `"streams":{"EVNT":["EVNT.000001.root"]}`) {
		t.Error(got)
	}
}
