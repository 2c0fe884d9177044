package cluster

import (
	"jjm/internal/jjm"
	"jjm/internal/policy/why"
)

// remedy returns what a person can do about a cluster that does not answer. diagnosis is the command that shows whether
// its batch system runs, "" if the adapter knows none.
func remedy(cluster, diagnosis string) string {
	look := "look whether the batch system of cluster " + cluster + " runs"
	if diagnosis != "" {
		look = diagnosis + " shows whether the batch system of cluster " + cluster + " runs"
	}
	return look + "; jjm goes on by itself once it answers, or at once after jjm clusters reset " + cluster
}

// remedy returns what a person can do if c does not answer. All commands show this text.
func (c *Cluster) remedy() string { return remedy(c.Name, c.Diagnosis()) }

// cancelRemedy returns what a person can do if c refuses to cancel a batch job.
func (c *Cluster) cancelRemedy() string {
	text := "find out why cluster " + c.Name + " refuses the cancel, or end the batch job there by hand"
	if d := c.Diagnosis(); d != "" {
		text += "; " + d + " shows whether the batch system runs"
	}
	return text
}

// silentTo returns since when and why c has answered no listing of an account, and what a person can do; the zero Cause
// if it answers.
func (c *Cluster) silentTo(account jjm.Owner) why.Cause {
	if s := c.silent(); s.Text != "" {
		return s
	}
	all := c.health.Unlisted.All(func(uid int) bool { return uid == account.UID })
	if len(all) == 0 {
		return why.Cause{}
	}
	return why.Cause{Text: "asked as " + all[0].Account + ": " + all[0].Cause, Since: all[0].Since, Remedy: c.remedy()}
}

// silent returns since when and why c has answered no listing, and what a person can do; the zero Cause if it answers.
func (c *Cluster) silent() why.Cause {
	s := c.health.Silent()
	if s.Text != "" {
		s.Remedy = c.remedy()
	}
	return s
}
