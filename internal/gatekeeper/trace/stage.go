package trace

import (
	"cmp"
	"fmt"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/policy/why"
)

// stage is how far a grid job with one local job has come. A later stage has a greater value.
type stage int

const (
	unknown  stage = iota
	accepted       // the daemon has the grid job
	cut            // the local job exists
	given          // jjm is submitting the local job to a cluster
	queued         // the batch system has accepted the local job
	running
	ended // the grid job is done
)

// seen is the daemon's latest report about the traced grid job.
type seen struct {
	wire.Status
	// cause is the reason why the job makes no progress. Its code is "" if no reason is known.
	cause wire.Cause
}

// stage returns the latest stage that the report proves. A grid job that failed or was killed stays at the stage that
// its local job reached.
func (s *seen) stage() stage {
	switch {
	case s.Lookup.ID == 0:
		return unknown
	case s.Lookup.Status == jjm.Done.String():
		return ended
	case len(s.Locals) > 0:
		return max(cut, stageOf(&s.Locals[0], why.Code(s.cause.Code)))
	case s.Lookup.Counts.Total > 0:
		return cut
	}
	return accepted
}

// stageOf returns the stage that a local job has reached.
func stageOf(l *jjm.LocalJob, cause why.Code) stage {
	switch {
	case l.Started != 0, l.State == jjm.Running, l.State == jjm.Completing, l.State == jjm.Completed:
		return running
	case l.BatchID != "", l.State == jjm.Submitted:
		return queued
	case l.State == jjm.Submitting, cause == why.SubmitFailing, l.State == jjm.Failed && l.Cluster != "":
		return given
	}
	return cut
}

// over reports whether the grid job has ended.
func (s *seen) over() bool { return s.Lookup.ID != 0 && s.Over() }

// stops returns a fault if the job cannot make progress without help: the grid job has ended, or a person must remove
// the cause of the delay. Otherwise stops returns nil.
func (s *seen) stops() *Fault {
	switch {
	case s.over():
		return &Fault{Tried: s.what(), On: s.where(),
			Text:   fmt.Sprintf("the grid job is %s: %s", s.Lookup.Status, cmp.Or(s.Lookup.Message, "it does not say why")),
			Remedy: "run it again with --keep, then: jjm explain ID.0"}
	case !passes(why.Code(s.cause.Code)):
		return s.waits("")
	}
	return nil
}

// waits returns the fault that the job still waits. Its error text is the given text followed by the cause of the wait.
func (s *seen) waits(text string) *Fault {
	cause := "nothing more is known"
	if s.cause.Code != "" {
		cause = s.cause.Code + ": " + s.cause.Text
	}
	return &Fault{Tried: s.what(), On: s.where(), Text: text + cause,
		Remedy: cmp.Or(s.cause.Remedy, "see jjm health and jjm clusters, or give it more time: --timeout 10m")}
}

// what returns the action that leads to the next stage, for a fault.
func (s *seen) what() string {
	switch s.stage() {
	case accepted:
		return "cut the grid job"
	case cut:
		return "find a cluster for the local job"
	case given:
		return "submit the local job to the batch system"
	case queued:
		return "start the local job"
	case running:
		return "run the local job to its end"
	}
	return "hand the grid job to the daemon"
}

// where returns the cluster, the batch id and the host of the local job as far as they are known, for a fault.
func (s *seen) where() string {
	if len(s.Locals) == 0 || s.Locals[0].Cluster == "" {
		if c := s.Cluster; c != "" {
			return "cluster " + c
		}
		return "the site"
	}
	l := s.Locals[0]
	where := "cluster " + l.Cluster
	if l.BatchID != "" {
		where += ", batch id " + l.BatchID
	}
	if l.Host != "" {
		where += ", host " + l.Host
	}
	return where
}

// passes reports whether the cause can go away without the help of a person. It returns true for an empty cause.
func passes(code why.Code) bool {
	switch code {
	case why.HeldByApp, why.HeldByBatch, why.HeldByPerson, why.Paused, why.DiskLow, why.WorkFull, why.Maintenance,
		why.Silent, why.NoCluster, why.SubmitFailing, why.ClusterGone, why.Stuck:
		return false
	}
	return true
}

// found describes, as the result of a successful hop, how the job reached a stage.
func (s *seen) found(at stage) string {
	l := jjm.LocalJob{}
	if len(s.Locals) > 0 {
		l = s.Locals[0]
	}
	switch at {
	case accepted:
		return "grid job " + s.Lookup.ID.String()
	case cut:
		return "local job " + s.Lookup.ID.String() + ".0"
	case given:
		return "handed to cluster " + cmp.Or(l.Cluster, s.Cluster)
	case queued:
		if l.BatchID == "" { // a short job can end before its batch id is known
			return "accepted"
		}
		return "batch id " + l.BatchID
	case running:
		return "ran on " + cmp.Or(l.Host, "a host whose name is not known")
	}
	return "the grid job is " + s.Lookup.Status
}
