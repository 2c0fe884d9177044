package pbs

import (
	"bytes"

	"jjm"
	"jjm/run"
)

// unreachable are messages of commands that never reached the server.
var unreachable = []string{"cannot connect to server", "Couldn't connect to cluster", "Cannot connect to"}

// refusalTexts are messages with which both dialects refuse a job, and what they mean. They
// are needed because Torque has exit codes of its own.
var refusalTexts = []struct {
	text string
	kind jjm.Kind
}{
	{"would exceed", jjm.Busy},           // max_queued and its like
	{"Maximum number of jobs", jjm.Busy}, // Torque
	{"Queue is not enabled", jjm.Busy},   // an administrator closed it for a time
	{"server shutting down", jjm.Busy},   //
	{"No free connections", jjm.Busy},    //
	{"Resource temporarily unavailable", jjm.Busy},
	{"Unknown queue", jjm.Invalid},
	{"Unauthorized Request", jjm.Denied},
	{"No access permission", jjm.Denied},
	{"Bad UID", jjm.Denied},
	{"No default queue", jjm.Invalid},
	{"resource limits", jjm.Invalid},
	{"Array job exceeds", jjm.Invalid},
	{"Unknown resource", jjm.Invalid},
	{"Illegal attribute or resource value", jjm.Invalid},
	{"Cannot be used with select", jjm.Invalid},
	{"illegal -", jjm.Invalid},
	{"invalid option", jjm.Invalid},
	{"Invalid account", jjm.Invalid},
	{"Invalid Account", jjm.Invalid},
}

// exitKinds are the exit codes of OpenPBS's qsub that leave no doubt: the server looked at
// the job and did not accept it. A code is the server's error number modulo 256
// (pbs_error.h).
var exitKinds = map[int]jjm.Kind{
	2:   jjm.Invalid, // qsub itself: usage, name
	3:   jjm.Invalid, // 15107 array too large
	4:   jjm.Invalid, // 15108 resource not allowed in select
	5:   jjm.Invalid, // 15109 resource only allowed in select
	6:   jjm.Invalid, // 15110 nodes beside select
	7:   jjm.Invalid, // 15111 place without select
	12:  jjm.Invalid, // 15116 resource twice
	13:  jjm.Busy,    // 15117 connection table full
	32:  jjm.Invalid, // 15136 refused by a hook of the site
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
	196: jjm.Busy,    // 15044 resources unavailable for now
	197: jjm.Denied,  // 15045 bad group
	198: jjm.Busy,    // 15046 too many jobs in the queue
	200: jjm.Invalid, // 15048 over a limit
	201: jjm.Invalid, // 15049 bad account
	212: jjm.Busy,    // 15060 server is shutting down
}

// refusal classifies a qsub that failed. It is Ambiguous, because the job may exist, if
// qsub was killed, if the connection broke (exit 1), and if the exit code comes without its
// message.
func refusal(out run.Output) error {
	kind := refusalKind(out)
	return jjm.Errorf(kind, "qsub: exit %d: %s", out.Exit, complaint(out.Stderr))
}

func refusalKind(out run.Output) jjm.Kind {
	if out.Signal != 0 || len(bytes.TrimSpace(out.Stdout)) > 0 {
		return jjm.Ambiguous
	}
	for _, text := range unreachable {
		if bytes.Contains(out.Stderr, []byte(text)) {
			return jjm.Busy
		}
	}
	if !bytes.Contains(out.Stderr, []byte("qsub: ")) {
		return jjm.Ambiguous
	}
	for _, s := range refusalTexts {
		if bytes.Contains(out.Stderr, []byte(s.text)) && out.Exit != 1 {
			return s.kind
		}
	}
	if kind, ok := exitKinds[out.Exit]; ok {
		return kind
	}
	return jjm.Ambiguous
}
