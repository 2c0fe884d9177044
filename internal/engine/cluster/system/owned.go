package system

import (
	"slices"

	"jjm/adapters"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// A command that asks the batch system runs as the account whose jobs it asks about, and that account may replace the
// command or its configuration. An answer therefore counts only for the account's own bulks: ids and tags of other
// accounts' bulks in the answer are dropped. If all jobs run as one account, there are no other accounts, and nothing
// is checked.

// OwnReports returns the reports of a listing made as an account, except reports about bulks of other accounts. Reports
// whose tags belong to no open bulk are kept.
func (sys *System) OwnReports(reports []jjm.Report, account jjm.Owner) []jjm.Report {
	if sys.b.Deps.Account != nil {
		return reports
	}
	v := sys.s.View()
	defer v.Close()
	foreign := sys.foreignIDs(v.Memory, account)
	forged := func(r jjm.Report) bool {
		b := v.Bulk(r.Tag)
		return b != nil && (sys.Account(b.Owner).UID != account.UID || b.ID == "" && foreign.holds(r.ID))
	}
	if !slices.ContainsFunc(reports, forged) { // avoid a copy, which can take tens of megabytes
		return reports
	}
	own := slices.DeleteFunc(slices.Clone(reports), forged)
	sys.warnForged(account, "a listing", len(reports)-len(own))
	return own
}

// ids is a set of batch systems' ids of bulks.
type ids map[string]bool

// holds reports whether an id is in the set, or is the id of a job in one of the bulks of the set (see [state.PartOf]).
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

// foreignIDs returns the ids of the bulks on this cluster whose jobs run as another account than the given one.
func (sys *System) foreignIDs(mem state.Memory, account jjm.Owner) ids {
	out := ids{}
	for _, b := range mem.Bulks() {
		if b.Cluster == sys.Name && b.ID != "" && sys.Account(b.Owner).UID != account.UID {
			out[b.ID] = true
		}
	}
	return out
}

// CheckReceipt returns an error of kind Ambiguous if the id in the receipt of a submission belongs to a bulk of another
// account. In that case the account's commands do not tell the truth, and it is unknown whether the batch system has
// the bulk.
func (sys *System) CheckReceipt(owner jjm.Owner, receipt adapters.Receipt) error {
	account := sys.Account(owner)
	if sys.b.Deps.Account != nil || receipt.ID == "" {
		return nil
	}
	v := sys.s.View()
	defer v.Close()
	if !sys.foreignIDs(v.Memory, account).holds(receipt.ID) {
		return nil
	}
	return jjm.Errorf(jjm.Ambiguous,
		"%s: the submission as %s was acknowledged with %.80q, which is a bulk of another account: "+
			"the commands of the batch system lie to %s", sys.Name, account.User, receipt.ID, account.User)
}

// OwnFound returns f, the answer to a search for a bulk of an owner. If the answer names bulks of other accounts, it
// returns the answer NotYetKnown instead and logs a warning.
func (sys *System) OwnFound(owner jjm.Owner, f adapters.Found) adapters.Found {
	account := sys.Account(owner)
	if sys.b.Deps.Account != nil || len(f.IDs) == 0 {
		return f
	}
	v := sys.s.View()
	defer v.Close()
	foreign := sys.foreignIDs(v.Memory, account)
	for _, id := range f.IDs {
		if foreign.holds(id) {
			sys.warnForged(account, "a search", 1)
			return adapters.Found{Tag: f.Tag, Presence: adapters.NotYetKnown}
		}
	}
	return f
}

// warnForged logs that n reports in the answer to an account's command were about jobs of other accounts. what names
// the command.
func (sys *System) warnForged(account jjm.Owner, what string, n int) {
	if sys.b.Fresh("foreign/"+sys.Name+"/"+account.User, what) {
		sys.b.Log.Warn(
			what+" made as an account reports jobs of other accounts: that part is dropped; look at what the account runs",
			"cluster", sys.Name, "account", account.User, "reports", n)
	}
}
