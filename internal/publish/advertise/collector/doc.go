// Package collector keeps a site's ad in the collectors of brokers. It uses HTCondor's
// commands condor_advertise and condor_status.
//
// It promises:
//
//   - The ad is sent again and again, because a collector drops an ad that is not renewed
//     and forgets all ads when it restarts.
//   - After each sending the ad is read back and compared, because condor_advertise exits
//     with 0 even if nothing was published.
//   - The ad is withdrawn when the daemon stops. Before the first sending, the collector
//     is recorded in a file, so that a daemon with other settings can withdraw the ad of
//     a killed daemon.
//   - A collector that is down, refuses, hangs or forgets delays nothing else: each
//     collector has a goroutine of its own, and each command has a deadline.
//     [Publisher.Status] returns the errors, and the keeper tries again.
//
// Package advertise defines the content of the ad.
package collector
