package wire

import (
	"encoding/json"

	"jjm"
)

// VerbAdvertise tells what brokers are told of the site.
func VerbAdvertise() Verb[AdvertiseRequest, AdvertiseAnswer] {
	return Verb[AdvertiseRequest, AdvertiseAnswer]{About{Name: "advertise", MaxBytes: maxShort,
		Help: "What brokers are told; or tell them at once."}}
}

// AdvertiseRequest asks for it.
type AdvertiseRequest struct {
	Head
	// Now asks to send the ad at once, before the answer.
	Now bool `json:"now,omitempty"`
}

// Check implements Request.
func (AdvertiseRequest) Check() error { return nil }

// Changes reports whether the ad is to be sent.
func (r AdvertiseRequest) Changes() bool { return r.Now }

// AdvertiseAnswer answers advertise.
type AdvertiseAnswer struct {
	Reply
	Advertised *Advertised `json:"advertised,omitempty"`
}

// Check implements Answer.
func (a AdvertiseAnswer) Check() error { return present("advertised", a.Advertised != nil) }

// Advertised answers advertise: what the site tells brokers of itself, and what
// became of telling it.
type Advertised struct {
	// Site is its name, Instance what tells this jjm from others.
	Site     string `json:"site"`
	Instance string `json:"instance"`
	// State is the site's: "open", "drained", "paused", "unreachable", "unknown".
	State string `json:"state"`
	// Ad is the ClassAd as it would be sent now, in lines.
	Ad string `json:"ad"`
	// GLUE is the same as a document of GLUE 2.0.
	GLUE json.RawMessage `json:"glue2,omitempty"`
	// Collectors are those that get the ad, or got one and are to drop it; none
	// if the site is not advertised.
	Collectors []AdCollector `json:"collectors"`
	// AsOf is when all this was so. Stale is set by clients that read it in the
	// daemon's absence.
	AsOf  jjm.Time `json:"as_of"`
	Stale bool     `json:"stale,omitempty"`
}

// The states of an ad in a collector.
const (
	AdUnsent      = "not sent"    // nothing was tried so far
	AdPublished   = "published"   // sent, and read back as it was sent
	AdFailing     = "failing"     // the last try came to nothing: see Error
	AdWithdrawing = "withdrawing" // an ad of former settings is to go
	AdWithdrawn   = "withdrawn"
)

// AdCollector is one collector and the site's ad in it.
type AdCollector struct {
	// Collector is its address: "broker.example.org:9618".
	Collector string `json:"collector"`
	// Site is the name that the ad in it has, which former settings may have
	// given, and Instance who published it.
	Site     string `json:"site"`
	Instance string `json:"instance"`
	State    string `json:"state"`
	// There is set while it may hold the ad.
	There bool `json:"there,omitempty"`
	// Sent is when the ad was last sent, Seen when what was sent was last read
	// back.
	Sent jjm.Time `json:"sent,omitempty"`
	Seen jjm.Time `json:"seen,omitempty"`
	// Expires is when the collector drops the ad by itself.
	Expires jjm.Time `json:"expires,omitempty"`
	// Trying is since when a try is under way, Next when the next one begins.
	Trying jjm.Time `json:"trying,omitempty"`
	Next   jjm.Time `json:"next,omitempty"`
	// Error is what went wrong last, Since when the trouble began.
	Error string   `json:"error,omitempty"`
	Since jjm.Time `json:"since,omitempty"`
	// Lost counts how often the collector had lost the ad, LostAt is when that
	// was seen last.
	Lost   int      `json:"lost,omitempty"`
	LostAt jjm.Time `json:"lost_at,omitempty"`
}

// AdvertisedFile is the file below the daemon's state folder that holds the last
// Advertised, for when no daemon answers.
const AdvertisedFile = "advertised.json"
