package condor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"jjm/adapters"
)

// directiveLine matches "name = value" and "+Attribute = value". It matches neither the statements queue, include and
// if nor values of several lines.
var directiveLine = regexp.MustCompile(`^(\+|[Mm][Yy]\.)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$`)

// allowed are the submit commands that a site or a job file may add (HTCondor manual, condor_submit), besides
// request_NAME for resources that the site defines. All other commands are rejected: the commands that jjm sets, and
// commands that would make HTCondor start more jobs than jjm counts, other jobs, or jobs at a later time.
var allowed = []string{
	"concurrency_limits", "container_image", "cuda_version", "email_attributes", "gpus_maximum_capability",
	"gpus_minimum_capability", "gpus_minimum_memory", "gpus_minimum_runtime", "job_lease_duration", "keep_claim_idle",
	"nice_user", "notification", "notify_user", "prefer_gpus", "priority", "rank", "require_gpus",
}

// mapped has submit commands whose values job files set in fields of their own, and these fields.
var mapped = map[string]string{
	"request_cpus": "request.cores", "request_memory": "request.memory_mb", "request_disk": "request.scratch_mb",
	"request_gpus": "request.gpus", "accounting_group": "request.account", "allowed_job_duration": "request.walltime",
	"allowed_execute_duration": "request.walltime", "requirements": "request.queue",
}

// ownedAttributes are job attributes, in lower case, that only jjm or HTCondor may set, for three reasons: jjm reads
// its listing from them, they prevent a second start, or submit commands set them. An entry that ends with * matches
// all names with that prefix.
var ownedAttributes = []string{
	"jjm*", "owner", "user", "acctgroup*", "accountinggroup*", "clusterid", "procid", "cmd", "args", "arguments",
	"env", "environment", "iwd", "in", "out", "err", "requirements", "rootdir", "globaljobid", "qdate",
	"job*", "hold*", "lasthold*", "release*", "remove*", "leavejobinqueue", "periodic*", "onexit*", "exit*", "num*",
	"request*", "allowed*", "maxhosts", "minhosts", "completiondate", "entered*", "remote*", "lastremotehost",
	"residentset*", "transfer*", "preserverelativepaths", "publicinputfiles", "outputdestination",
	"shouldtransferfiles", "whentotransferoutput", "stream*", "deferral*", "cron*",
	"wantgracefulremoval", "killsig*", "lastrejmatch*", "x509*", "ntdomain", "mytype", "targettype",
}

// directiveProblem returns why a line must not be added to a submit description; "" if it may be added.
func directiveProblem(line string) string {
	m := directiveLine.FindStringSubmatch(strings.TrimSpace(line))
	switch {
	case strings.ContainsAny(line, "\n\r\x00") || strings.HasSuffix(strings.TrimSpace(line), `\`):
		return "want one line"
	case m == nil:
		return "want NAME = VALUE or +ATTRIBUTE = VALUE"
	}
	name := strings.ToLower(m[2])
	if m[1] == "" {
		return commandProblem(name)
	}
	if inList(ownedAttributes, name) {
		return fmt.Sprintf("attribute %s is set by jjm or HTCondor itself: leave it out", m[2])
	}
	return ""
}

func commandProblem(name string) string {
	if field, ok := mapped[name]; ok {
		return name + " is set by jjm: use " + field
	}
	if slices.Contains(allowed, name) || strings.HasPrefix(name, "request_") {
		return ""
	}
	return name + " is set by jjm or is not one of the commands that may be added: leave it out"
}

// jobOwnedAttributes are further attributes, in the form of ownedAttributes, that the site may set but a job file must
// not set. They name files that the schedd and the shadow read or write on the submit host (UserLog), programs that run
// outside of the job (PreCmd), identities and their tokens, and other kinds of jobs.
var jobOwnedAttributes = []string{
	"userlog*", "ulog*", "dagman*", "dag*", "starter*", "log*", "precmd", "prearg*", "postcmd", "postarg*", "postenv*",
	"preenv*", "hook*",
	"spool*", "append*", "buffer*", "fetchfiles", "compressfiles", "localfiles", "tmpdir", "write*", "manifest*", "stdin*",
	"stdout*",
	"docker*", "container*", "wantdocker*", "wantcontainer*", "wantio*", "wantremote*", "wantcheckpoint*", "wantparallel*",
	"grid*", "ec2*",
	"gce*", "azure*", "batch*", "universe", "vm*", "oauth*", "sendcredential", "scitoken*", "token*", "authtoken*",
	"cred*", "delegate*",
	"authenticated*", "osuser", "uid*", "runas*", "loadprofile", "nordugrid*", "condor*", "checkpoint*", "success*",
	"tool*", "tdp*",
	"encrypt*", "dontencrypt*", "executable*", "file*", "keystore*", "notify*", "email*", "autocluster*", "server*",
	"submit*", "shadow*",
}

// jobDirectiveProblem returns why a line of a job file must not be added to a submit description; "" if it may be
// added. In addition to the rules of directiveProblem it rejects macros, because they could reveal the environment of
// condor_submit ($ENV) or name a file ($F).
func jobDirectiveProblem(line string) string {
	if problem := directiveProblem(line); problem != "" {
		return problem
	}
	m := directiveLine.FindStringSubmatch(strings.TrimSpace(line))
	name, value := strings.ToLower(m[2]), strings.TrimSpace(m[3])
	switch {
	case strings.Contains(value, "$"):
		return "want no macros ($) in a job file"
	case m[1] != "" && inList(jobOwnedAttributes, name):
		return fmt.Sprintf(
			"attribute %s may not be set by a job file: ask the administrators to set it in the cluster's directives or its hook", m[2])
	case m[1] != "":
		return ""
	case name == "container_image" && !remoteImage.MatchString(value):
		return "want docker://, oras:// or a path below /cvmfs: others are read on the submit host"
	case name == "notify_user":
		if err := adapters.CheckMail(value); err != nil {
			return err.Error()
		}
	}
	return ""
}

// remoteImage matches images that the worker itself fetches.
var remoteImage = regexp.MustCompile(`^(docker://|oras://|/cvmfs/)[A-Za-z0-9][A-Za-z0-9_.:/@+-]*$`)

// inList reports whether a name in lower case matches an entry of a list in the form of ownedAttributes.
func inList(list []string, name string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		begin, all := strings.CutSuffix(entry, "*")
		return name == entry || all && strings.HasPrefix(name, begin)
	})
}
