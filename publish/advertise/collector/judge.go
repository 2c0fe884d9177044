package collector

import (
	"strings"
	"time"

	"jjm"
	"jjm/publish/advertise"
)

// judge says whether a collector holds the ad that was sent; nil if it does.
func judge(ad advertise.Ad, instance string, held []advertise.Held) error {
	for _, h := range held {
		if h.Instance() != instance {
			continue
		}
		if diff := ad.Differences(h); len(diff) > 0 {
			return jjm.Errorf(jjm.Busy, "the collector holds another ad than was sent: %s", strings.Join(diff, "; "))
		}
		return nil
	}
	if len(held) > 0 {
		return twin(held)
	}
	return jjm.Errorf(
		jjm.Busy, "the ad was sent, and the collector does not show it: does it let this host and account advertise "+
			"(ALLOW_ADVERTISE_*, ALLOW_DAEMON in its configuration)?")
}

// twin is the error that another jjm publishes under the same name.
func twin(held []advertise.Held) error {
	return jjm.Errorf(jjm.Conflict,
		"another jjm (Instance %.40q) publishes an ad of the same name: each takes the other's place; "+
			"give one of the sites another advertise.site", advertise.Safe(held[0].Instance()))
}

// ours finds an instance's ad.
func ours(held []advertise.Held, instance string) bool {
	for _, h := range held {
		if h.Instance() == instance {
			return true
		}
	}
	return false
}

// retryFirst is how long after a failure the ad is sent again; after each further
// one twice as long, up to the interval.
const retryFirst = 5 * time.Second

// pauseAfter says how long to wait after so many failures in a row.
func pauseAfter(failures int, interval time.Duration) time.Duration {
	if failures == 0 {
		return interval
	}
	return min(retryFirst<<min(failures-1, 10), interval)
}
