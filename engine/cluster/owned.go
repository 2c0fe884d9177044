package cluster

import (
	"slices"

	"jjm"
	"jjm/adapters"
	"jjm/engine/state"
)

// What a batch system says under an account's rights may be the account's own
// invention: it may hold up or replace the commands that ask. So an answer counts
// for the bulks of that account only, and ids of other accounts' bulks in it are
// not believed. Where all jobs run as one account there are no others.

// ownReports returns the reports of a listing that its account may make: of its own
// bulks, and of tags that no live bulk has.
func (c *Cluster) ownReports(reports []jjm.Report, account jjm.Owner) []jjm.Report {
	if c.b.Deps.Account != nil {
		return reports
	}
	v := c.s.View()
	defer v.Close()
	foreign := c.foreignIDs(v.Memory, account)
	forged := func(r jjm.Report) bool {
		b := v.Bulk(r.Tag)
		return b != nil && (c.account(b.Owner).UID != account.UID || b.ID == "" && foreign.holds(r.ID))
	}
	if !slices.ContainsFunc(reports, forged) { // a copy of a large listing is tens of megabytes
		return reports
	}
	own := slices.DeleteFunc(slices.Clone(reports), forged)
	c.disbelieve(account, "a listing", len(reports)-len(own))
	return own
}

// ids are the batch system's, of bulks.
type ids map[string]bool

// holds reports whether an id is that of one of the bulks, or of a job of one (see
// partOf).
func (of ids) holds(id string) bool {
	if len(of) == 0 {
		return false
	}
	for i := 1; i <= len(id); i++ {
		if (i == len(id) || id[i] < '0' || id[i] > '9') && of[id[:i]] {
			return true
		}
	}
	return false
}

// foreignIDs returns the ids that bulks of other accounts have here.
func (c *Cluster) foreignIDs(mem state.Memory, account jjm.Owner) ids {
	out := ids{}
	for _, b := range mem.Bulks() {
		if b.Cluster == c.name && b.ID != "" && c.account(b.Owner).UID != account.UID {
			out[b.ID] = true
		}
	}
	return out
}

// believed returns an error for the receipt of a submission whose id is that of
// another account's bulk: what became of the submission is not known.
func (c *Cluster) believed(owner jjm.Owner, receipt adapters.Receipt) error {
	account := c.account(owner)
	if c.b.Deps.Account != nil || receipt.ID == "" {
		return nil
	}
	v := c.s.View()
	defer v.Close()
	if !c.foreignIDs(v.Memory, account).holds(receipt.ID) {
		return nil
	}
	return jjm.Errorf(jjm.Ambiguous,
		"%s: the submission as %s was acknowledged with %.80q, which is a bulk of another account: "+
			"the commands of the batch system do not say the truth for %s", c.name, account.User, receipt.ID, account.User)
}

// ownFound returns what a search may say of a bulk of an account. If it names bulks
// of other accounts nothing is known.
func (c *Cluster) ownFound(owner jjm.Owner, f adapters.Found) adapters.Found {
	account := c.account(owner)
	if c.b.Deps.Account != nil || len(f.IDs) == 0 {
		return f
	}
	v := c.s.View()
	defer v.Close()
	foreign := c.foreignIDs(v.Memory, account)
	for _, id := range f.IDs {
		if foreign.holds(id) {
			c.disbelieve(account, "a search", 1)
			return adapters.Found{Tag: f.Tag, Presence: adapters.NotYetKnown}
		}
	}
	return f
}

// disbelieve tells administrators that an account's answers speak of others.
func (c *Cluster) disbelieve(account jjm.Owner, what string, n int) {
	if c.b.Fresh("foreign/"+c.name+"/"+account.User, what) {
		c.b.Log.Warn(
			what+" made as an account speaks of other accounts' jobs: that part is dropped; look at what the account runs",
			"cluster", c.name, "account", account.User, "reports", n)
	}
}
