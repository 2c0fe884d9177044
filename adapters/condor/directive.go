package condor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// directiveLine is "name = value" or "+Attribute = value". It leaves out queue,
// include, if, and values of several lines.
var directiveLine = regexp.MustCompile(`^(\+|[Mm][Yy]\.)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$`)

// allowed are the submit commands that a site or a job file may add (HTCondor
// manual, condor_submit); request_NAME of a resource of the site's own comes on
// top. All others are refused: what jjm owns, and what would start more, other
// or later jobs than jjm counts.
var allowed = []string{
	"concurrency_limits", "container_image", "cuda_version", "email_attributes", "gpus_maximum_capability",
	"gpus_minimum_capability", "gpus_minimum_memory", "gpus_minimum_runtime", "job_lease_duration", "keep_claim_idle",
	"nice_user", "notification", "notify_user", "prefer_gpus", "priority", "rank", "require_gpus",
}

// mapped are submit commands in whose place jjm has fields of its own.
var mapped = map[string]string{
	"request_cpus": "request.cores", "request_memory": "request.memory_mb", "request_disk": "request.scratch_mb",
	"request_gpus": "request.gpus", "accounting_group": "request.account", "allowed_job_duration": "request.walltime",
	"allowed_execute_duration": "request.walltime", "requirements": "request.queue",
}

// ownedAttributes are job attributes, in lower case, that jjm or HTCondor itself
// must own: what the listing is read from, what guards against a second start,
// what the commands above stand for. Those that end in * stand for all that
// begin so.
var ownedAttributes = []string{
	"jjm*", "owner", "user", "acctgroup*", "accountinggroup*", "clusterid", "procid", "cmd", "args", "arguments",
	"env", "environment", "iwd", "in", "out", "err", "requirements", "rootdir", "globaljobid", "qdate",
	"job*", "hold*", "lasthold*", "release*", "remove*", "leavejobinqueue", "periodic*", "onexit*", "exit*", "num*",
	"request*", "allowed*", "maxhosts", "minhosts", "completiondate", "entered*", "remote*", "lastremotehost",
	"residentset*", "transfer*", "preserverelativepaths", "publicinputfiles", "outputdestination",
	"shouldtransferfiles", "whentotransferoutput", "stream*", "deferral*", "cron*",
	"wantgracefulremoval", "killsig*", "lastrejmatch*", "x509*", "ntdomain", "mytype", "targettype",
}

// oddDirective says why a line may not be added to a submit description; "" if
// it may.
func oddDirective(line string) string {
	m := directiveLine.FindStringSubmatch(strings.TrimSpace(line))
	switch {
	case strings.ContainsAny(line, "\n\r\x00") || strings.HasSuffix(strings.TrimSpace(line), `\`):
		return "want one line"
	case m == nil:
		return "want NAME = VALUE or +ATTRIBUTE = VALUE"
	}
	name := strings.ToLower(m[2])
	if m[1] == "" {
		return oddCommand(name)
	}
	for _, owned := range ownedAttributes {
		begin, all := strings.CutSuffix(owned, "*")
		if name == owned || all && strings.HasPrefix(name, begin) {
			return fmt.Sprintf("attribute %s is jjm's or HTCondor's own", m[2])
		}
	}
	return ""
}

func oddCommand(name string) string {
	if field, ok := mapped[name]; ok {
		return name + " is jjm's own: use " + field
	}
	if slices.Contains(allowed, name) || strings.HasPrefix(name, "request_") {
		return ""
	}
	return name + " is jjm's own, or not one that may be added"
}
