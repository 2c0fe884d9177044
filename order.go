package jjm

// Order is an administrator's wish that work keeps away from a cluster, or that
// the work of a type or a user waits. It is in force until it is resumed or its
// time is over.
type Order struct {
	// Verb is OrderDrain (new grid jobs are refused, accepted ones go on) or
	// OrderPause (new ones are accepted, nothing more is submitted).
	Verb string `json:"verb"`
	// Kind is what Name names: OrderCluster, OrderType or OrderUser.
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// By is the administrator.
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
	OrderType    = "type"
	OrderUser    = "user"
)

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
	return s + ": " + o.Reason
}
