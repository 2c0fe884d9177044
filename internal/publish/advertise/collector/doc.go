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
//     is recorded in a file. So a daemon with other settings can withdraw what a killed
//     one left.
//   - A collector that is down, refuses, hangs or forgets delays nothing else: each has a
//     goroutine of its own, and each command a deadline. [Publisher.Status] shows the
//     errors, and the keeper tries again.
//
// The content of the ad is left to package advertise.
package collector
