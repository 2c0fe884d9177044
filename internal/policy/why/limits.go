package why

import (
	"regexp"
	"strings"
)

// owner is what a limit of Slurm's accounting belongs to: in words, and as sacctmgr names it. Both contain placeholders
// for Names.
type owner struct{ words, modify string }

// The owners of limits. Limits of an association for one job belong to the user, limits for groups to the account.
func ownerQOS() owner     { return owner{"QOS QOS", "qos QOS"} }
func ownerAccount() owner { return owner{"account ACCOUNT", "account ACCOUNT"} }
func ownerUser() owner {
	return owner{"user USER in account ACCOUNT", "user USER where account=ACCOUNT"}
}

// raises returns the advice to set a setting of the owner to a value such as NUMBER.
func (o owner) raises(setting, value string) string {
	return "an administrator of Slurm runs sacctmgr modify " + o.modify + " set " + setting + "=" + value
}

// The events after which a limit on several jobs no longer applies.
const (
	otherJobsEnd = "other jobs there end"
	usageDecays  = "the recorded usage decays"
)

// shared returns the reason for a limit on several jobs together. It clears by itself.
func shared(word string, o owner, setting, ends string) reason {
	return reason{word, "limit " + setting + " of " + o.words + ": it goes on by itself as " + ends +
		"; to raise the limit, " + o.raises(setting, "NUMBER"), true}
}

// wall returns the reason for the limit on the walltime of one job. It stays.
func wall(word string, o owner) reason {
	return reason{word, "it asks for more walltime than " + o.words + " allows one job: ask for less, or " +
		o.raises("MaxWall", "TIME"), false}
}

// resource is a trackable resource: how people and sacctmgr name it, and the word for too little of it.
type resource struct{ noun, setting, less string }

// resourceOf returns the resource that a reason of Slurm names, such as CPU, Mem or GRES. Slurm calls a resource
// Unknown if it has no words for limits on it.
func resourceOf(word string) resource {
	switch word {
	case "Cpu", "CPU":
		return resource{"cores", "cpu", "fewer"}
	case "Mem", "Memory":
		return resource{"memory", "mem", "less"}
	case "Node":
		return resource{"nodes", "node", "fewer"}
	case "Energy":
		return resource{"energy", "energy", "less"}
	case "GRES":
		return resource{"generic resources", "gres/NAME", "fewer"}
	case "License":
		return resource{"licences", "license/NAME", "fewer"}
	case "BB":
		return resource{"burst buffer", "bb/NAME", "less"}
	case "Billing":
		return resource{"billing units", "billing", "fewer"}
	}
	return resource{"of a resource", "RESOURCE", "less"}
}

// limitOn is the grammar of Slurm's reasons about limits on resources (job_state_reason.c): the owner, empty for a QOS
// if the limit is that of an account in the QOS; the kind; the resource; whether minutes are counted; and for what the
// limit is. A word such as Limit may follow.
var limitOn = regexp.MustCompile(`^(QOS|Assoc|)(Grp|Max|Min)(Cpu|CPU|Mem|Memory|Node|Energy|GRES|License|BB|Billing|` +
	`Unknown)(Minutes|RunMinutes|)(PerJob|PerNode|PerUser|PerAccount|)(?:Limit|NotSatisfied|)$`)

// onResource returns the reason that a word such as QOSMaxGRESPerJob tells. The bool is false if the word is about no
// limit on a resource.
func onResource(word string) (reason, bool) {
	m := limitOn.FindStringSubmatch(word)
	if m == nil {
		return reason{}, false
	}
	r, kind, minutes, per := resourceOf(m[3]), m[2], m[4], m[5]
	o := ownerQOS()
	switch {
	case m[1] == "Assoc" && kind == "Grp":
		o = ownerAccount()
	case m[1] == "Assoc":
		o = ownerUser()
	}
	switch {
	case kind == "Grp":
		return together(word, o, "Grp"+tres(minutes)+"="+r.setting, minutes), true
	case kind == "Min":
		return reason{word, "it asks for " + r.less + " " + r.noun + " than " + o.words + " requires of a job: ask for " +
			"more, change its QOS, or " + o.raises("MinTRESPerJob="+r.setting, "NUMBER"), false}, true
	case per == "PerUser" || per == "PerAccount":
		return together(word, o, "MaxTRES"+per+"="+r.setting, minutes), true
	case per == "":
		return reason{}, false
	}
	return perJob(word, o, r, minutes, per), true
}

// tres returns the word of sacctmgr for limits on resources, or on the minutes for which they are used.
func tres(minutes string) string {
	return "TRES" + strings.Replace(minutes, "Minutes", "Mins", 1)
}

// together returns the reason for a limit on a resource of several jobs.
func together(word string, o owner, setting, minutes string) reason {
	ends := otherJobsEnd
	if minutes == "Minutes" {
		ends = usageDecays
	}
	return shared(word, o, setting, ends+", unless it alone asks for more")
}

// perJob returns the reason for a limit on a resource of one job, or of one node of the job. It stays.
func perJob(word string, o owner, r resource, minutes, per string) reason {
	noun, place := r.noun, "one job"
	if minutes != "" {
		noun += " times walltime"
	}
	if per == "PerNode" {
		place = "on one node"
	}
	return reason{word, "it asks for more " + noun + " than " + o.words + " allows " + place + ": ask for less, or " +
		o.raises("Max"+tres(minutes)+per+"="+r.setting, "NUMBER"), false}
}
