package pbs

import (
	"bytes"
	"slices"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// unreachable are parts of the messages of commands that did not reach the server.
var unreachable = []string{"cannot connect to server", "Couldn't connect to cluster", "Cannot connect to"}

// refusalTexts maps messages with which both dialects reject a job to kinds of error; the first matching entry counts.
// The texts are needed because Torque has other exit codes. They are the texts of pbs_messages.c that can answer a
// qsub.
var refusalTexts = []struct {
	text string
	kind jjm.Kind
	mark func(error) error // marks the error; nil for no mark
}{
	// max_queued and similar limits of the server, a queue, a group, a project or an account, on jobs or resources
	{"would exceed", jjm.Busy, adapters.TooMany},
	{"Maximum number of jobs", jjm.Busy, adapters.TooMany},
	{"Array job exceeds", jjm.Busy, adapters.TooMany}, // max_array_size
	// Each destination of a routing queue rejected the job for its own reason, which the message does not contain.
	{"Job rejected by all possible destinations", jjm.Busy, adapters.Unexplained},
	{"Queue is not enabled", jjm.Busy, nil}, // an administrator closed the queue for a time
	{"erver shutting down", jjm.Busy, nil},
	{"No free connections", jjm.Busy, nil},
	{"connection table full", jjm.Busy, nil},
	{"Resource temporarily unavailable", jjm.Busy, nil},
	{"Resource busy", jjm.Busy, nil},
	{"License unavailable", jjm.Busy, nil},
	{"license server is down", jjm.Busy, nil},
	{"Unauthorized Request", jjm.Denied, nil},
	{"No access permission", jjm.Denied, nil},
	{"Access to queue is denied", jjm.Denied, nil},
	{"Access from host not allowed", jjm.Denied, nil},
	{"Invalid credential", jjm.Denied, nil},
	{"Expired credential", jjm.Denied, nil},
	{"Bad UID", jjm.Denied, nil},
	{"Bad GID", jjm.Denied, nil},
	{"bad password", jjm.Denied, nil},
	{"Unknown queue", jjm.Invalid, nil},
	{"Queue name too long", jjm.Invalid, nil},
	{"No default queue", jjm.Invalid, nil},
	{"resource limits", jjm.Invalid, nil},
	{"Resource limit exceeds allowable", jjm.Invalid, nil},
	{"Unknown resource", jjm.Invalid, nil},
	{"Undefined attribute", jjm.Invalid, nil},
	{"Cannot set attribute", jjm.Invalid, nil},
	{"Illegal attribute or resource value", jjm.Invalid, nil},
	{"attribute value is out of range", jjm.Invalid, nil},
	{"Mutually exclusive values", jjm.Invalid, nil},
	{"Bad time specification", jjm.Invalid, nil},
	{"specification error", jjm.Invalid, nil},
	{"Resource invalid in", jjm.Invalid, nil},
	{"annot be used with", jjm.Invalid, nil},
	{"Cannot have", jjm.Invalid, nil},
	{"duplicated resource", jjm.Invalid, nil},
	{"are not valid resources for a job array", jjm.Invalid, nil},
	{"name is too long", jjm.Invalid, nil},
	{"jobscript size exceeded", jjm.Invalid, nil},
	{"No support for requested service", jjm.Invalid, nil},
	{"Invalid request", jjm.Invalid, nil},
	{"Unknown request", jjm.Invalid, nil},
	{"Invalid Job Dependency", jjm.Invalid, nil},
	{"Job routing over too many hops", jjm.Invalid, nil},
	{"hook rejected request", jjm.Invalid, nil},
	// messages that only Torque's pbs_error_db.h has
	{"Queue is currently not available", jjm.Busy, nil},
	{"Server busy", jjm.Busy, nil},
	{"client is not allowed/trusted", jjm.Denied, nil},
	{"Queue does not allow", jjm.Invalid, nil}, // disallowed_types: arrays, batch jobs, jobs that cannot be rerun
	{"Bad Job Array Request", jjm.Invalid, nil},
	{"Wrong job type", jjm.Invalid, nil},
	{"cannot access script file", jjm.Invalid, nil},
	{"Command syntax invalid", jjm.Invalid, nil},
	// messages of qsub itself
	{"illegal -", jjm.Invalid, nil},
	{"invalid option", jjm.Invalid, nil},
	{"Invalid account", jjm.Invalid, nil},
	{"Invalid Account", jjm.Invalid, nil},
}

// exitKinds are the exit codes of OpenPBS's qsub that prove a rejection: the server examined the job and did not accept
// it. A code is the server's error number modulo 256 (pbs_error.h).
var exitKinds = map[int]jjm.Kind{
	2:   jjm.Invalid, // errors of qsub itself: usage, name
	3:   jjm.Busy,    // 15107 array too large
	4:   jjm.Invalid, // 15108 resource not allowed in select
	5:   jjm.Invalid, // 15109 resource only allowed in select
	6:   jjm.Invalid, // 15110 nodes together with select
	7:   jjm.Invalid, // 15111 place without select
	12:  jjm.Invalid, // 15116 resource named twice
	13:  jjm.Busy,    // 15117 connection table full
	32:  jjm.Invalid, // 15136 rejected by a hook of the site
	38:  jjm.Busy,    // 15142 max_queued
	39:  jjm.Busy,    // 15143 max_queued_res
	71:  jjm.Invalid, // 15175 script too large
	104: jjm.Busy,    // 15208 try again
	154: jjm.Invalid, // 15002 no such attribute
	155: jjm.Invalid, // 15003 attribute is read-only
	156: jjm.Invalid, // 15004 invalid request
	159: jjm.Denied,  // 15007 not authorized
	166: jjm.Invalid, // 15014 bad value
	170: jjm.Invalid, // 15018 unknown queue
	171: jjm.Denied,  // 15019 bad credential
	173: jjm.Busy,    // 15021 queue disabled
	174: jjm.Denied,  // 15022 no access to queue
	175: jjm.Denied,  // 15023 no such user
	181: jjm.Invalid, // 15029 not supported
	185: jjm.Busy,    // 15033 no free connections
	187: jjm.Invalid, // 15035 unknown resource
	188: jjm.Invalid, // 15036 over the queue's limits
	189: jjm.Invalid, // 15037 no default queue
	196: jjm.Busy,    // 15044 resources temporarily unavailable
	197: jjm.Denied,  // 15045 bad group
	198: jjm.Busy,    // 15046 too many jobs in the queue
	200: jjm.Invalid, // 15048 over a limit
	201: jjm.Invalid, // 15049 bad account
	212: jjm.Busy,    // 15060 server is shutting down
}

// refusal classifies a failed qsub. Its error is of kind Ambiguous, because the job may exist, if qsub was killed or
// printed anything on standard output, if the message is not one of qsub's own, if the connection broke (exit 1), or if
// neither the message nor the exit code is known.
func refusal(out run.Output) error {
	kind, mark := refusalKind(out)
	err := jjm.Errorf(kind, "qsub: exit %d: %s", out.Exit, complaint(out.Stderr))
	if mark != nil {
		return mark(err)
	}
	return err
}

// tooManyExits are the exit codes of OpenPBS's qsub for too many jobs.
var tooManyExits = []int{3, 38, 39, 198}

// refusalKind returns the kind of error for a failed qsub, and the function that marks the error; nil for no mark.
func refusalKind(out run.Output) (kind jjm.Kind, mark func(error) error) {
	if out.Signal != 0 || len(bytes.TrimSpace(out.Stdout)) > 0 {
		return jjm.Ambiguous, nil
	}
	for _, text := range unreachable {
		if bytes.Contains(out.Stderr, []byte(text)) {
			return jjm.Busy, nil
		}
	}
	if !bytes.Contains(out.Stderr, []byte("qsub: ")) {
		return jjm.Ambiguous, nil
	}
	for _, s := range refusalTexts {
		if bytes.Contains(out.Stderr, []byte(s.text)) && out.Exit != 1 {
			return s.kind, s.mark
		}
	}
	kind, known := exitKinds[out.Exit]
	switch {
	case slices.Contains(tooManyExits, out.Exit):
		return kind, adapters.TooMany
	case known:
		return kind, nil
	case out.Exit == 1: // the connection broke
		return jjm.Ambiguous, nil
	}
	return jjm.Ambiguous, adapters.Unexplained
}
