package sge

import (
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// exitFull is the exit code of a submission beyond max_u_jobs or max_jobs (sge_conf(5)),
// and also beyond max_aj_tasks (measured on 8.1.9).
const exitFull = 25

// answer is the meaning of a message that qsub or the qmaster prints about a submission.
type answer uint8

const (
	ambiguous answer = iota
	busy
	tooLarge // busy; a smaller array may be accepted
	denied
	invalid
)

// refusals are the messages of qsub and of the qmaster, in lower case, with their meaning; the first matching entry
// decides. "%s" matches any text. The sources are the strings of sge_qmaster 8.1.9, msg_qmaster.h of Grid Engine 6.2,
// and recordings.
var refusals = []struct {
	means        answer
	text, source string
}{
	{tooLarge, "more than %s tasks", "sge_qmaster"},
	// For these limits an array counts as one job, so smaller arrays would reach the limit earlier.
	{busy, "jobs are allowed per user", "sge_qmaster"},
	{busy, "jobs are allowed per cluster", "sge_qmaster"},
	{busy, "was rejected because it can't be written", "sge_qmaster"}, // the spool is full
	{busy, "was rejected because it couldn't be written", "sge_qmaster"},
	{busy, "was rejected cause it can't be written", "msg_qmaster.h"},
	{busy, "was rejected cause it couldn't be written", "msg_qmaster.h"},
	{busy, "connection refused", "down_qsub"},
	// qsub had already sent the request: in the measurement the qmaster was killed while qsub waited.
	{ambiguous, "connection reset", "measured"},
	{ambiguous, "read error", "measured"},
	{ambiguous, "timeout", "paused_qsub"},
	{ambiguous, "failed receiving", "paused_qsub"},
	{ambiguous, "unable to send message", "measured"},
	{denied, "lower than minimum user id", "qsub_root"},
	{denied, "lower than minimum group id", "sge_qmaster"},
	{denied, "no access", "sge_qmaster"},
	{denied, "is not a submit host", "sge_qmaster"},
	{denied, "is neither submit nor admin host", "sge_qmaster"},
	{denied, "is no submit host", "msg_qmaster.h"},
	{denied, "does not match credentials", "sge_qmaster"},
	{denied, "deadline initiation user", "sge_qmaster"},
	{denied, "requires operator privileges", "sge_qmaster"},
	{denied, "is not allowed to submit jobs", "sge_qmaster"},
	{denied, "not allowed", "sge_qmaster"},
	{denied, "permission", "qsub"},
	{denied, "does not have access", "sge_qmaster"},
	{denied, "necessary privileges", "msg_qmaster.h"},
	{invalid, "job rejected: the requested", "sge_qmaster"}, // project, parallel or checkpointing environment unknown
	{invalid, "job rejected: no project", "sge_qmaster"},
	{invalid, "job rejected: no script in your request", "sge_qmaster"},
	{invalid, "job rejected: binding parameter not consistent", "sge_qmaster"},
	{invalid, "job rejected: specification of master queue", "sge_qmaster"},
	{invalid, "job rejected: checkpointing", "sge_qmaster"},
	{invalid, "job rejected: the user %s does not exist", "sge_qmaster"},
	{invalid, "job rejected: pe range", "msg_qmaster.h"},
	{invalid, "job requests unknown queue", "qsub_unknown_queue"},
	{invalid, "queues are not configured as requestable", "msg_qmaster.h"},
	{invalid, "denied: use parallel environments", "msg_qmaster.h"},
	{invalid, "denied: soft requests on consumables", "sge_qmaster"},
	{invalid, "unknown resource", "qsub_bad_resource"},
	{invalid, "no suitable queues", "qsub_unsat"},
	{invalid, "can't resolve hostname", "measured"},
	{invalid, "job rejected", "sge_qmaster"},
	{invalid, "was rejected", "sge_qmaster"},
	{invalid, "denied:", "sge_qmaster"},
	{invalid, "unknown option", "qsub"},
	{invalid, "invalid option", "qsub"},
	{invalid, "is not a ", "qsub_bad_time"},
	{invalid, "does not exist", "qsub_bad_pe"},
}

// refusalIn returns the meaning of a message for a submission; known is false if the message contains no text of the
// table.
func refusalIn(message string) (means answer, known bool) {
	message = strings.ToLower(message)
	for _, r := range refusals {
		if contains(message, r.text) {
			return r.means, true
		}
	}
	return ambiguous, false
}

// contains reports whether a line of a message contains a text, in which "%s" matches any text.
func contains(message, text string) bool {
	first, last, _ := strings.Cut(text, "%s")
	for line := range strings.Lines(message) {
		if _, rest, found := strings.Cut(line, first); found && strings.Contains(rest, last) {
			return true
		}
	}
	return false
}

// refusal classifies a qsub that did not exit with 0. The error is of kind Ambiguous unless the message is one that
// qsub prints before it sends a request, or one with which the qmaster rejects a request.
func refusal(out run.Output) error {
	failed := func(kind jjm.Kind) error {
		return jjm.Errorf(kind, "qsub: exit %d: %s", out.Exit, brief(out.Stderr, out.Stdout))
	}
	means, known := refusalIn(string(out.Stderr))
	switch {
	case out.Signal != 0:
		return failed(jjm.Ambiguous)
	case means == tooLarge:
		return adapters.TooMany(failed(jjm.Busy))
	case out.Exit == exitFull, means == busy:
		return failed(jjm.Busy)
	case means == denied:
		return failed(jjm.Denied)
	case means == invalid:
		return failed(jjm.Invalid)
	case !known && len(out.Stderr) > 0:
		return adapters.Unexplained(failed(jjm.Ambiguous))
	}
	return failed(jjm.Ambiguous)
}
