package collector

import (
	"strings"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/publish/advertise"
)

// checkHeld returns an error unless the collector has the ad that was sent.
func checkHeld(ad advertise.Ad, instance string, held []advertise.Held) error {
	for _, h := range held {
		if h.Instance() != instance {
			continue
		}
		if diff := ad.Differences(h); len(diff) > 0 {
			return jjm.Errorf(jjm.Busy, "the collector holds an ad that differs from the one sent: %s", strings.Join(diff, "; "))
		}
		return nil
	}
	if len(held) > 0 {
		return conflict(held)
	}
	return jjm.Errorf(
		jjm.Busy, "the ad was sent, and the collector does not show it: does it let this host and account advertise "+
			"(ALLOW_ADVERTISE_*, ALLOW_DAEMON in its configuration)?")
}

// conflict returns the error of kind Conflict for a collector in which another instance of jjm publishes under the same
// name.
func conflict(held []advertise.Held) error {
	return jjm.Errorf(jjm.Conflict,
		"another jjm (Instance %.40q) publishes an ad of the same name, and each replaces the other's: "+
			"give one of the sites another advertise.site", advertise.Safe(held[0].Instance()))
}

// holds reports whether the ads contain an ad of the instance.
func holds(held []advertise.Held, instance string) bool {
	for _, h := range held {
		if h.Instance() == instance {
			return true
		}
	}
	return false
}

// retryFirst is the pause after the first failure. The pause doubles with each further failure, up to the interval.
const retryFirst = 5 * time.Second

// pauseAfter returns the pause after a number of failures in a row.
func pauseAfter(failures int, interval time.Duration) time.Duration {
	if failures == 0 {
		return interval
	}
	return min(retryFirst<<min(failures-1, 10), interval)
}
