package slurm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// submitLimits are the limits of accounting on the submitted jobs of jjm's account; 0 means no limit or an unknown
// limit.
type submitLimits struct {
	own          []association          // the associations of jjm's account
	accounts     map[string]association // the accounts of own and the accounts above them, by name
	qos          map[string]int         // limit by QOS
	partitionQOS map[string]string
}

// most returns the smallest limit for jobs in an account and a partition (queue) with a QOS, 0 if there is no limit. If
// account is "", it means any account of jjm's; if qos is "", it means the QOS of jobs that name no QOS. If a QOS has a
// limit, Slurm ignores the limit of the association. most does not, because the smaller limit is always safe.
func (l submitLimits) most(account, queue, qos string) int {
	of := ofAccount(l.own, account, queue)
	return least(common(of, l.accounts), l.qos[cmp.Or(qos, usualQOS(of))], l.qos[l.partitionQOS[queue]])
}

// all returns the smallest limit that applies to every job of jjm's account, whatever the job requests, 0 if there is
// none. A limit of one association, QOS or partition is not such a limit if jobs may have another one.
func (l submitLimits) all() int {
	return least(common(l.own, l.accounts), l.qos[onlyQOS(l.own)])
}

// least returns the smallest of the limits. A limit of 0 means no limit.
func least(limits ...int) int {
	low := 0
	for _, n := range limits {
		if n > 0 && (low == 0 || n < low) {
			low = n
		}
	}
	return low
}

// assocFormat and qosFormat are lists of columns for sacctmgr(1).
const (
	assocFormat = "format=Account,User,ParentName,Partition,QOS,DefaultQOS,MaxSubmit,GrpSubmit"
	qosFormat   = "format=Name,MaxSubmitJobsPU,MaxSubmitJobsPA,GrpSubmit"
)

// mostLevels is the largest number of account levels above an association whose limits are queried.
const mostLevels = 8

// submitLimits queries the limits of jjm's own account. If a query fails, its limits count as unset. That does no harm,
// because rejected submissions reveal the limits later.
func (a *Adapter) submitLimits(ctx context.Context, s *site) submitLimits {
	u, err := user.Current()
	if err != nil {
		return submitLimits{}
	}
	accounting := func(args ...string) string {
		text, err := command(ctx, a.timed, append([]string{"sacctmgr", "-n", "-P", "show"}, args...)...)
		if err != nil {
			return ""
		}
		return string(text)
	}
	associations := func(which string) []association {
		return parseAssociations(accounting("assoc", "where", "cluster="+s.cluster, which, assocFormat))
	}
	l := submitLimits{own: associations("user=" + u.Username), accounts: map[string]association{}}
	if len(l.own) == 0 {
		return submitLimits{}
	}
	l.qos = parseQOS(accounting("qos", qosFormat))
	ask := accountsOf(l.own)
	for range mostLevels {
		if len(ask) == 0 {
			break
		}
		ask = addAccounts(l.accounts, ask, associations("account="+strings.Join(ask, ",")))
	}
	if text, err := command(ctx, a.timed, "scontrol", "-o", "show", "partition"); err == nil {
		l.partitionQOS = parsePartitionQOS(string(text))
	}
	return l
}

// association is a parsed line in assocFormat.
type association struct {
	account, user, parent, partition string
	qos                              []string
	defaultQOS                       string
	maxSubmit, grpSubmit             int
}

// parseAssociations parses the output of sacctmgr in assocFormat. It skips lines that it cannot parse, because sacctmgr
// may print warnings.
func parseAssociations(text string) (all []association) {
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimRight(line, "\n"), "|")
		if len(f) != 8 {
			continue
		}
		all = append(all, association{account: f[0], user: f[1], parent: f[2], partition: f[3],
			qos: strings.Split(f[4], ","), defaultQOS: f[5], maxSubmit: limit(f[6]), grpSubmit: limit(f[7])})
	}
	return all
}

// limit parses a limit; "" means no limit.
func limit(word string) int {
	n, err := strconv.ParseInt(word, 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int(n)
}

// ofAccount returns the associations that jobs of an account can have in a partition. account "" means any account.
func ofAccount(all []association, account, queue string) (of []association) {
	for _, a := range all {
		if (account == "" || a.account == account) && (a.partition == "" || a.partition == queue) {
			of = append(of, a)
		}
	}
	return of
}

func accountsOf(own []association) []string {
	accounts := map[string]bool{}
	for _, a := range own {
		accounts[a.account] = true
	}
	return slices.Sorted(maps.Keys(accounts))
}

// addAccounts adds the queried accounts to known, and returns the accounts above them that are not yet known.
func addAccounts(known map[string]association, asked []string, answer []association) (above []string) {
	for _, a := range answer {
		if a.user == "" && slices.Contains(asked, a.account) {
			known[a.account] = a
		}
	}
	for _, name := range asked {
		parent := known[name].parent
		if _, have := known[parent]; parent != "" && !have && !slices.Contains(above, parent) {
			above = append(above, parent)
		}
	}
	return above
}

// common returns the smallest limit that applies to all associations in of. The limits of an account apply to all
// associations below it, the limits of an association only to its own jobs. sacctmgr shows an account's MaxSubmit also
// for the associations below it, but GrpSubmit only where it is set, so common also examines the accounts above each
// association.
func common(of []association, accounts map[string]association) (low int) {
	if len(of) == 1 {
		low = least(of[0].maxSubmit, of[0].grpSubmit)
	}
	for name, a := range accounts {
		if len(of) > 0 && !slices.ContainsFunc(of, func(o association) bool { return !isBelow(o, name, accounts) }) {
			low = least(low, a.grpSubmit)
		}
	}
	return low
}

// isBelow reports whether an association belongs to an account or to an account below that account.
func isBelow(a association, account string, accounts map[string]association) bool {
	name := a.account
	for range mostLevels {
		if name == account {
			return true
		}
		name = accounts[name].parent
	}
	return false
}

// onlyQOS returns the QOS that all jobs of the associations in own have, "" if jobs may have several.
func onlyQOS(own []association) (only string) {
	for i, a := range own {
		if len(a.qos) != 1 || i > 0 && a.qos[0] != only {
			return ""
		}
		only = a.qos[0]
	}
	return only
}

// usualQOS returns the QOS of jobs that name no QOS. By slurmctld's rule that is the association's default, or its only
// QOS, or "normal". usualQOS returns "" if the associations in own have different QOSes.
func usualQOS(own []association) (usual string) {
	for i, a := range own {
		name := a.defaultQOS
		switch {
		case name != "":
		case len(a.qos) == 1:
			name = a.qos[0]
		case slices.Contains(a.qos, "normal"):
			name = "normal"
		}
		if i > 0 && name != usual {
			return ""
		}
		usual = name
	}
	return usual
}

// parseQOS returns for each QOS the smallest limit on the submitted jobs of one account.
func parseQOS(text string) map[string]int {
	all := map[string]int{}
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimRight(line, "\n"), "|")
		if len(f) == 4 {
			all[f[0]] = least(limit(f[1]), limit(f[2]), limit(f[3]))
		}
	}
	return all
}

// parsePartitionQOS parses "PartitionName=short ... QoS=part_short ..." lines. The QOS of a partition applies to all
// its jobs.
func parsePartitionQOS(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		name, qos := "", ""
		for word := range strings.FieldsSeq(line) {
			if value, found := strings.CutPrefix(word, "PartitionName="); found {
				name = value
			}
			if value, found := strings.CutPrefix(word, "QoS="); found && value != "N/A" {
				qos = value
			}
		}
		if name != "" && qos != "" {
			all[name] = qos
		}
	}
	return all
}

// MaxBulkOf returns how many jobs with a request accounting allows in its account, partition and QOS; 0 if no limit is
// known.
func (a *Adapter) MaxBulkOf(r jjm.Request) int {
	a.mu.Lock()
	s := a.site
	a.mu.Unlock()
	if s == nil {
		return 0
	}
	r = a.config.Fill(r)
	return s.submit.most(r.Account, cmp.Or(r.Queue, s.defaultQueue), r.QOS)
}

// checkSize returns an error if a bulk is larger than accounting allows for its account, partition and QOS.
func (a *Adapter) checkSize(b adapters.Bulk) error {
	most := a.MaxBulkOf(b.Request)
	if most == 0 || b.N <= most {
		return nil
	}
	return adapters.TooMany(adapters.NotAsked(jjm.Errorf(jjm.Busy, "an array of %s: %s", jjm.Count(b.N, "job"),
		a.allowed(b.Request, most))))
}

// allowed returns a text about the limit most on the submitted jobs with a request.
func (a *Adapter) allowed(r jjm.Request, most int) string {
	r = a.config.Fill(r)
	of := func(what, name string) string { return what + " " + cmp.Or(name, "(the usual one)") }
	return fmt.Sprintf("accounting allows %s in %s, %s and %s", jjm.Count(most, "submitted job"),
		of("account", r.Account), of("partition", r.Queue), of("QOS", r.QOS))
}

// withLimit adds the known limit on the jobs of a bulk to the error of a submission with too many jobs.
func (a *Adapter) withLimit(err error, b adapters.Bulk) error {
	most := a.MaxBulkOf(b.Request)
	if most == 0 || !adapters.IsTooMany(err) || adapters.IsNotStarted(err) {
		return err
	}
	return fmt.Errorf("%w; %s", err, a.allowed(b.Request, most))
}
