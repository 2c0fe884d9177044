package condor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"jjm/adapters"
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
	if among(ownedAttributes, name) {
		return fmt.Sprintf("attribute %s is jjm's or HTCondor's own", m[2])
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

// jobOwnedAttributes are further attributes, as ownedAttributes, that a job file must
// not set, but the site may. They name files that the schedd and the shadow read or
// write on the submit host (UserLog), programs that run outside of the job (PreCmd),
// identities and their tokens, and other kinds of jobs.
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

// oddJobDirective is oddDirective for a line of a job file. Macros could show it the
// environment of condor_submit ($ENV), or be one that names a file ($F).
func oddJobDirective(line string) string {
	if problem := oddDirective(line); problem != "" {
		return problem
	}
	m := directiveLine.FindStringSubmatch(strings.TrimSpace(line))
	name, value := strings.ToLower(m[2]), strings.TrimSpace(m[3])
	switch {
	case strings.Contains(value, "$"):
		return "want no macros ($) in a job file"
	case m[1] != "" && among(jobOwnedAttributes, name):
		return fmt.Sprintf(
			"attribute %s is not one that a job file may set: ask the administrators to set it in the cluster's directives or its hook", m[2])
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

// remoteImage is an image that the worker gets by itself.
var remoteImage = regexp.MustCompile(`^(docker://|oras://|/cvmfs/)[A-Za-z0-9][A-Za-z0-9_.:/@+-]*$`)

// among reports whether a name in lower case is in a list whose entries that end in *
// stand for all that begin so.
func among(list []string, name string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		begin, all := strings.CutSuffix(entry, "*")
		return name == entry || all && strings.HasPrefix(name, begin)
	})
}
