package plan

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"jjm/internal/jjm"
)

// HoldRule orders an action on local jobs that their batch system holds (decision R5). It matches a hold if every set
// field matches.
type HoldRule struct {
	// Kind is the kind of cluster, for example "condor".
	Kind string `toml:"kind"`
	// Code is the batch system's code of the hold, or a pattern for it as in file names (path.Match): "13/*", "JobHeld*".
	Code string `toml:"code"`
	// Text is a regular expression that the batch system's text of the hold must match
	// somewhere (regexp/syntax).
	Text *regexp.Regexp `toml:"text"`
	// By is the holder: "batch system" (the default), "operator", or "any". A rule applies to the hold of a person only if
	// its By is "operator" or "any".
	By string `toml:"by"`
	// Do is "wait", "release", "retry" or "fail".
	Do string `toml:"do"`
	// Times is the greatest number of releases within an attempt, or of retries; 0 means 1. After that number, the rule no
	// longer applies, and the next matching rule decides.
	Times int `toml:"times"`
	// After is the time for which a hold must last before the action. It is also the time between a release without effect
	// and the next release.
	After jjm.Duration `toml:"after"`
}

// heldByAny is a value of HoldRule.By that jjm.Holding.By never has. holdWait is a value of HoldRule.Do that is not a
// jjm.HoldAction.
const (
	heldByAny = "any"
	holdWait  = "wait"
)

// Check returns the problems of a rule. Problem.Field is only the key.
func (r HoldRule) Check() jjm.Problems {
	var ps jjm.Problems
	problem := func(field, text string, args ...any) {
		ps = append(ps, jjm.Problem{Field: field, Text: fmt.Sprintf(text, args...)})
	}
	if _, err := path.Match(r.Code, ""); err != nil {
		problem("code", "%.40q: want a hold code such as \"13/2\", or a pattern such as \"13/*\"", r.Code)
	}
	switch r.By {
	case "", jjm.HeldBatchSystem, jjm.HeldOperator, heldByAny:
	default:
		problem("by", "%.40q: want %q, %q or %q", r.By, jjm.HeldBatchSystem, jjm.HeldOperator, heldByAny)
	}
	switch r.Do {
	case holdWait, string(jjm.HoldRelease), string(jjm.HoldRetry), string(jjm.HoldFail):
	default:
		problem("do", "%.40q: want \"wait\", \"release\", \"retry\" or \"fail\"", r.Do)
	}
	counts := r.Do == string(jjm.HoldRelease) || r.Do == string(jjm.HoldRetry)
	if r.Times < 0 || r.Times > 0 && !counts {
		problem("times", "want how often to release or retry, at least 1; wait and fail have no times")
	}
	return ps
}

// matches reports whether the rule matches a hold on a cluster of this kind.
func (r HoldRule) matches(kind string, h jjm.Holding) bool {
	by := r.By
	if by == "" {
		by = jjm.HeldBatchSystem
	}
	if by != heldByAny && by != h.By || r.Kind != "" && r.Kind != kind {
		return false
	}
	if r.Code != "" {
		if ok, err := path.Match(r.Code, h.Code); err != nil || !ok {
			return false
		}
	}
	return r.Text == nil || r.Text.MatchString(h.Text)
}

// usedUp reports whether the rule was already carried out the allowed number of times.
func (r HoldRule) usedUp(h jjm.Holding) bool {
	switch jjm.HoldAction(r.Do) {
	case jjm.HoldRelease:
		return h.Releases >= max(r.Times, 1)
	case jjm.HoldRetry:
		return h.Retries >= max(r.Times, 1)
	}
	return false
}

// holdPause is the shortest time between two actions on one hold, because a listing may still show a hold that was just
// released.
const holdPause = time.Minute

// due reports whether the hold has lasted long enough for the action.
func (r HoldRule) due(h jjm.Holding) bool {
	if h.Tried == 0 {
		return h.Age >= r.After
	}
	return h.Age-h.Acted >= max(r.After, jjm.Duration(holdPause))
}

// String returns a text that names the rule by its conditions, for people.
func (r HoldRule) String() string {
	var all []string
	add := func(what, is string) {
		if is != "" {
			all = append(all, what+" "+is)
		}
	}
	add("kind", r.Kind)
	add("code", r.Code)
	if r.Text != nil {
		add("text", r.Text.String())
	}
	add("by", r.By)
	if len(all) == 0 {
		return "the rule for every hold"
	}
	return "the rule for " + strings.Join(all, ", ")
}

// HoldFacts holds the facts that decide the action on a current hold.
type HoldFacts struct {
	// Kind is the kind of the cluster.
	Kind string
	Hold jjm.Holding
	// Rules are the rules of the cluster followed by the rules of the site. There are none for a hold by the application,
	// which the batch system does not know.
	Rules []HoldRule
	// MaxAge is the longest that a hold may last.
	MaxAge time.Duration
}

// HoldStep is the decided action on a hold, and the reason. An empty action means to wait.
type HoldStep struct {
	Action jjm.HoldAction
	Why    string
}

// Hold decides about a held local job (decision R5). The first match counts:
//
//	an action is decided and not done    that action
//	as old as MaxAge                     fail
//	the first rule that matches and      the rule's action; wait until it is due
//	is not used up
//	otherwise                            wait
func Hold(f HoldFacts) HoldStep {
	h := f.Hold
	switch {
	case h.Action != "":
		return HoldStep{h.Action, h.Why}
	case f.MaxAge > 0 && h.Age.D() >= f.MaxAge:
		return HoldStep{jjm.HoldFail, fmt.Sprintf("held by the %s for %s, the longest that a hold may last here: %s", h.By,
			jjm.HowLong(f.MaxAge), HoldText(h))}
	}
	for _, r := range f.Rules {
		switch {
		case !r.matches(f.Kind, h), r.usedUp(h):
			continue
		case r.Do == holdWait, !r.due(h):
			return HoldStep{}
		}
		return HoldStep{jjm.HoldAction(r.Do),
			fmt.Sprintf("%s says %s%s; held by the %s: %s", r, r.Do, r.count(h), h.By, HoldText(h))}
	}
	return HoldStep{}
}

// count returns the number of the next release or retry and the allowed number: " (1 of 3)"; "" for rules without
// times.
func (r HoldRule) count(h jjm.Holding) string {
	switch jjm.HoldAction(r.Do) {
	case jjm.HoldRelease:
		return fmt.Sprintf(" (%d of %d)", h.Releases+1, max(r.Times, 1))
	case jjm.HoldRetry:
		return fmt.Sprintf(" (%d of %d)", h.Retries+1, max(r.Times, 1))
	}
	return ""
}

// HoldText returns the reason of a hold in the words of the holder: "13/2: no such file".
func HoldText(h jjm.Holding) string {
	switch {
	case h.Code == "" && h.Text == "":
		return "no reason given"
	case h.Code == "" || h.Code == h.Text:
		return h.Text
	case h.Text == "":
		return h.Code
	}
	return h.Code + ": " + h.Text
}

// HeldBy returns the holder of a job, from the code of the hold: HeldOperator for the codes in this table, else
// HeldBatchSystem:
//
//	condor   HoldReasonCode 1
//	slurm    reasons JobHeldUser and JobHeldAdmin
//	pbs      Hold_Types u and o
//	sge      the letter h of qstat, unless the job is in error
func HeldBy(kind, code string) string {
	person := false
	switch kind {
	case "condor":
		n, _, _ := strings.Cut(code, "/")
		person = n == "1"
	case "slurm":
		person = code == "JobHeldUser" || code == "JobHeldAdmin"
	case "pbs":
		person = strings.ContainsAny(code, "uo")
	case "sge":
		person = strings.Contains(code, "h") && !strings.Contains(code, "E")
	}
	if person {
		return jjm.HeldOperator
	}
	return jjm.HeldBatchSystem
}

// HoldSeen returns the holding of an attempt after a listing that shows the attempt held. old is the holding before the
// listing, or nil. If there was no hold, a new holding begins. Otherwise the age of the holding grows by watched, which
// is the increase of Watched.For. A decision to give up the attempt is kept.
func HoldSeen(old *jjm.Holding, r jjm.Report, by string, at jjm.Time, watched time.Duration) jjm.Holding {
	var h jjm.Holding
	if old != nil {
		h = *old
	}
	if h.Since == 0 {
		h = HoldOver(h)
		h.Since = at
	} else {
		h.Age += jjm.Duration(watched)
	}
	h.By, h.Code, h.Text, h.Source = by, r.Hold, r.Reason, r.Source
	return h
}

// HoldOver returns the holding after a listing that no longer shows the hold. A decided release counts as done. A
// decision to give up the attempt is kept.
func HoldOver(h jjm.Holding) jjm.Holding {
	h.Since, h.Age, h.Acted, h.Tried, h.Trouble = 0, 0, 0, 0, ""
	if !h.Action.GivesUp() {
		h.Action, h.Why, h.Actor = "", "", ""
	}
	return h
}

// HoldNext returns the holding with which the next attempt starts: only the number of
// attempts given up because of holds, nil if that is 0.
func HoldNext(h *jjm.Holding) *jjm.Holding {
	if h == nil || h.Retries == 0 {
		return nil
	}
	return &jjm.Holding{Retries: h.Retries}
}

// HoldAfter returns the holding of a local job after the end of an attempt. state, phase and text are the new state and
// phase of the local job, and the text of the verdict. If the state is held, the holding is a hold by the application
// or by a person; otherwise it is the result of HoldNext.
func HoldAfter(h *jjm.Holding, state jjm.State, phase jjm.Phase, text string, now jjm.Time) *jjm.Holding {
	next := HoldNext(h)
	if state != jjm.Held {
		return next
	}
	held := jjm.Holding{By: jjm.HeldApplication, Text: text, Since: max(now, 1)}
	switch phase {
	case jjm.HeldByBatch:
		held.By = jjm.HeldOperator // a person cancelled the attempt with the batch system's commands
	case jjm.HeldByPerson:
		held = heldByPerson(h.Why, h.Actor, now)
	}
	if next != nil {
		held.Retries = next.Retries
	}
	return &held
}

// Decided returns the holding with a decision. The counters grow with the decision and not with the action: a crash
// between decision and action therefore cannot cause more actions than allowed. A person's release does not count.
func Decided(h jjm.Holding, s HoldStep, actor string) jjm.Holding {
	if s.Action == "" || h.Action != "" {
		return h
	}
	h.Action, h.Why, h.Actor, h.Trouble = s.Action, s.Why, actor, ""
	if s.Action == jjm.HoldRelease && actor == "" {
		h.Releases++
	}
	if s.Action == jjm.HoldRetry {
		h.Retries++
	}
	return h
}

// Released returns the holding after a release. trouble is the reason why the batch system permanently refused the
// release, "" if it did not.
func Released(h jjm.Holding, trouble string) jjm.Holding {
	h.Action, h.Why, h.Actor, h.Trouble = "", "", "", trouble
	h.Acted = h.Age
	h.Tried++
	return h
}

// ageSteps is the greatest part of a hold's age that a crash may lose. If the age were stored with every listing, each
// listing would cost a write for each held job.
const ageSteps = jjm.Duration(5 * time.Minute)

// HoldNews reports whether a holding must be stored, because it differs from old in more than a small increase of its
// age. old may be nil.
func HoldNews(old *jjm.Holding, h jjm.Holding) bool {
	if old == nil {
		return true
	}
	stored := *old
	steps := stored.Age/ageSteps == h.Age/ageSteps
	stored.Age = h.Age
	return !steps || stored != h
}
