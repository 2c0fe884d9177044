package jjm

import (
	"slices"
	"strings"
)

// Order is a wish that work keeps away from a cluster or one of its queues, or that the
// work of a type, of a user or of one grid job waits. It is in force until it is resumed or
// its time is over. One about a grid job may be its owner's; all others are administrators'.
type Order struct {
	// Verb is OrderDrain (new grid jobs are refused, accepted ones go on) or
	// OrderPause (new ones are accepted, nothing more is submitted).
	Verb string `json:"verb"`
	// Kind is what Name names: one of OrderKinds.
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// By is who ordered it.
	By    string `json:"by"`
	Since Time   `json:"since"`
	// Until is when it ends by itself; 0 means not.
	Until Time `json:"until,omitempty"`
}

// The verbs of orders. Resume ends what the two others began.
const (
	OrderDrain  = "drain"
	OrderPause  = "pause"
	OrderResume = "resume"
)

// What an order may be about.
const (
	OrderCluster = "cluster"
	OrderQueue   = "queue" // of a cluster: see QueueName
	OrderType    = "type"
	OrderUser    = "user"
	OrderJob     = "job" // a grid job, by its id; it can be paused only
)

// OrderKinds returns what an order may be about.
func OrderKinds() []string {
	return []string{OrderCluster, OrderQueue, OrderType, OrderUser, OrderJob}
}

// QueueName names a queue of a cluster, as orders do: "slurm/long".
func QueueName(cluster, queue string) string { return cluster + "/" + queue }

// InForce reports whether the order still holds.
func (o Order) InForce(now Time) bool { return o.Until == 0 || now < o.Until }

// Doing is the verb as it is said of the target: "drained", "paused".
func (o Order) Doing() string {
	if o.Verb == OrderDrain {
		return "drained"
	}
	return "paused"
}

// String tells people who ordered what, why, and until when: "cluster slurm is
// paused by root since 2026-03-01T12:00:00.000Z: new disks".
func (o Order) String() string {
	s := o.Kind + " " + o.Name + " is " + o.Doing() + " by " + o.By + " since " + o.Since.String()
	if o.Until != 0 {
		s += " until " + o.Until.String()
	}
	if o.Reason != "" {
		s += ": " + o.Reason
	}
	return s
}

// Ban keeps somebody out: new grid jobs are refused, those that run are killed.
// It is in force until it is lifted.
type Ban struct {
	// Kind is what Name names: BanUser, a local account, or BanDN, the subject
	// of a certificate or token as gatekeepers tell it.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Account is the number of the account: whatever its names are, it is kept out.
	// Nil for a DN, and for an account that had no number when its ban was stored
	// by an older jjm and has none now: then Name tells.
	Account *int   `json:"account,omitempty"`
	Reason  string `json:"reason"`
	// By is the administrator, UID the account as the kernel told it.
	By    string `json:"by"`
	UID   int    `json:"uid"`
	Since Time   `json:"since"`
}

// What a ban may be about.
const (
	BanUser = "user"
	BanDN   = "dn"
)

// Whom is a grid job's side of a ban: whose it is.
type Whom struct {
	User string
	UID  int
	// DNs are the names that are known, in any notation.
	DNs []string
}

// BanKind tells of which kind a name is: the name of an account holds neither a
// slash nor an equals sign, and a DN holds both or, as RFC 4514 writes it, the
// latter.
func BanKind(name string) string {
	if strings.ContainsAny(name, "/=") {
		return BanDN
	}
	return BanUser
}

// Concerns reports whether the ban keeps w out. An account is told by its number. A DN
// is compared whatever the notation ([ParseDN]), and a proxy is kept out with its holder
// ([DN.Covers]).
func (b Ban) Concerns(w Whom) bool {
	if b.Kind == BanUser {
		if b.Account != nil {
			return *b.Account == w.UID
		}
		return b.Name == w.User
	}
	banned, err := ParseDN(strings.TrimSpace(b.Name))
	return slices.ContainsFunc(w.DNs, func(name string) bool {
		dn, notDN := ParseDN(strings.TrimSpace(name))
		if err != nil || notDN != nil {
			return name != "" && SameDN(b.Name, name)
		}
		return banned.Covers(dn)
	})
}

// Same reports whether both are about the same person.
func (b Ban) Same(other Ban) bool {
	switch {
	case b.Kind != other.Kind:
		return false
	case b.Kind == BanDN:
		return SameDN(b.Name, other.Name)
	case b.Account != nil && other.Account != nil:
		return *b.Account == *other.Account
	}
	return b.Name == other.Name
}

// Whom names who is kept out: "user mallory (uid 1003)", "dn /DC=org/CN=Mallory".
func (b Ban) Whom() string {
	if b.Account != nil {
		return b.Kind + " " + ActorOf(b.Name, *b.Account)
	}
	return b.Kind + " " + b.Name
}

// String tells people who was banned by whom and why: "user mallory (uid 1003) is banned by
// root (uid 0) since 2026-03-01T12:00:00.000Z: mines coins".
func (b Ban) String() string {
	return b.Whom() + " is banned by " + ActorOf(b.By, b.UID) + " since " + b.Since.String() + ": " + b.Reason
}
