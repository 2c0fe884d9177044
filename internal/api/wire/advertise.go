package wire

import (
	"encoding/json"

	"jjm/internal/jjm"
)

// VerbAdvertise is the verb "advertise": it shows the ad that the site publishes to
// brokers, and whether each collector has it.
func VerbAdvertise() Verb[AdvertiseRequest, AdvertiseAnswer] {
	return Verb[AdvertiseRequest, AdvertiseAnswer]{About{Name: "advertise", MaxBytes: maxShort,
		Help: "The ad that brokers read; or publish it at once."}}
}

// AdvertiseRequest requests the ad, and its state in each collector.
type AdvertiseRequest struct {
	Head
	// Now makes the daemon send the ad immediately, and answer afterwards.
	Now bool `json:"now,omitempty"`
}

// Check accepts every request.
func (AdvertiseRequest) Check() error { return nil }

// Changes reports whether the request sends the ad. Only an administrator may make such a request.
func (r AdvertiseRequest) Changes() bool { return r.Now }

// AdvertiseAnswer is the answer of "advertise".
type AdvertiseAnswer struct {
	Reply
	Advertised *Advertised `json:"advertised,omitempty"`
}

// Check requires the member advertised.
func (a AdvertiseAnswer) Check() error { return present("advertised", a.Advertised != nil) }

// Advertised is the ad of the site, and the state of each collector that it is sent to.
type Advertised struct {
	// Site is the name of the site. Instance distinguishes this daemon from other daemons that publish the same site name.
	Site     string `json:"site"`
	Instance string `json:"instance"`
	// State is the state of the site: "open", "drained", "paused", "unreachable" or
	// "unknown".
	State string `json:"state"`
	// Ad is the ClassAd that would be sent now, one attribute a line.
	Ad string `json:"ad"`
	// GLUE contains the same facts as a GLUE 2.0 document.
	GLUE json.RawMessage `json:"glue2,omitempty"`
	// Collectors are the collectors that receive the ad, and collectors of former settings from which an ad must
	// still be withdrawn. It is empty if the site is not advertised.
	Collectors []AdCollector `json:"collectors"`
	// AsOf is the time of all these facts. Clients set Stale if they read them from
	// AdvertisedFile because no daemon answered.
	AsOf  jjm.Time `json:"as_of"`
	Stale bool     `json:"stale,omitempty"`
}

// The states of the ad in a collector.
const (
	AdUnsent      = "not sent"    // no ad was sent so far
	AdPublished   = "published"   // sent, and read back unchanged
	AdFailing     = "failing"     // the last attempt failed: see Error
	AdWithdrawing = "withdrawing" // the ad follows former settings and must be removed
	AdWithdrawn   = "withdrawn"
)

// AdCollector is the state of the site's ad in one collector.
type AdCollector struct {
	// Collector is the address of the collector, HOST:PORT: "broker.example.org:9618".
	Collector string `json:"collector"`
	// Site and Instance are the names in this collector's ad. The ad may have another site name that former settings
	// published.
	Site     string `json:"site"`
	Instance string `json:"instance"`
	State    string `json:"state"`
	// There is set while the collector may hold the ad.
	There bool `json:"there,omitempty"`
	// Sent is when the ad was last sent. Seen is when the ad was last read back from the collector.
	Sent jjm.Time `json:"sent,omitempty"`
	Seen jjm.Time `json:"seen,omitempty"`
	// Expires is when the collector drops the ad if it is not sent again.
	Expires jjm.Time `json:"expires,omitempty"`
	// Trying is when the current attempt began, 0 if no attempt is under way. Next is when the next attempt begins.
	Trying jjm.Time `json:"trying,omitempty"`
	Next   jjm.Time `json:"next,omitempty"`
	// Error is the last error, and Since the time of the first failure in a row.
	Error string   `json:"error,omitempty"`
	Since jjm.Time `json:"since,omitempty"`
	// Lost counts how often the collector was found without the ad although the ad had been sent. LostAt is the last
	// such time.
	Lost   int      `json:"lost,omitempty"`
	LostAt jjm.Time `json:"lost_at,omitempty"`
}

// AdvertisedFile is the file, below the daemon's state folder, in which the daemon stores the last Advertised. Clients
// read the file when no daemon answers.
const AdvertisedFile = "advertised.json"
