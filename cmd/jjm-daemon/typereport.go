package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"jjm/handlers/conformance"
	"jjm/internal/jjm"
)

// testResult is the result of one check of a job type. Findings are the mistakes that the check found.
type testResult struct {
	Type     string   `json:"type"`
	Check    string   `json:"check"`
	OK       bool     `json:"ok"`
	NotTried bool     `json:"not_tried,omitempty"`
	Findings []string `json:"findings,omitempty"`
	// NotChecked names a property that the check could not examine, and how to have it checked.
	NotChecked string `json:"not_checked,omitempty"`
}

// typeReport prints the results of the checks. If one type is tested, it prints each result immediately; if several are
// tested, it prints a table at the end.
type typeReport struct {
	out     io.Writer
	json    bool
	several bool
}

// add stores the result of a check in the subject, and prints it if results are printed immediately.
func (t *typeReport) add(s *subject, r testResult) error {
	s.results = append(s.results, r)
	switch {
	case t.json:
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(t.out, "%s\n", line)
		return err
	case t.several:
		return nil
	}
	return r.print(t.out, "")
}

// print prints the result and its findings. prefix is printed before the result.
func (r *testResult) print(out io.Writer, prefix string) error {
	word := "ok"
	switch {
	case r.NotTried:
		word = "not tried"
	case len(r.Findings) > 0:
		word = "FAILED"
	}
	_, err := fmt.Fprintf(out, "%s%s: %s\n", prefix, word, r.Check)
	for _, f := range r.Findings {
		_, more := fmt.Fprintf(out, "%s%s\n", indent, printable(f))
		err = errors.Join(err, more)
	}
	if r.NotChecked != "" {
		_, more := fmt.Fprintf(out, "%s%s\n", indent, printable(r.NotChecked))
		err = errors.Join(err, more)
	}
	return err
}

// end prints the table if several types were tested, and returns an error with the exit code if types failed.
func (t *typeReport) end(subjects []*subject) error {
	if !t.several {
		return verdict(subjects[0])
	}
	var failed []*subject
	busy := false
	for _, s := range subjects {
		if s.failed() > 0 {
			failed, busy = append(failed, s), busy || s.asked.busy.Load()
		}
	}
	if !t.json {
		if err := t.table(subjects); err != nil {
			return err
		}
	}
	text := fmt.Errorf("%d of %s failed", len(failed), jjm.Count(len(subjects), "job type"))
	switch {
	case len(failed) == 0:
		return nil
	case busy:
		return &exit{exitBusy, fmt.Errorf("%w, and a program did not end in its time: try again", text)}
	case len(failed) == len(subjects):
		return &exit{exitNo, text}
	}
	return &exit{exitSome, text}
}

// verdict returns the error with the exit code for the only type that was tested, nil if no check failed.
func verdict(s *subject) error {
	failed := s.failed()
	switch {
	case failed > 0 && s.asked.busy.Load():
		return &exit{exitBusy, fmt.Errorf("%s of job type %s failed, and a program did not end in its time: try again",
			jjm.Count(failed, "check"), s.name)}
	case failed > 0:
		return &exit{exitNo, fmt.Errorf("%s of job type %s failed", jjm.Count(failed, "check"), s.name)}
	}
	return nil
}

// table prints a row for each type, and then the checks that failed or left something unchecked.
func (t *typeReport) table(subjects []*subject) error {
	w := tabwriter.NewWriter(t.out, 0, 8, 2, ' ', 0)
	_, err := fmt.Fprintln(w, "TYPE\tRESULT\tCHECKS")
	for _, s := range subjects {
		word := "ok"
		if s.failed() > 0 {
			word = "FAILED"
		}
		_, more := fmt.Fprintf(w, "%s\t%s\t%s\n", printable(s.name), word, s.counts())
		err = errors.Join(err, more)
	}
	err = errors.Join(err, w.Flush())
	for _, s := range subjects {
		for i := range s.results {
			if r := &s.results[i]; len(r.Findings) > 0 || r.NotChecked != "" {
				err = errors.Join(err, r.print(t.out, printable(s.name)+": "))
			}
		}
	}
	return err
}

// counts returns, as text, how many checks of a type passed, failed and were not tried.
func (s *subject) counts() string {
	passed, untried := 0, 0
	for _, r := range s.results {
		switch {
		case r.OK:
			passed++
		case r.NotTried:
			untried++
		}
	}
	var texts []string
	for _, n := range []struct {
		n    int
		word string
	}{{passed, "passed"}, {s.failed(), "failed"}, {untried, "not tried"}} {
		if n.n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", n.n, n.word))
		}
	}
	return strings.Join(texts, ", ")
}

// findings collects the mistakes that one check reports. The conformance checks are also run by go test, with a
// *testing.T in its place.
type findings struct{ texts []string }

// stopped is the value with which Fatal panics to end a check.
type stopped struct{}

func (*findings) Helper() {}
func (f *findings) Error(args ...any) {
	f.texts = append(f.texts, strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
}
func (f *findings) Errorf(format string, args ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}
func (f *findings) Fatal(args ...any) {
	f.Error(args...)
	panic(stopped{})
}
func (f *findings) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	panic(stopped{})
}

// findingsOf runs a check and returns the mistakes that it reports.
func findingsOf(check conformance.Check) []string {
	f := &findings{}
	func() {
		defer func() {
			if r := recover(); r != nil && r != (any(stopped{})) {
				panic(r)
			}
		}()
		check.Run(f)
	}()
	return f.texts
}
