package jjm

import (
	"strings"
)

// Order stops work for some time: the work of a cluster, of one of its queues, of a job type, of a user, or of one grid
// job. It is in force until a person resumes the target, or until the time Until. The owner of a grid job may pause the
// grid job; only administrators may give other orders.
type Order struct {
	// Verb is OrderDrain (new grid jobs are refused, accepted grid jobs continue), OrderPause (new grid jobs are
	// accepted, no local job is submitted) or OrderMaintenance (new grid jobs are accepted, no local job is submitted
	// that would not end before From).
	Verb string `json:"verb"`
	// Kind is the kind of the target, one of OrderKinds. Name is the name of the target.
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// By is the account that gave the order.
	By    string `json:"by"`
	Since Time   `json:"since"`
	// From is when a maintenance window begins; 0 for all other orders, which hold immediately.
	From Time `json:"from,omitempty"`
	// Until is when the order ends by itself; 0 means never.
	Until Time `json:"until,omitempty"`
}

// The verbs of orders. Resume ends an order of any other verb and is never stored.
const (
	OrderDrain       = "drain"
	OrderPause       = "pause"
	OrderMaintenance = "maintenance"
	OrderResume      = "resume"
)

// The targets that an order may have.
const (
	OrderCluster = "cluster"
	OrderQueue   = "queue" // of a cluster: see QueueName
	OrderType    = "type"
	OrderUser    = "user"
	OrderJob     = "job" // a grid job, by its id; it can only be paused
)

// OrderKinds returns the kinds of targets that an order may have.
func OrderKinds() []string {
	return []string{OrderCluster, OrderQueue, OrderType, OrderUser, OrderJob}
}

// QueueName returns the name of a queue of a cluster in the form used by orders: "slurm/long".
func QueueName(cluster, queue string) string { return cluster + "/" + queue }

// InForce reports whether the order has not ended by itself. A maintenance window is in force
// from its announcement on.
func (o Order) InForce(now Time) bool { return o.Until == 0 || now < o.Until }

// Begun reports whether the order is in force and, if it is a maintenance window, has begun.
func (o Order) Begun(now Time) bool { return o.InForce(now) && now >= o.From }

// Same reports whether one order replaces the other order, because both have the same verb and target. Maintenance
// windows that begin at different times are different orders.
func (o Order) Same(other Order) bool {
	return o.Kind == other.Kind && o.Name == other.Name && o.Verb == other.Verb && o.From == other.From
}

// Repeats reports whether one order changes nothing of the other order: both have the same verb and target, the same
// reason, and the same times.
func (o Order) Repeats(other Order) bool {
	return o.Same(other) && o.Reason == other.Reason && o.Until == other.Until
}

// Doing returns the verb as a property of the target: "drained", "paused", "in maintenance".
func (o Order) Doing() string {
	switch o.Verb {
	case OrderDrain:
		return "drained"
	case OrderMaintenance:
		return "in maintenance"
	}
	return "paused"
}

// Window returns the times of a maintenance window for people, in the time zone of the site: "cluster slurm has a
// maintenance window from 2026-12-01 08:00 CET until 2026-12-01 18:00 CET".
func (o Order) Window() string {
	return o.Kind + " " + o.Name + " has a maintenance window from " + o.From.Local() + " until " + o.Until.Local()
}

// String returns the order with its person, times and reason, for people: "cluster slurm is paused by root since
// 2026-03-01 12:00 CET until somebody resumes it: new disks".
func (o Order) String() string {
	if o.Verb == OrderMaintenance {
		return o.Window() + ", announced by " + o.By + ": " + o.Reason
	}
	s := o.Kind + " " + o.Name + " is " + o.Doing() + " by " + o.By + " since " + o.Since.Local()
	if o.Until != 0 {
		s += " until " + o.Until.Local()
	} else {
		s += " until somebody resumes it"
	}
	if o.Reason != "" {
		s += ": " + o.Reason
	}
	return s
}

// Ban excludes a person: new grid jobs of the person are refused, and present grid jobs are killed. The ban is in force
// until it is lifted.
type Ban struct {
	// Kind is the kind of Name: BanUser for a local account, or BanDN for the subject of a certificate or token as
	// gatekeepers report it.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Account is the uid by which a ban of a user is compared, whatever names the account has. It is nil for a DN. It
	// is also nil to lift a ban whose account no longer exists; then Name is compared.
	Account *int   `json:"account,omitempty"`
	Reason  string `json:"reason"`
	// By is the name of the administrator, UID their uid as the kernel reported it for
	// the socket.
	By    string `json:"by"`
	UID   int    `json:"uid"`
	Since Time   `json:"since"`
}

// The kinds of bans.
const (
	BanUser = "user"
	BanDN   = "dn"
)

// BanKind returns the kind of a name: BanDN if it contains a slash or an equals sign, else BanUser. DNs contain such a
// character in every notation, names of accounts never do.
func BanKind(name string) string {
	if strings.ContainsAny(name, "/=") {
		return BanDN
	}
	return BanUser
}

// Whom returns the excluded person, for people: "user mallory (uid 1003)", "dn /DC=org/CN=Mallory".
func (b Ban) Whom() string {
	if b.Account != nil {
		return b.Kind + " " + ActorOf(b.Name, *b.Account)
	}
	return b.Kind + " " + b.Name
}

// String returns the ban with its person, administrator, time and reason, for people: "user mallory (uid 1003) is
// banned by root (uid 0) since 2026-03-01 12:00 CET: mines coins".
func (b Ban) String() string {
	return b.Whom() + " is banned by " + ActorOf(b.By, b.UID) + " since " + b.Since.Local() + ": " + b.Reason
}
