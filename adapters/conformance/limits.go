package conformance

import (
	"context"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func limitChecks() []Check {
	return []Check{
		{Name: "the capabilities are sane", Bearable: true, test: (*suite).capabilities,
			Part:   "[capabilities]",
			Proves: "the guarantee is explained, a bulk may have at least one job, no limit is negative"},
		{Name: "the probe answers", Bearable: true, lacks: noProber, test: (*suite).probe,
			Part:   "[[probe]]",
			Proves: "the probe succeeds and the capabilities stay plausible; without an answer the error is Busy and they do not change",
			Remedy: serversAnswer},
		{Name: "what cannot be expressed is refused", Bearable: true, lacks: noChecker, test: (*suite).checkAgrees,
			Part:   "[submit.options]",
			Proves: "each request that Check refuses names its field, and Submit refuses it too"},
		{Name: "a bad bulk is refused", Bearable: true, test: (*suite).refuse,
			Part:   "[submit] and [capabilities]",
			Proves: "no jobs, no command, NUL, a bad tag, a relative folder, too many: Invalid"},
		{Name: "a context that ended stops the call", Bearable: true, test: (*suite).context,
			Proves: "every method returns Busy, or Submit Ambiguous, and Busy means that nothing was done"},
		{Name: "the jobs of two owners are kept apart", lacks: noOther, test: (*suite).owners,
			Proves: "another owner cannot list, find or cancel a job"},
	}
}

func (s *suite) capabilities() {
	c := s.Adapter.Capabilities()
	if s.Adapter.Name() == "" {
		s.Errorf("the cluster has no name")
	}
	if problem := implausible(c); problem != "" {
		s.Errorf("%s: %+v", problem, c)
	}
}

// implausible returns the first fault of the capabilities, "" if there is none.
func implausible(c adapters.Capabilities) string {
	switch {
	case strings.TrimSpace(c.Guarantee) == "":
		return "the guarantee is empty"
	case c.MaxBulk < 1:
		return "MaxBulk is below 1"
	case c.MaxQueued < 0 || c.Slots < 0 || c.MaxCores < 0 || c.MaxMemoryMB < 0 || c.MaxWalltime < 0 || c.Settle < 0:
		return "a limit is negative"
	case c.Settle > 24*time.Hour:
		return "a doubtful bulk would wait for more than a day"
	}
	return ""
}

func noProber(s *suite) string {
	if _, ok := s.under.(adapters.Prober); !ok {
		return "the adapter does not probe"
	}
	return ""
}

func (s *suite) probe() {
	p := s.under.(adapters.Prober)
	for range 2 {
		if err := p.Probe(s.Context()); err != nil {
			s.Errorf("%v", err)
		}
	}
	s.capabilities()
	was := s.Adapter.Capabilities()
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	s.wantKind("probe without an answer", p.Probe(ctx), jjm.Busy)
	if is := s.Adapter.Capabilities(); is != was {
		s.Errorf("without an answer they became %+v, were %+v", is, was)
	}
}

func noChecker(s *suite) string {
	if _, ok := s.under.(adapters.Checker); !ok {
		return "the adapter does not check requests"
	}
	return ""
}

func (s *suite) checkAgrees() {
	checker := s.under.(adapters.Checker)
	if err := checker.Check(s.Request); err != nil {
		s.Errorf("what every job here asks for is refused: %v", err)
	}
	refused := 0
	for name, change := range map[string]func(r *jjm.Request){
		"cores":          func(r *jjm.Request) { r.Cores = 1 << 20 },
		"negative cores": func(r *jjm.Request) { r.Cores = -1 },
		"memory":         func(r *jjm.Request) { r.MemoryMB = 1 << 40 },
		"walltime":       func(r *jjm.Request) { r.Walltime = jjm.Duration(100_000 * time.Hour) },
		"gpus":           func(r *jjm.Request) { r.GPUs = 4096 },
		"scratch":        func(r *jjm.Request) { r.ScratchMB = 1 << 40 },
		"queue":          func(r *jjm.Request) { r.Queue = "no such queue; -x" },
		"account":        func(r *jjm.Request) { r.Account = "-no\nsuch" },
		"project":        func(r *jjm.Request) { r.Project = "no such = 1" },
		"qos":            func(r *jjm.Request) { r.QOS = "no,such" },
		"directives":     func(r *jjm.Request) { r.Directives = "--job-name=evil\n-N evil\n+JobName = \"evil\"" },
	} {
		b := s.shell(1, "echo x > ran")
		change(&b.Request)
		if s.refused(name, checker.Check(b.Request), b) {
			refused++
		}
	}
	s.absent("ran")
	if refused == 0 {
		s.Errorf("nothing is refused, not even a million cores and directives with a job name")
	}
}

// refused checks that err, the error of the adapter's Check, is of kind Invalid and names the field, and that Submit
// rejects the bulk too. It returns false if err is nil.
func (s *suite) refused(name string, err error, b adapters.Bulk) bool {
	s.Helper()
	if err == nil {
		return false
	}
	s.wantKind("check of "+name, err, jjm.Invalid)
	if !strings.Contains(err.Error(), "request.") {
		s.Errorf("check of %s: the error does not name the field as the job file does: %v", name, err)
	}
	_, err = s.Adapter.Submit(s.Context(), b)
	s.wantKind("submit of "+name+", which Check refuses", err, jjm.Invalid)
	if err == nil {
		s.made = append(s.made, b.Tag)
	}
	return true
}

func (s *suite) refuse() {
	c := s.Adapter.Capabilities()
	try := func(what string, change func(b *adapters.Bulk)) {
		s.Helper()
		b := s.shell(1, "exit 0")
		change(&b)
		_, err := s.Adapter.Submit(s.Context(), b)
		s.wantKind(what, err, jjm.Invalid)
	}
	try("no jobs", func(b *adapters.Bulk) { b.N = 0 })
	try("no command", func(b *adapters.Bulk) { b.Argv = nil })
	try("a bad tag", func(b *adapters.Bulk) { b.Tag = "../x" })
	try("NUL in the command", func(b *adapters.Bulk) { b.Argv = append(b.Argv, "a\x00b") })
	try("a relative folder", func(b *adapters.Bulk) { b.Dir = "here" })
	if c.MaxBulk > 0 { // where the limit can change, the engine breaks up a bulk that was made before the change
		b := s.shell(1, "exit 0")
		b.N = c.MaxBulk + 1
		_, err := s.Adapter.Submit(s.Context(), b)
		if jjm.KindOf(err) != jjm.Invalid && (!adapters.IsTooMany(err) || !adapters.IsNotStarted(err)) {
			s.Errorf("too many jobs: error %v of kind %q, want invalid, or TooMany and NotStarted", err, jjm.KindOf(err))
		}
	}
	if c.MaxCores > 0 {
		try("too many cores", func(b *adapters.Bulk) { b.Request.Cores = c.MaxCores + 1 })
	}
}

func (s *suite) context() {
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	b := s.shell(1, "echo x > ran")
	s.made = append(s.made, b.Tag)
	_, err := s.Adapter.Submit(ctx, b)
	s.wantKind("submit", err, jjm.Ambiguous, jjm.Busy)
	if jjm.KindOf(err) == jjm.Busy {
		s.notThere(b.Tag)
	}
	_, err = s.Adapter.List(ctx, s.Owner, s.began)
	s.wantKind("list", err, jjm.Busy)
	_, err = s.Adapter.Find(ctx, s.Owner, []jjm.Tag{b.Tag})
	s.wantKind("find", err, jjm.Busy)
	_, err = s.Adapter.Account(ctx, s.Owner, []adapters.Ref{{Tag: b.Tag, ID: "1"}})
	s.wantKind("account", err, jjm.Busy)
	_, err = s.Adapter.Control(ctx, s.Owner, adapters.Cancel, []adapters.Ref{{Tag: b.Tag, ID: "1"}})
	s.wantKind("control", err, jjm.Busy)
}

// notThere checks that Find does not report a tag as present.
func (s *suite) notThere(tag jjm.Tag) {
	s.Helper()
	found, err := s.Adapter.Find(s.Context(), s.Owner, []jjm.Tag{tag})
	if err != nil || len(found) != 1 || found[0].Presence == adapters.Present {
		s.Errorf("certainly not done, but found %+v, error %v", found, err)
	}
}

func noOther(s *suite) string { return unless(s.Other != nil, "the test has no second owner") }

func (s *suite) owners() {
	b := s.shell(1, "sleep 600")
	mine := s.submit(b)
	s.until("running", b.Tag, 1, running)
	l, err := s.Adapter.List(s.Context(), *s.Other, s.began)
	if err != nil {
		s.Fatalf("%v", err)
	}
	for _, r := range l.Reports {
		if r.Tag == b.Tag {
			s.Errorf("the other owner's listing has %+v", r)
		}
	}
	found, err := s.Adapter.Find(s.Context(), *s.Other, []jjm.Tag{b.Tag})
	if err != nil || len(found) != 1 || found[0].Presence == adapters.Present {
		s.Errorf("the other owner finds %+v, error %v", found, err)
	}
	answers, err := s.Adapter.Control(s.Context(), *s.Other, adapters.Cancel, refs(b, mine))
	if err != nil || len(answers) != 1 {
		s.Fatalf("%v, error %v", answers, err)
	}
	if answers[0] != nil { // nil is also valid: this owner's job is already gone
		s.wantKind("cancel another's job", answers[0], jjm.Denied, jjm.Gone)
	}
	if r := s.list(b.Tag)[0]; r.State != jjm.BatchRunning {
		s.Errorf("after the other's cancel: %+v", r)
	}
}
