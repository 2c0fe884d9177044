package cluster

import "jjm/internal/policy/why"

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

// silent returns since when and why c has answered no listing, and what a person can do; the zero Cause if it answers.
func (c *Cluster) silent() why.Cause {
	s := c.health.Silent()
	if s.Text != "" {
		s.Remedy = c.remedy()
	}
	return s
}
