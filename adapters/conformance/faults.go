package conformance

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func faultChecks() []Check {
	with := func(name string) func(*suite) {
		return func(s *suite) { s.faulty(faults()[name]) }
	}
	all := []Check{
		{Name: "a command that hangs is given up", test: with("hangs"),
			Proves: "every method ends at its deadline, Submit with Ambiguous, and leaves no process"},
		{Name: "a command that acts and hangs is given up", test: with("hangs late"),
			Proves: "the same if the batch system has the job by then; Find shows it"},
		{Name: "a reply that is lost is doubtful", test: with("lost reply"),
			Proves: "a submission that was killed after it took effect is Ambiguous, and Find returns its id"},
		{Name: "a command killed midway is no answer", test: with("killed"),
			Proves: "half an output and a signal cause no shorter listing and no wrong id"},
		{Name: "a cut output is no answer", test: with("cut"),
			Proves: "half an output and exit 0 cause no shorter listing and no wrong id"},
		{Name: "a failure with a good output is a failure", test: with("fails"),
			Proves: "exit 1 after a valid output causes no shorter listing; a submission is Ambiguous or right"},
		{Name: "a refused connection is trouble", test: with("refuses"),
			Proves: "exit 1 with a message is Busy, and never an empty listing, an absence or a final refusal"},
		{Name: "an empty output is no answer", test: with("empty"),
			Proves: "no output and exit 0 cause no empty listing, and a submission is Ambiguous"},
		{Name: "garbage is no answer", test: with("garbage"),
			Proves: "arbitrary bytes and exit 0 cause errors, and a submission is Ambiguous"},
		{Name: "a banner on standard output does no harm", test: with("banner out"),
			Proves: "answers are right or errors, never wrong"},
		{Name: "a banner on standard error does no harm", test: with("banner err"),
			Proves: "answers are right or errors, never wrong"},
		{Name: "a missing command is named", test: with("missing"),
			Proves: "every method returns Busy and names the command: the software may not be mounted yet; the error of a " +
				"submission has the mark NotStarted, so that jjm does not look for the bulk"},
		{Name: "the methods are cheap", test: (*suite).cheap,
			Proves: "a listing and a search run at most two commands, a submission and a probe three, a control of 200 jobs four"},
	}
	for i := range all {
		all[i].lacks = noCommands
	}
	return all
}

// WithoutCommands returns the entries of a NotHere for adapters whose commands cannot be replaced by faulty commands.
func WithoutCommands(reason string) map[string]string {
	all := map[string]string{}
	for _, c := range faultChecks() {
		all[c.Name] = reason
	}
	return all
}

// deadline is the longest duration of a call whose command hangs.
const deadline = 2 * time.Second

// faulty queries one batch system through good and through faulty commands, and compares the answers.
func (s *suite) faulty(f fault) {
	over := s.shell(1, "exit 5")
	var was *jjm.Report
	if s.Adapter.Capabilities().Accounting {
		s.submit(over)
		r := s.wait(over)[0]
		s.accounted(r)
		was = &r
	}
	b := s.shell(s.fit(3), "exec sleep 600")
	receipt := s.submitOnly(b)
	truth := s.until("listed", b.Tag, b.N, jobLives)
	sh, sub := s.putShims(f), s.putShims(f, s.others()...)
	bad, submitter := s.WithBin(s.TB, sh.dir), s.WithBin(s.TB, sub.dir)
	s.parallel(
		func() { s.faultyList(f, bad, b, truth) },
		func() { s.faultyFind(f, bad, b, receipt) },
		func() { s.faultyAccount(f, bad, was) },
		func() { s.faultySubmit(f, submitter, sub) },
	)
	s.faultyCancel(f, bad, b, receipt)
	s.noLeftovers(sh)
	s.noLeftovers(sub)
}

func jobLives(r jjm.Report) bool { return r.State.Alive() }

// noCommands returns the reason why the checks of faulty commands cannot run here, "" if they can.
func noCommands(s *suite) string {
	return unless(s.WithBin != nil && s.Bin != "" && len(s.Commands) > 0,
		"the adapter runs no commands, or the test does not say which")
}

// parallel runs functions at the same time. The functions must not end the check.
func (s *suite) parallel(do ...func()) {
	var wg sync.WaitGroup
	for _, one := range do {
		wg.Go(one)
	}
	wg.Wait()
}

// answerTime is the least time that a call through faulty commands gets. It is long, because a call that is cut off on
// a busy machine says nothing about the fault.
const answerTime = time.Minute

// limited returns the context for one call through faulty commands. The context has a short deadline if the fault makes
// the command hang, otherwise at least answerTime.
func (s *suite) limited(f fault) (context.Context, context.CancelFunc) {
	if f.hangs {
		return context.WithTimeout(s.Context(), deadline)
	}
	return context.WithTimeout(s.Context(), max(s.Patience, answerTime))
}

// wantBusy checks that err is of kind Busy, or of another kind in the list kinds, and that err names the command if the
// command is missing.
func (s *suite) wantBusy(f fault, what string, err error, kinds ...jjm.Kind) {
	s.Helper()
	s.wantKind(what, err, append(kinds, jjm.Busy)...)
	if !f.missing || err == nil {
		return
	}
	named := slices.ContainsFunc(s.Commands, func(name string) bool { return strings.Contains(err.Error(), name) })
	if !named {
		s.Errorf("%s: the error does not name the missing command: %v", what, err)
	}
}

// mayBeNone reports whether an adapter may take the empty output of a command with this fault for an answer without
// jobs.
func (s *suite) mayBeNone(f fault) bool { return f.empty && s.EmptyIsNone }

func (s *suite) faultyList(f fault, bad adapters.Adapter, b adapters.Bulk, truth map[int32]jjm.Report) {
	ctx, cancel := s.limited(f)
	defer cancel()
	l, err := bad.List(ctx, s.Owner, s.began.Add(-time.Minute))
	if err != nil || f.hangs || f.missing {
		s.wantBusy(f, "list", err)
		return
	}
	if s.mayBeNone(f) {
		return
	}
	got := map[int32]jjm.Report{}
	for _, r := range l.Reports {
		if r.Tag == b.Tag {
			got[r.Index] = r
		}
	}
	for i, r := range truth {
		if got[i].ID != r.ID || got[i].State.Ended() {
			s.Errorf("list: no error, and job %d is %+v; in truth it is %+v", i, got[i], r)
		}
	}
}

func (s *suite) faultyFind(f fault, bad adapters.Adapter, b adapters.Bulk, r adapters.Receipt) {
	ctx, cancel := s.limited(f)
	defer cancel()
	got, err := bad.Find(ctx, s.Owner, []jjm.Tag{b.Tag})
	if err != nil || f.missing {
		s.wantBusy(f, "find", err)
		return
	}
	wrong := len(got) != 1 || got[0].Presence == adapters.Absent ||
		got[0].Presence == adapters.Present && !slices.Equal(got[0].IDs, []string{r.ID})
	if wrong && !s.mayBeNone(f) {
		s.Errorf("find: no error, and found %+v; in truth it is present as %s", got, r.ID)
	}
}

// faultyAccount calls Account for an ended job through faulty commands; was is nil if the system has no accounting.
func (s *suite) faultyAccount(f fault, bad adapters.Adapter, was *jjm.Report) {
	if was == nil {
		return
	}
	ctx, cancel := s.limited(f)
	defer cancel()
	got, err := bad.Account(ctx, s.Owner, []adapters.Ref{jobRef(*was)})
	if err != nil { // an adapter that read a file and ran no command may return nil
		s.wantBusy(f, "account", err)
		return
	}
	wrong := len(got) != 1 || got[0].ID != was.ID || got[0].State != was.State || got[0].Exit != was.Exit
	if wrong && !s.mayBeNone(f) {
		s.Errorf("account: no error, and %+v; in truth %+v", got, *was)
	}
}

// others returns the names of all commands except the submit command, or nil if the submit command is not known. In
// checks of a faulty submission the commands that others returns keep working.
func (s *suite) others() []string {
	if s.Submits == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Commands), func(name string) bool { return name == s.Submits })
}

// faultySubmit submits a bulk while the command that submits is faulty.
func (s *suite) faultySubmit(f fault, bad adapters.Adapter, sh shims) {
	b := s.shell(1, "exec sleep 600")
	ctx, cancel := s.limited(f)
	defer cancel()
	r, err := bad.Submit(ctx, b)
	defer s.forget(b, r)
	ran := sh.ran(0)
	called := len(ran) > 0 && (s.Submits == "" || slices.Contains(ran, s.Submits))
	switch {
	case err == nil && (f.hangs || !f.acts):
		s.Errorf("submit: success, id %q, though no job was made", r.ID)
	case err == nil:
		s.found(b.Tag, "the receipt has "+r.ID, func(g adapters.Found) bool {
			return g.Presence == adapters.Present && slices.Equal(g.IDs, []string{r.ID})
		})
	case f.acts && called && s.Submits != "" && (!f.hangs || slices.Contains(ran, "acted")):
		s.wantKind("submit, whose command did it,", err, jjm.Ambiguous)
		s.found(b.Tag, "it was submitted, and the reply was lost", func(g adapters.Found) bool {
			return g.Presence == adapters.Present && len(g.IDs) == 1 && g.IDs[0] != ""
		})
	case called && (f.acts || f.hangs):
		s.wantKind("submit, whose command may have done it,", err, jjm.Ambiguous)
	case f.pretends && called && s.Submits != "":
		s.wantKind("submit, whose command said yes,", err, jjm.Ambiguous)
	default:
		s.wantBusy(f, "submit", err, jjm.Ambiguous)
	}
	if f.missing && !adapters.IsNotStarted(err) {
		s.Errorf("submit: %v: want an error of kind Busy with the mark NotStarted", err)
	}
	if !f.acts || err != nil && jjm.KindOf(err) != jjm.Ambiguous {
		s.found(b.Tag, "no job was made", func(g adapters.Found) bool { return g.Presence != adapters.Present })
	}
}

// found searches for a tag through the working adapter until the function good returns true for the answer.
func (s *suite) found(tag jjm.Tag, why string, good func(adapters.Found) bool) {
	s.Helper()
	for end := time.Now().Add(s.Patience); ; s.pause() {
		got, err := s.Adapter.Find(s.Context(), s.Owner, []jjm.Tag{tag})
		if err == nil && len(got) == 1 && good(got[0]) {
			return
		}
		if time.Now().After(end) {
			s.Errorf("%s, but found %+v, error %v", why, got, err)
			return
		}
	}
}

// forget cancels a bulk whose receipt may have been lost.
func (s *suite) forget(b adapters.Bulk, r adapters.Receipt) {
	ids := []string{r.ID}
	if got, err := s.Adapter.Find(s.Context(), s.Owner, []jjm.Tag{b.Tag}); err == nil && len(got) == 1 {
		ids = got[0].IDs
	}
	for _, id := range ids {
		if id != "" {
			_, _ = s.Adapter.Control(s.Context(), s.Owner, adapters.Cancel, refs(b, adapters.Receipt{ID: id}))
		}
	}
}

// faultyCancel checks that a cancel was really performed if the adapter reported it as done through faulty commands. It
// cannot check this for a command that only pretends to act.
func (s *suite) faultyCancel(f fault, bad adapters.Adapter, b adapters.Bulk, r adapters.Receipt) {
	ctx, cancel := s.limited(f)
	defer cancel()
	answers, err := bad.Control(ctx, s.Owner, adapters.Cancel, refs(b, r))
	if err == nil && len(answers) != b.N {
		s.Errorf("cancel: %d answers for %d jobs", len(answers), b.N)
		return
	}
	for _, one := range answers {
		err = cmp.Or(err, one)
	}
	switch {
	case err != nil || f.hangs || f.missing:
		s.wantBusy(f, "cancel", err, jjm.Ambiguous)
	case f.pretends:
		return
	default:
		s.waitCancelled(b)
	}
}

// cheap counts the commands that each method runs, and fails if there are too many.
func (s *suite) cheap() {
	sh := s.putShims(fault{body: `exec "$real" "$@"`})
	a := s.WithBin(s.TB, sh.dir)
	count := func(what string, most int, do func() error) {
		s.Helper()
		before := len(sh.ran(0))
		if err := do(); err != nil {
			s.Errorf("%s: %v", what, err)
		}
		if ran := sh.ran(before); len(ran) > most {
			s.Errorf("%s: %d commands, want at most %d: %s", what, len(ran), most, strings.Join(ran, "; "))
		}
	}
	if p, ok := a.(adapters.Prober); ok {
		count("the first probe", 6, func() error { return p.Probe(s.Context()) })
		count("probe", 3, func() error { return p.Probe(s.Context()) })
	}
	list := func() error { _, err := a.List(s.Context(), s.Owner, s.began); return err }
	count("the first listing", 6, list)
	b := s.shell(s.fit(200), "exec sleep 600")
	s.made = append(s.made, b.Tag)
	var r adapters.Receipt
	count("submit", 3, func() (err error) { r, err = a.Submit(s.Context(), b); return err })
	count("list", 2, list)
	tags, most := []jjm.Tag{b.Tag, s.newTag(), s.newTag()}, 2
	if s.AsksAlone {
		most += len(tags) - 1 // only the first tag has jobs
	}
	count("find", most, func() error {
		_, err := a.Find(s.Context(), s.Owner, tags)
		return err
	})
	count("cancel", 4, func() error {
		_, err := a.Control(s.Context(), s.Owner, adapters.Cancel, refs(b, r))
		return err
	})
}
