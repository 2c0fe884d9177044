package wire

import "jjm/internal/jjm"

// VerbHealth is the verb "health": it shows the state of the site.
func VerbHealth() Verb[HealthRequest, HealthAnswer] {
	return Verb[HealthRequest, HealthAnswer]{About{Name: "health", MaxBytes: maxShort,
		Help: "Is the site well? One check for each thing that can go wrong."}}
}

// HealthRequest has no members except the common members of requests.
type HealthRequest struct{ Head }

// Check accepts every request.
func (HealthRequest) Check() error { return nil }

// HealthAnswer is the answer of "health".
type HealthAnswer struct {
	Reply
	Health *Health `json:"health,omitempty"`
}

// Check requires the member health.
func (a HealthAnswer) Check() error { return present("health", a.Health != nil) }

// Health is the outcome of all checks, the worst first.
type Health struct {
	At     jjm.Time      `json:"at"`
	Checks []HealthCheck `json:"checks"`
}

// HealthCheck is the outcome of one check.
type HealthCheck struct {
	State string `json:"state"` // OK, WARNING, CRITICAL or UNKNOWN
	Name  string `json:"check"` // one of the checks in docs/SERVICE.md
	// Of is the checked cluster or file system, if there are several of them; otherwise "".
	Of   string `json:"of,omitempty"`
	Text string `json:"text"`
	// Detail is the cause as reported by another program or a person: an error, or the reason of an order.
	Detail string   `json:"detail,omitempty"`
	Since  jjm.Time `json:"since,omitempty"`
	Remedy string   `json:"remedy,omitempty"`
	// Figures are the numbers behind Text, for monitoring systems.
	Figures []HealthFigure `json:"figures,omitempty"`
}

// HealthFigure is a number with its thresholds. A threshold of 0 means that there is none.
type HealthFigure struct {
	Name     string `json:"name"`
	Value    int64  `json:"value"`
	Unit     string `json:"unit,omitempty"` // s, B (bytes), or "" for a count
	Warning  int64  `json:"warning,omitempty"`
	Critical int64  `json:"critical,omitempty"`
}
